// HTTP/1.1 on a listening socket, Unix or TCP: takes requests apart and hands them to one function.
// Knows nothing of what is asked. The daemon's one thread.
#pragma once

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <set>
#include <string>

#include "base/unique_fd.h"
#include "daemon/support/rights.h"

namespace optile::daemon {

// Open connections; further ones are closed at once.
inline constexpr std::size_t kMaxHttpConnections = 64;
// Of one user, where there are several; root has no limit of his own, and always some room.
inline constexpr std::size_t kMaxHttpConnectionsOfUser = 24;
inline constexpr std::size_t kHttpConnectionsKeptForRoot = 8;
inline constexpr std::size_t kMaxRequestBytes = std::size_t{256} << 10;
// A connection that neither sends nor reads for this long is closed.
inline constexpr std::chrono::seconds kHttpDeadline{10};

struct HttpRequest {
  std::string method;  // "GET"
  std::string target;  // path and query, as sent
  std::string body;
  Peer peer{};  // who asks; over TCP nobody knows
  std::string content_type{};
};
struct HttpResponse {
  unsigned status = 200;
  std::string body;
  std::string allow;  // methods, with status 405
  std::string type = "application/json";
};

class HttpServer {
 public:
  using Handler = std::function<HttpResponse(const HttpRequest&)>;

  enum class Peers {
    kByRights,  // what the kernel says about a Unix socket's peer, by `rights`
    kAnybody,   // TCP does not say
  };
  struct Listening {
    base::UniqueFd fd;  // non-blocking
    Peers peers = Peers::kByRights;
    std::size_t max_connections = kMaxHttpConnections;
    Rights rights{};  // of kByRights
  };

  // `changed` is called after the number of connections has changed.
  HttpServer(boost::asio::io_context& io, Listening listening, Handler handler,
             std::function<void()> changed);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  void stop();
  std::size_t connections() const { return connections_.size(); }

 private:
  class Connection;
  void accept();
  bool has_room_for(const Peer& peer) const;

  Peers peers_;
  Rights rights_;
  std::size_t max_connections_;
  boost::asio::basic_socket_acceptor<boost::asio::generic::stream_protocol> acceptor_;
  boost::asio::steady_timer retry_;
  Handler handler_;
  std::function<void()> changed_;
  std::set<std::shared_ptr<Connection>> connections_;
  bool stopped_ = false;
};

}  // namespace optile::daemon
