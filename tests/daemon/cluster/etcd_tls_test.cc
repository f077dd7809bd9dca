// Stores that reach an etcd over TLS: which files can be used, what a refused certificate does to a
// request, and certificates that are renewed.
#include "daemon/cluster/etcd_tls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <boost/asio/ip/tcp.hpp>
#include <cstdlib>
#include <fstream>

#include "tests/daemon/cluster/store_harness.h"
#include "tests/daemon/fixtures/certificates.h"

namespace optile::daemon {
namespace {

namespace ssl = boost::asio::ssl;
using boost::asio::ip::tcp;
using testing::HasSubstr;

TEST(EtcdTlsFiles, BelongToHttpsAndComeTogether) {
  const std::vector<EtcdEndpoint> open = {{"a", "1"}};
  const std::vector<EtcdEndpoint> secure = {{"a", "1", true}};
  EXPECT_TRUE(check_tls_files({}, open).ok());
  EXPECT_TRUE(check_tls_files({}, secure).ok());
  EXPECT_TRUE(check_tls_files({"ca", "cert", "key"}, secure).ok());
  EXPECT_TRUE(check_tls_files({"ca", "", ""}, secure).ok());
  for (const EtcdTlsFiles& files : {EtcdTlsFiles{"ca", "", ""}, EtcdTlsFiles{"", "cert", "key"}}) {
    EXPECT_THAT(check_tls_files(files, open).message(), HasSubstr("https://"));
  }
  EXPECT_THAT(check_tls_files({"", "cert", ""}, secure).message(), HasSubstr("only --cert"));
  EXPECT_THAT(check_tls_files({"", "", "key"}, secure).message(), HasSubstr("only --key"));
}

class EtcdTlsTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!CertificateAuthority::installed()) GTEST_SKIP() << "no openssl here";
    authority_ = std::make_unique<CertificateAuthority>(folder_, "authority");
    server_ = authority_->issue("server");
    node_ = authority_->issue("node");
  }
  base::Error refused(const EtcdTlsFiles& files) {
    const auto read = EtcdTls::read(files);
    EXPECT_FALSE(read.ok());
    return read.ok() ? base::Error() : read.error();
  }
  std::string file(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
    return folder_ / name;
  }
  TemporaryDirectory folder_;
  std::unique_ptr<CertificateAuthority> authority_;
  IssuedCertificate server_;
  IssuedCertificate node_;
};

TEST_F(EtcdTlsTest, FilesThatCannotBeUsedAreRefused) {
  EXPECT_TRUE(EtcdTls::read({authority_->cert(), node_.cert, node_.key}).ok());
  EXPECT_TRUE(EtcdTls::read({}).ok());
  EXPECT_THAT(refused({folder_ / "missing", "", ""}).message, HasSubstr("cannot open"));
  EXPECT_THAT(refused({folder_.path(), "", ""}).message, HasSubstr("is no file"));
  const std::string text = file("text", "nothing of the kind\n");
  EXPECT_THAT(refused({text, "", ""}).message, HasSubstr("CA's certificate in PEM"));
  EXPECT_THAT(refused({"", text, node_.key}).message, HasSubstr("our certificate in PEM"));
  ASSERT_EQ(chmod(text.c_str(), 0600), 0);
  EXPECT_THAT(refused({"", node_.cert, text}).message, HasSubstr("its key in PEM"));
  EXPECT_THAT(refused({"", node_.cert, server_.key}).message, HasSubstr("of another certificate"));
  const std::string locked = file("locked", "-----BEGIN ENCRYPTED PRIVATE KEY-----\n");
  ASSERT_EQ(chmod(locked.c_str(), 0600), 0);
  EXPECT_THAT(refused({"", node_.cert, locked}).message, HasSubstr("passphrase"));
  ASSERT_EQ(chmod(node_.key.c_str(), 0640), 0);
  const base::Error readable = refused({"", node_.cert, node_.key});
  EXPECT_EQ(readable.kind, base::ErrorKind::kDenied);
  EXPECT_THAT(readable.message, HasSubstr("chmod 600"));
}

// As Kubernetes mounts them.
TEST_F(EtcdTlsTest, FilesMayBeSymbolicLinks) {
  const std::string cert = folder_ / "tls.crt", key = folder_ / "tls.key";
  ASSERT_EQ(symlink(node_.cert.c_str(), cert.c_str()), 0);
  ASSERT_EQ(symlink(node_.key.c_str(), key.c_str()), 0);
  EXPECT_TRUE(EtcdTls::read({"", cert, key}).ok());
}

class EtcdOverTls : public EtcdTlsTest {
 protected:
  void SetUp() override {
    if (!EtcdProcess::installed()) GTEST_SKIP() << "no etcd here: install Debian's etcd-server";
    EtcdTlsTest::SetUp();
    if (IsSkipped()) return;
    harness_ = std::make_unique<EtcdHarness>(
        EtcdProcess::Tls{server_.cert, server_.key, authority_->cert()});
    EXPECT_TRUE(answers(add_store(harness_->etcd().endpoint(), node_)));
  }
  std::shared_ptr<EtcdTls> tls(const IssuedCertificate& own) {
    auto read = EtcdTls::read({authority_->cert(), own.cert, own.key});
    EXPECT_TRUE(read.ok()) << read.message();
    return read.ok() ? read.value() : nullptr;
  }
  ClusterStore& add_store(const EtcdEndpoint& endpoint, const IssuedCertificate& own) {
    return harness_->add_store({{endpoint}, std::nullopt, kPatience, tls(own)});
  }
  bool answers(ClusterStore& store) {
    return harness_->serve_until([&] { return get(store).ok(); });
  }
  base::Result<KeyRange> get(ClusterStore& store) {
    return harness_->answer<KeyRange>([&](auto done) { store.get("k", done); });
  }
  base::Result<Committed> put(ClusterStore& store) {
    return harness_->answer<Committed>([&](auto done) {
      store.commit({{}, {put_key("k", "1")}}, done);
    });
  }
  static constexpr std::chrono::milliseconds kPatience{60000};
  std::unique_ptr<EtcdHarness> harness_;  // its etcd asks for a certificate
};

// fault: F55
TEST_F(EtcdOverTls, TransactionThatCertificateStoppedIsSentToNextEndpoint) {
  const EtcdProcess open({server_.cert, server_.key, ""});
  const IssuedCertificate nobody;
  EXPECT_TRUE(answers(add_store(open.endpoint(), nobody)));
  // TLS 1.3: the first one says so behind the handshake, when the request is under way already.
  ClusterStore& both = harness_->add_store(
      {{harness_->etcd().endpoint(), open.endpoint()}, std::nullopt, kPatience, tls(nobody)});
  const auto committed = put(both);
  EXPECT_TRUE(committed.ok()) << committed.message();
  EXPECT_EQ(both.description(), open.endpoint().url());
  EXPECT_TRUE(get(add_store(harness_->etcd().endpoint(), node_)).value().entries.empty());
}

// fault: F55
TEST_F(EtcdOverTls, RefusedCertificateIsDeniedUntilItIsRenewed) {
  const IssuedCertificate expired = authority_->issue("expired", -1);
  ClusterStore& store = add_store(harness_->etcd().endpoint(), expired);
  const auto denied = put(store);
  ASSERT_FALSE(denied.ok());
  EXPECT_EQ(denied.error().kind, base::ErrorKind::kDenied);
  EXPECT_THAT(denied.message(), HasSubstr("it refuses our certificate " + expired.cert));
  // A half of it cannot be used, and does no harm.
  const IssuedCertificate renewed = authority_->issue("renewed");
  std::ofstream(expired.cert, std::ios::trunc) << "not yet all of it";
  EXPECT_FALSE(put(store).ok());
  renewed.replace(expired);
  const auto committed = put(store);
  EXPECT_TRUE(committed.ok()) << committed.message();
}

// Shakes hands, takes a request and hangs up without a word.
class HangingUpOverTls {
 public:
  HangingUpOverTls(boost::asio::io_context& io, const IssuedCertificate& own)
      : acceptor_(io, tcp::endpoint(boost::asio::ip::address_v4::loopback(), 0)) {
    context_.use_certificate_chain_file(own.cert);
    context_.use_private_key_file(own.key, ssl::context::pem);
    accept();
  }
  EtcdEndpoint endpoint() const {
    return {"127.0.0.1", std::to_string(acceptor_.local_endpoint().port()), true};
  }
  int requests() const { return requests_; }

 private:
  using Error = boost::system::error_code;
  void accept() {
    acceptor_.async_accept([this](const Error& error, tcp::socket socket) {
      if (error) return;
      auto stream = std::make_shared<ssl::stream<tcp::socket>>(std::move(socket), context_);
      stream->async_handshake(ssl::stream_base::server, [this, stream](const Error& failed) {
        if (failed) return;
        stream->async_read_some(boost::asio::buffer(bytes_),
                                [this, stream](const Error&, std::size_t) { ++requests_; });
      });
      accept();
    });
  }
  tcp::acceptor acceptor_;
  ssl::context context_{ssl::context::tls_server};
  std::array<char, 4096> bytes_{};
  int requests_ = 0;
};

// fault: F52
TEST_F(EtcdOverTls, TransactionWhoseReplyIsLostIsNotSentAgain) {
  const HangingUpOverTls deaf(harness_->io(), server_);
  ClusterStore& both = harness_->add_store(
      {{deaf.endpoint(), harness_->etcd().endpoint()}, std::nullopt, kPatience, tls(node_)});
  const auto lost = put(both);
  ASSERT_FALSE(lost.ok());
  EXPECT_EQ(lost.error().kind, base::ErrorKind::kUnavailable);
  EXPECT_EQ(deaf.requests(), 1);
  EXPECT_TRUE(get(both).value().entries.empty());
}

}  // namespace
}  // namespace optile::daemon
