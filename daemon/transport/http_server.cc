#include "daemon/transport/http_server.h"

#include <sys/socket.h>

#include <algorithm>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <optional>
#include <utility>

#include "daemon/transport/listening_socket.h"
#include "optile_version.h"

namespace optile::daemon {
namespace {

namespace http = boost::beast::http;
using boost::asio::generic::stream_protocol;
using boost::system::error_code;
using Stream = boost::beast::basic_stream<stream_protocol>;

constexpr std::uint32_t kMaxHeaderBytes = 16 << 10;

// What asio needs to know of a descriptor that exists already.
stream_protocol protocol_of(int fd) {
  int family = AF_UNIX;
  socklen_t size = sizeof family;
  if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &size) != 0) family = AF_UNIX;
  return {family, 0};
}

std::string text(boost::beast::string_view view) {
  return {view.data(), view.size()};
}

}  // namespace

class HttpServer::Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(HttpServer& server, stream_protocol::socket socket, Peer peer)
      : server_(server), peer_(std::move(peer)), stream_(std::move(socket)) {}

  void read() {
    parser_.emplace();
    parser_->header_limit(kMaxHeaderBytes);
    parser_->body_limit(kMaxRequestBytes);
    stream_.expires_after(kHttpDeadline);
    const auto self = shared_from_this();
    http::async_read(stream_, buffer_, *parser_,
                     [self](const error_code& error, std::size_t) { self->have_read(error); });
  }

  unsigned uid() const { return peer_.uid; }

  void leave() {
    if (left_) return;
    left_ = true;
    const auto self = shared_from_this();
    stream_.close();
    server_.connections_.erase(self);
    if (!server_.stopped_) server_.changed_();
  }

 private:
  void have_read(const error_code& error) {
    if (left_) return;
    if (error == http::error::body_limit) {
      answer({413, R"({"error":{"message":"the request is too long"}})", ""}, false);
      return;
    }
    if (error) return leave();
    const http::request<http::string_body>& request = parser_->get();
    const HttpResponse response =
        server_.handler_({text(request.method_string()), text(request.target()), request.body(),
                          peer_, text(request[http::field::content_type])});
    if (!left_) answer(response, request.keep_alive());
  }

  void answer(const HttpResponse& response, bool keep_alive) {
    message_ = {};
    message_.version(11);
    message_.result(response.status);
    message_.set(http::field::server, "optiled/" OPTILE_VERSION);
    message_.set(http::field::content_type, response.type);
    if (!response.allow.empty()) message_.set(http::field::allow, response.allow);
    message_.body() = response.body;
    message_.keep_alive(keep_alive);
    message_.prepare_payload();
    stream_.expires_after(kHttpDeadline);
    const auto self = shared_from_this();
    http::async_write(stream_, message_, [self](const error_code& error, std::size_t) {
      if (self->left_) return;
      if (error || self->message_.need_eof()) return self->leave();
      self->read();
    });
  }

  HttpServer& server_;
  Peer peer_;
  Stream stream_;
  boost::beast::flat_buffer buffer_{kMaxRequestBytes + kMaxHeaderBytes};
  std::optional<http::request_parser<http::string_body>> parser_;
  http::response<http::string_body> message_;
  bool left_ = false;
};

HttpServer::HttpServer(boost::asio::io_context& io, Listening listening, Handler handler,
                       std::function<void()> changed)
    : peers_(listening.peers),
      rights_(listening.rights),
      max_connections_(listening.max_connections),
      acceptor_(io, protocol_of(listening.fd.get()), listening.fd.get()),
      retry_(io),
      handler_(std::move(handler)),
      changed_(std::move(changed)) {
  static_cast<void>(listening.fd.release());  // the acceptor's from here on
  accept();
}

HttpServer::~HttpServer() {
  stop();
}

void HttpServer::stop() {
  if (stopped_) return;
  stopped_ = true;
  error_code ignored;
  acceptor_.close(ignored);
  retry_.cancel(ignored);
  const std::set<std::shared_ptr<Connection>> all = connections_;
  for (const std::shared_ptr<Connection>& connection : all) connection->leave();
}

bool HttpServer::has_room_for(const Peer& peer) const {
  if (connections_.size() >= max_connections_) return false;
  if (!rights_.system() || (peer.known && peer.uid == 0)) return true;
  if (connections_.size() + kHttpConnectionsKeptForRoot >= max_connections_) return false;
  const auto of_user = std::count_if(connections_.begin(), connections_.end(),
                                     [&](const auto& one) { return one->uid() == peer.uid; });
  return static_cast<std::size_t>(of_user) < kMaxHttpConnectionsOfUser;
}

void HttpServer::accept() {
  acceptor_.async_accept([this](const error_code& error, stream_protocol::socket socket) {
    if (stopped_) return;
    if (error) {
      // No descriptors, most likely: try again after a pause instead of spinning.
      retry_.expires_after(kAcceptRetry);
      retry_.async_wait([this](const error_code& cancelled) {
        if (!cancelled && !stopped_) accept();
      });
      return;
    }
    const Peer peer = peers_ == Peers::kAnybody ? Peer() : peer_of(socket.native_handle());
    const bool may_talk = peers_ == Peers::kAnybody || rights_.may_connect(peer);
    if (may_talk && has_room_for(peer)) {
      const auto connection = std::make_shared<Connection>(*this, std::move(socket), peer);
      connections_.insert(connection);
      changed_();
      connection->read();
    }
    accept();
  });
}

}  // namespace optile::daemon
