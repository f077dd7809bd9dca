#include "daemon/cluster/etcd_exchange.h"

#include <sys/socket.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <cerrno>
#include <memory>
#include <utility>
#include <vector>

#include "daemon/cluster/etcd_tls.h"
#include "optile_version.h"

namespace optile::daemon {
namespace {

namespace beast_http = boost::beast::http;
using boost::asio::ip::tcp;
using EtcdError = boost::system::error_code;

// As etcd does where it is to be spoken to over TLS.
constexpr const char* kHungUp =
    "it ended the connection without an answer; where it speaks TLS, name it by https://";

}  // namespace

struct EtcdConnection {
  explicit EtcdConnection(boost::asio::io_context& io) : stream(io) {}

  // Etcd has not ended it, as far as one sees without a request.
  bool is_open() {
    char byte;
    const ssize_t got =
        recv(stream.socket().native_handle(), &byte, sizeof byte, MSG_PEEK | MSG_DONTWAIT);
    return got < 0 ? errno == EAGAIN : got > 0 && tls != nullptr;  // TLS has words of its own
  }

  boost::beast::tcp_stream stream;
  std::unique_ptr<EtcdTls::Stream> tls;  // over stream; none without TLS
  boost::beast::flat_buffer buffer;
};

struct IdleEtcdConnection {
  std::unique_ptr<EtcdConnection> connection;
  std::string url{};  // of its endpoint
};

namespace {

// Owns itself until it has called back and nothing is under way any more.
class Exchange : public std::enable_shared_from_this<Exchange> {
 public:
  Exchange(boost::asio::io_context& io, std::weak_ptr<IdleEtcdConnection> idle, EtcdPost post,
           std::function<void(EtcdReply)> done)
      : io_(io),
        idle_(std::move(idle)),
        post_(std::move(post)),
        done_(std::move(done)),
        timer_(io),
        resolver_(io) {
    parser_.body_limit(kMaxEtcdAnswerBytes);
  }

  void begin(std::chrono::milliseconds timeout) {
    timer_.expires_after(timeout);
    timer_.async_wait([self = shared_from_this()](const EtcdError& error) {
      if (!error) self->fail("no answer in time");
    });
    fill_request();
    const std::shared_ptr<IdleEtcdConnection> idle = idle_.lock();
    if (post_.repeatable && idle != nullptr && idle->url == post_.endpoint.url()) {
      connection_ = std::move(idle->connection);
    }
    reuses_ = connection_ != nullptr && connection_->is_open();
    reuses_ ? send() : open();
  }

 private:
  void fill_request() {
    request_.version(11);
    request_.method(beast_http::verb::post);
    request_.target(post_.target);
    request_.set(beast_http::field::host, post_.endpoint.host + ":" + post_.endpoint.port);
    request_.set(beast_http::field::user_agent, "optile/" OPTILE_VERSION);
    request_.set(beast_http::field::content_type, "application/json");
    if (!post_.token.empty()) request_.set(beast_http::field::authorization, post_.token);
    request_.body() = std::move(post_.body);
    request_.prepare_payload();
  }

  void open() {
    connection_ = std::make_unique<EtcdConnection>(io_);
    EtcdError error;
    const auto address = boost::asio::ip::make_address(post_.endpoint.host, error);
    const int port = std::stoi(post_.endpoint.port);
    if (!error) return connect({tcp::endpoint(address, static_cast<unsigned short>(port))});
    resolver_.async_resolve(post_.endpoint.host, post_.endpoint.port,
                            [self = shared_from_this()](const EtcdError& failed,
                                                        const tcp::resolver::results_type& found) {
                              if (failed) return self->fail(failed.message());
                              std::vector<tcp::endpoint> all;
                              for (const auto& one : found) all.push_back(one.endpoint());
                              self->connect(std::move(all));
                            });
  }

  void connect(std::vector<tcp::endpoint> addresses) {
    if (ended_) return;
    addresses_ = std::move(addresses);
    connection_->stream.async_connect(
        addresses_, [self = shared_from_this()](const EtcdError& error, const tcp::endpoint&) {
          if (error) return self->fail(error.message());
          self->connected();
        });
  }

  void connected() {
    if (ended_ || !post_.endpoint.tls) return send();
    if (post_.tls != nullptr) {
      connection_->tls = post_.tls->make_stream(connection_->stream, post_.endpoint.host);
    }
    if (connection_->tls == nullptr) return fail("no certificate can be verified for that host");
    connection_->tls->async_handshake(EtcdTls::Stream::client,
                                      [self = shared_from_this()](const EtcdError& error) {
                                        if (error) return self->fail_over_tls(error);
                                        self->send();
                                      });
  }

  void send() {
    if (ended_) return;
    may_have_arrived_ = true;
    auto sent = [self = shared_from_this()](const EtcdError& error, std::size_t) {
      // An etcd that refuses our certificate says so behind the handshake, and may have ended the
      // connection before it got this: what it said is there to be read.
      if (error && self->connection_->tls == nullptr) return self->fail_to_receive(error);
      self->receive();
    };
    if (connection_->tls != nullptr) {
      beast_http::async_write(*connection_->tls, request_, std::move(sent));
    } else {
      beast_http::async_write(connection_->stream, request_, std::move(sent));
    }
  }

  void receive() {
    if (ended_) return;
    auto received = [self = shared_from_this()](const EtcdError& error, std::size_t) {
      if (error) return self->fail_to_receive(error);
      EtcdReply reply;
      reply.status = self->parser_.get().result_int();
      reply.body = std::move(self->parser_.get().body());
      self->keep_connection();
      self->end(std::move(reply));
    };
    EtcdConnection& open = *connection_;
    if (open.tls != nullptr) {
      beast_http::async_read(*open.tls, open.buffer, parser_, std::move(received));
    } else {
      beast_http::async_read(open.stream, open.buffer, parser_, std::move(received));
    }
  }

  // For the next request to this endpoint.
  void keep_connection() {
    const std::shared_ptr<IdleEtcdConnection> idle = idle_.lock();
    if (ended_ || idle == nullptr || !parser_.get().keep_alive()) return;
    *idle = {std::move(connection_), post_.endpoint.url()};
  }

  void fail_to_receive(const EtcdError& error) {
    if (parser_.got_some()) return fail(error.message());
    // Etcd had ended the connection since the last answer, or the way to it had.
    if (std::exchange(reuses_, false) && !ended_) return open();
    const bool hung_up = error == beast_http::error::end_of_stream ||
                         error == boost::asio::error::connection_reset ||
                         error == boost::asio::error::broken_pipe;
    if (connection_->tls != nullptr) {
      return fail_over_tls(hung_up ? EtcdError(boost::asio::error::eof) : error);
    }
    fail(hung_up ? kHungUp : error.message());
  }

  // Before anything was received.
  void fail_over_tls(const EtcdError& error) {
    const EtcdTlsFailure failure =
        post_.tls->explain(error, *connection_->tls, post_.endpoint.host);
    EtcdReply reply;
    reply.failure = failure.text;
    reply.by_certificate = failure.by_certificate;
    reply.may_have_arrived = may_have_arrived_ && !failure.by_certificate;
    end(std::move(reply));
  }

  void fail(const std::string& why) {
    EtcdReply reply;
    reply.failure = why;
    reply.may_have_arrived = may_have_arrived_;
    end(std::move(reply));
  }

  void end(EtcdReply reply) {
    if (std::exchange(ended_, true)) return;
    timer_.cancel();
    resolver_.cancel();
    if (connection_ != nullptr) connection_->stream.close();
    const std::function<void(EtcdReply)> done = std::move(done_);
    done(std::move(reply));
  }

  boost::asio::io_context& io_;
  std::weak_ptr<IdleEtcdConnection> idle_;
  EtcdPost post_;
  std::function<void(EtcdReply)> done_;
  boost::asio::steady_timer timer_;
  tcp::resolver resolver_;
  std::unique_ptr<EtcdConnection> connection_;
  std::vector<tcp::endpoint> addresses_;
  beast_http::request<beast_http::string_body> request_;
  beast_http::response_parser<beast_http::string_body> parser_;
  bool reuses_ = false;  // a connection of an earlier request
  bool may_have_arrived_ = false;
  bool ended_ = false;
};

}  // namespace

EtcdConnections::EtcdConnections(boost::asio::io_context& io)
    : io_(io), idle_(std::make_shared<IdleEtcdConnection>()) {}

EtcdConnections::~EtcdConnections() = default;

void EtcdConnections::post(EtcdPost post, std::chrono::milliseconds timeout,
                           std::function<void(EtcdReply)> done) {
  std::make_shared<Exchange>(io_, idle_, std::move(post), std::move(done))->begin(timeout);
}

}  // namespace optile::daemon
