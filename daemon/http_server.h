// HTTP/1.1 on the Unix socket: takes requests apart and hands them to one function. Knows nothing
// of what is asked. The daemon's one thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <set>
#include <string>

#include "base/unique_fd.h"

namespace optile::daemon {

// Open connections; further ones are closed at once.
inline constexpr std::size_t kMaxHttpConnections = 64;
inline constexpr std::size_t kMaxRequestBytes = std::size_t{256} << 10;
// A connection that neither sends nor reads for this long is closed.
inline constexpr std::chrono::seconds kHttpDeadline{10};

struct HttpRequest {
  std::string method;  // "GET"
  std::string target;  // path and query, as sent
  std::string body;
};
struct HttpResponse {
  unsigned status = 200;
  std::string body;   // JSON
  std::string allow;  // methods, with status 405
};

class HttpServer {
 public:
  using Handler = std::function<HttpResponse(const HttpRequest&)>;

  // `changed` is called after the number of connections has changed.
  HttpServer(boost::asio::io_context& io, base::UniqueFd listening, Handler handler,
             std::function<void()> changed);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  void stop();
  std::size_t connections() const { return connections_.size(); }

 private:
  class Connection;
  void accept();

  boost::asio::local::stream_protocol::acceptor acceptor_;
  boost::asio::steady_timer retry_;
  Handler handler_;
  std::function<void()> changed_;
  std::set<std::shared_ptr<Connection>> connections_;
  bool stopped_ = false;
};

}  // namespace optile::daemon
