// What only a store over a network can meet: endpoints that do not answer, users, etcd gone.
#include "daemon/cluster/etcd_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>

#include "daemon/cluster/etcd_exchange.h"
#include "tests/daemon/cluster/store_harness.h"

namespace optile::daemon {
namespace {

using boost::asio::ip::tcp;
using testing::HasSubstr;

class EtcdStoreTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!EtcdProcess::installed()) GTEST_SKIP() << "no etcd here: install Debian's etcd-server";
    harness_ = std::make_unique<EtcdHarness>();
    ASSERT_TRUE(harness_->answers());
  }
  base::Result<KeyRange> get(ClusterStore& store, const std::string& prefix) {
    return harness_->answer<KeyRange>([&](auto done) { store.get(prefix, done); });
  }
  base::Result<Committed> put(ClusterStore& store, const std::string& key) {
    return harness_->answer<Committed>([&](auto done) {
      store.commit({{}, {put_key(key, "1")}}, done);
    });
  }
  EtcdReply post(const std::string& target, const std::string& body) {
    std::optional<EtcdReply> got;
    EtcdConnections(harness_->io())
        .post({harness_->etcd().endpoint(), target, body, ""}, std::chrono::seconds(60),
              [&](const EtcdReply& reply) { got = reply; });
    EXPECT_TRUE(harness_->serve_until([&] { return got.has_value(); }));
    return got.value_or(EtcdReply());
  }
  std::unique_ptr<EtcdHarness> harness_;
};

// Takes requests and hangs up without a word.
class HangingUp {
 public:
  explicit HangingUp(boost::asio::io_context& io)
      : acceptor_(io, tcp::endpoint(boost::asio::ip::address_v4::loopback(), 0)) {
    accept();
  }
  EtcdEndpoint endpoint() const {
    return {"127.0.0.1", std::to_string(acceptor_.local_endpoint().port())};
  }
  int requests() const { return requests_; }

 private:
  void accept() {
    acceptor_.async_accept([this](const boost::system::error_code& error, tcp::socket socket) {
      if (error) return;
      auto shared = std::make_shared<tcp::socket>(std::move(socket));
      shared->async_read_some(boost::asio::buffer(bytes_),
                              [this, shared](const boost::system::error_code&, std::size_t) {
                                ++requests_;
                                shared->close();
                              });
      accept();
    });
  }
  tcp::acceptor acceptor_;
  std::array<char, 4096> bytes_{};
  int requests_ = 0;
};

// Answers every request, and keeps connections open until it is told to end them.
class Answering {
 public:
  explicit Answering(boost::asio::io_context& io)
      : acceptor_(io, tcp::endpoint(boost::asio::ip::address_v4::loopback(), 0)) {
    accept();
  }
  EtcdEndpoint endpoint() const {
    return {"127.0.0.1", std::to_string(acceptor_.local_endpoint().port())};
  }
  std::size_t connections() const { return sockets_.size(); }
  int requests() const { return requests_; }
  void end_connections() {
    for (const auto& one : sockets_) one->close();
  }
  // Ends the connection in the place of the next answer.
  void refuse_once() { refuses_ = true; }

 private:
  void accept() {
    acceptor_.async_accept([this](const boost::system::error_code& error, tcp::socket socket) {
      if (error) return;
      sockets_.push_back(std::make_shared<tcp::socket>(std::move(socket)));
      read(sockets_.back());
      accept();
    });
  }
  void read(const std::shared_ptr<tcp::socket>& socket) {
    socket->async_read_some(boost::asio::buffer(bytes_),
                            [this, socket](const boost::system::error_code& error, std::size_t) {
                              if (error) return;
                              ++requests_;
                              if (std::exchange(refuses_, false)) return socket->close();
                              const std::string body = R"({"header": {"revision": "1"}})";
                              const std::string reply = "HTTP/1.1 200 OK\r\nContent-Length: " +
                                                        std::to_string(body.size()) + "\r\n\r\n" +
                                                        body;
                              boost::asio::write(*socket, boost::asio::buffer(reply));
                              read(socket);
                            });
  }
  tcp::acceptor acceptor_;
  std::vector<std::shared_ptr<tcp::socket>> sockets_;
  std::array<char, 4096> bytes_{};
  int requests_ = 0;
  bool refuses_ = false;
};

TEST_F(EtcdStoreTest, ConnectionServesOneRequestAfterTheOther) {
  Answering etcd(harness_->io());
  ClusterStore& store = harness_->add_store({{etcd.endpoint()}});
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(get(store, "k").ok());
  EXPECT_EQ(etcd.connections(), 1u);
  etcd.end_connections();
  EXPECT_TRUE(get(store, "k").ok());
  EXPECT_EQ(etcd.connections(), 2u);
  EXPECT_EQ(etcd.requests(), 4);
}

// fault: F52
TEST_F(EtcdStoreTest, RequestOverConnectionThatEndsMeanwhileIsRepeatedOverAnother) {
  Answering etcd(harness_->io());
  ClusterStore& store = harness_->add_store({{etcd.endpoint()}});
  EXPECT_TRUE(get(store, "k").ok());
  etcd.refuse_once();
  EXPECT_TRUE(get(store, "k").ok());
  EXPECT_EQ(etcd.connections(), 2u);
  EXPECT_EQ(etcd.requests(), 3);
  // A transaction has a connection of its own, and is never repeated.
  etcd.refuse_once();
  EXPECT_FALSE(put(store, "k").ok());
  EXPECT_EQ(etcd.connections(), 3u);
  EXPECT_EQ(etcd.requests(), 4);
}

// fault: F52
TEST_F(EtcdStoreTest, NextEndpointIsAskedWhereOneDoesNotAnswer) {
  const EtcdEndpoint closed = {"127.0.0.1", free_tcp_port()};
  ClusterStore& store = harness_->add_store({{closed, harness_->etcd().endpoint()}});
  // Nothing was sent to the first one, so that this holds for a transaction too.
  EXPECT_TRUE(put(store, "k").ok());
  EXPECT_EQ(store.description(), harness_->etcd().endpoint().url());
  EXPECT_EQ(get(store, "k").value().entries.size(), 1u);
}

// fault: F52
TEST_F(EtcdStoreTest, TransactionWhoseReplyIsLostIsNotSentAgain) {
  const HangingUp deaf(harness_->io());
  ClusterStore& store = harness_->add_store({{deaf.endpoint(), harness_->etcd().endpoint()}});
  const auto lost = put(store, "k");
  ASSERT_FALSE(lost.ok());
  EXPECT_EQ(lost.error().kind, base::ErrorKind::kUnavailable);
  EXPECT_EQ(deaf.requests(), 1);
  // What came of it is read, from one that answers.
  const auto range = get(store, "k");
  ASSERT_TRUE(range.ok());
  EXPECT_TRUE(range.value().entries.empty());
  EXPECT_EQ(deaf.requests(), 1);
}

TEST_F(EtcdStoreTest, ReadIsRepeatedAtNextEndpoint) {
  const HangingUp deaf(harness_->io());
  ClusterStore& store = harness_->add_store({{deaf.endpoint(), harness_->etcd().endpoint()}});
  EXPECT_TRUE(get(store, "k").ok());
  EXPECT_EQ(deaf.requests(), 1);
}

// fault: F52
TEST_F(EtcdStoreTest, EtcdGoneIsToldAndFoundAgain) {
  ClusterStore& store = harness_->add_store();
  EXPECT_TRUE(put(store, "k").ok());
  harness_->etcd().kill();
  const auto gone = get(store, "k");
  ASSERT_FALSE(gone.ok());
  EXPECT_EQ(gone.error().kind, base::ErrorKind::kUnavailable);
  EXPECT_THAT(gone.message(), HasSubstr(harness_->etcd().endpoint().url()));
  harness_->etcd().start();
  EXPECT_TRUE(harness_->serve_until([&] { return get(store, "k").ok(); }));
  EXPECT_EQ(get(store, "k").value().entries.size(), 1u);
}

TEST_F(EtcdStoreTest, EtcdThatNeverAnswersIsGivenUpInTime) {
  // Takes connections into its queue, and no more.
  tcp::acceptor silent(harness_->io(), tcp::endpoint(boost::asio::ip::address_v4::loopback(), 0));
  const EtcdEndpoint endpoint = {"127.0.0.1", std::to_string(silent.local_endpoint().port())};
  ClusterStore& store =
      harness_->add_store({{endpoint}, std::nullopt, std::chrono::milliseconds(50)});
  const auto late = get(store, "k");
  ASSERT_FALSE(late.ok());
  EXPECT_THAT(late.message(), HasSubstr("no answer in time"));
}

TEST_F(EtcdStoreTest, UserIsAuthenticatedWhereEtcdWantsOne) {
  const EtcdUser user = {"root", "secret"};
  // Before etcd knows of users the name does no harm.
  EXPECT_TRUE(put(harness_->add_store({{harness_->etcd().endpoint()}, user}), "k").ok());
  EXPECT_EQ(post("/v3/auth/user/add", R"({"name": "root", "password": "secret"})").status, 200u);
  EXPECT_EQ(post("/v3/auth/role/add", R"({"name": "root"})").status, 200u);
  EXPECT_EQ(post("/v3/auth/user/grant", R"({"user": "root", "role": "root"})").status, 200u);
  EXPECT_EQ(post("/v3/auth/enable", "{}").status, 200u);

  EXPECT_TRUE(get(harness_->add_store({{harness_->etcd().endpoint()}, user}), "k").ok());
  const auto nobody = get(harness_->add_store(), "k");
  ASSERT_FALSE(nobody.ok());
  EXPECT_EQ(nobody.error().kind, base::ErrorKind::kDenied);
  EXPECT_THAT(nobody.message(), HasSubstr("--user-file"));
  const auto wrong =
      get(harness_->add_store({{harness_->etcd().endpoint()}, EtcdUser{"root", "guessed"}}), "k");
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().kind, base::ErrorKind::kDenied);
}

}  // namespace
}  // namespace optile::daemon
