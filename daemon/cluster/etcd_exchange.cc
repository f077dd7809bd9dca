#include "daemon/cluster/etcd_exchange.h"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <memory>
#include <utility>
#include <vector>

#include "optile_version.h"

namespace optile::daemon {
namespace {

namespace beast_http = boost::beast::http;
using boost::asio::ip::tcp;
using EtcdError = boost::system::error_code;

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
    beast_http::async_write(stream_, request_,
                            [self = shared_from_this()](const EtcdError& error, std::size_t) {
                              if (error) return self->fail(error.message());
                              self->receive();
                            });
  }

  void receive() {
    if (ended_) return;
    beast_http::async_read(stream_, buffer_, parser_,
                           [self = shared_from_this()](const EtcdError& error, std::size_t) {
                             if (error) return self->fail(error.message());
                             EtcdReply reply;
                             reply.status = self->parser_.get().result_int();
                             reply.body = std::move(self->parser_.get().body());
                             self->end(std::move(reply));
                           });
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
