#include "daemon/cluster/etcd_exchange.h"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
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

// Owns itself until it has called back and nothing is under way any more.
class Exchange : public std::enable_shared_from_this<Exchange> {
 public:
  Exchange(boost::asio::io_context& io, EtcdPost post, std::function<void(EtcdReply)> done)
      : post_(std::move(post)), done_(std::move(done)), timer_(io), resolver_(io), stream_(io) {
    parser_.body_limit(kMaxEtcdAnswerBytes);
  }

  void begin(std::chrono::milliseconds timeout) {
    timer_.expires_after(timeout);
    timer_.async_wait([self = shared_from_this()](const EtcdError& error) {
      if (!error) self->fail("no answer in time");
    });
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

 private:
  void connect(std::vector<tcp::endpoint> addresses) {
    if (ended_) return;
    addresses_ = std::move(addresses);
    stream_.async_connect(
        addresses_, [self = shared_from_this()](const EtcdError& error, const tcp::endpoint&) {
          if (error) return self->fail(error.message());
          self->connected();
        });
  }

  void connected() {
    if (ended_ || !post_.endpoint.tls) return send();
    if (post_.tls != nullptr) tls_ = post_.tls->make_stream(stream_, post_.endpoint.host);
    if (tls_ == nullptr) return fail("no certificate can be verified for that host");
    tls_->async_handshake(EtcdTls::Stream::client,
                          [self = shared_from_this()](const EtcdError& error) {
                            if (error) return self->fail_over_tls(error);
                            self->send();
                          });
  }

  void send() {
    if (ended_) return;
    request_.version(11);
    request_.method(beast_http::verb::post);
    request_.target(post_.target);
    request_.set(beast_http::field::host, post_.endpoint.host + ":" + post_.endpoint.port);
    request_.set(beast_http::field::user_agent, "optile/" OPTILE_VERSION);
    request_.set(beast_http::field::content_type, "application/json");
    request_.set(beast_http::field::connection, "close");
    if (!post_.token.empty()) request_.set(beast_http::field::authorization, post_.token);
    request_.body() = std::move(post_.body);
    request_.prepare_payload();
    may_have_arrived_ = true;
    auto sent = [self = shared_from_this()](const EtcdError& error, std::size_t) {
      // An etcd that refuses our certificate says so behind the handshake, and may have ended the
      // connection before it got this: what it said is there to be read.
      if (error && self->tls_ == nullptr) return self->fail(error.message());
      self->receive();
    };
    if (tls_ != nullptr) {
      beast_http::async_write(*tls_, request_, std::move(sent));
    } else {
      beast_http::async_write(stream_, request_, std::move(sent));
    }
  }

  void receive() {
    if (ended_) return;
    auto received = [self = shared_from_this()](const EtcdError& error, std::size_t) {
      if (error) return self->fail_to_receive(error);
      EtcdReply reply;
      reply.status = self->parser_.get().result_int();
      reply.body = std::move(self->parser_.get().body());
      self->end(std::move(reply));
    };
    if (tls_ != nullptr) {
      beast_http::async_read(*tls_, buffer_, parser_, std::move(received));
    } else {
      beast_http::async_read(stream_, buffer_, parser_, std::move(received));
    }
  }

  void fail_to_receive(const EtcdError& error) {
    if (parser_.got_some()) return fail(error.message());
    const bool hung_up =
        error == beast_http::error::end_of_stream || error == boost::asio::error::connection_reset;
    if (tls_ != nullptr) return fail_over_tls(hung_up ? boost::asio::error::eof : error);
    fail(hung_up ? kHungUp : error.message());
  }

  // Before anything was received.
  void fail_over_tls(const EtcdError& error) {
    const EtcdTlsFailure failure = post_.tls->explain(error, *tls_, post_.endpoint.host);
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
    stream_.close();
    const std::function<void(EtcdReply)> done = std::move(done_);
    done(std::move(reply));
  }

  EtcdPost post_;
  std::function<void(EtcdReply)> done_;
  boost::asio::steady_timer timer_;
  tcp::resolver resolver_;
  boost::beast::tcp_stream stream_;
  std::unique_ptr<EtcdTls::Stream> tls_;  // over stream_; none without TLS
  std::vector<tcp::endpoint> addresses_;
  beast_http::request<beast_http::string_body> request_;
  beast_http::response_parser<beast_http::string_body> parser_;
  boost::beast::flat_buffer buffer_;
  bool may_have_arrived_ = false;
  bool ended_ = false;
};

}  // namespace

void post_to_etcd(boost::asio::io_context& io, EtcdPost post, std::chrono::milliseconds timeout,
                  std::function<void(EtcdReply)> done) {
  std::make_shared<Exchange>(io, std::move(post), std::move(done))->begin(timeout);
}

}  // namespace optile::daemon
