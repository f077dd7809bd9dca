#include "bindings/cli/support/http_client.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/system/error_code.hpp>
#include <cctype>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <thread>

#include "base/unique_fd.h"

namespace optile::cli {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;

constexpr std::uint64_t kMaxAnswerBytes = std::uint64_t{64} << 20;

constexpr std::size_t kPieceBytes = 4096;
constexpr std::chrono::milliseconds kQueuePause{1};

using Clock = std::chrono::steady_clock;

std::string request_text(const std::string& method, const std::string& target,
                         const std::string& body) {
  return method + " " + target +
         " HTTP/1.1\r\nHost: optiled\r\nContent-Type: application/json\r\n"
         "Connection: close\r\nContent-Length: " +
         std::to_string(body.size()) + "\r\n\r\n" + body;
}

}  // namespace

// One request over a socket that never blocks: a program's start waits for this, so it is a handful
// of system calls.
class AskedQuestion::Exchange {
 public:
  Exchange() {
    parser_.body_limit(kMaxAnswerBytes);
    parser_.eager(true);
  }

  // Each returns 0, or errno of what failed: ETIMEDOUT at the deadline, EBADMSG for what is no
  // answer.
  int ask(const std::string& socket_path, std::string_view request,
          std::chrono::milliseconds deadline) {
    end_ = Clock::now() + deadline;
    const int error = connect_to(socket_path);
    return error == 0 ? send_all(request) : error;
  }
  int receive(std::chrono::milliseconds deadline) {
    end_ = Clock::now() + deadline;
    while (!parser_.is_done()) {
      char piece[kPieceBytes];
      const ssize_t got = recv(fd_.get(), piece, sizeof piece, 0);
      int error = 0;
      if (got >= 0)
        error = take({piece, static_cast<std::size_t>(got)});
      else if (errno == EAGAIN)
        error = wait_for(POLLIN);
      else if (errno != EINTR)
        error = errno;
      if (error != 0) return error;
    }
    return 0;
  }
  HttpAnswer answer() { return {parser_.get().result_int(), std::move(parser_.get().body())}; }

 private:
  int connect_to(const std::string& socket_path) {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    if (socket_path.size() >= sizeof address.sun_path) return ENAMETOOLONG;
    std::memcpy(address.sun_path, socket_path.c_str(), socket_path.size() + 1);
    fd_.reset(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!fd_.valid()) return errno;
    // A queue that is full says so at once, and nothing tells when there is room again.
    while (connect(fd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
      if (errno != EAGAIN && errno != EINTR) return errno;
      if (Clock::now() >= end_) return ETIMEDOUT;
      std::this_thread::sleep_for(kQueuePause);
    }
    return 0;
  }

  int send_all(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent >= 0) {
        bytes.remove_prefix(static_cast<std::size_t>(sent));
      } else if (errno != EINTR) {
        const int error = errno == EAGAIN ? wait_for(POLLOUT) : errno;
        if (error != 0) return error;
      }
    }
    return 0;
  }

  // Nothing at all is the end of what the daemon sends.
  int take(std::string_view piece) {
    boost::system::error_code error;
    if (piece.empty()) {
      if (!parser_.got_some()) return EBADMSG;
      parser_.put_eof(error);
      return error || !parser_.is_done() ? EBADMSG : 0;
    }
    left_.append(piece);
    while (!left_.empty() && !parser_.is_done()) {
      const std::size_t used = parser_.put(asio::buffer(left_), error);
      left_.erase(0, used);
      if (error == http::error::need_more) return 0;
      if (error) return EBADMSG;
    }
    return 0;
  }

  int wait_for(short event) {
    for (;;) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(end_ - Clock::now());
      if (left.count() <= 0) return ETIMEDOUT;
      pollfd ready = {fd_.get(), event, 0};
      const int most = static_cast<int>(std::min<std::int64_t>(left.count(), INT_MAX));
      const int got = poll(&ready, 1, most);
      if (got > 0) return 0;
      if (got < 0 && errno != EINTR) return errno;
    }
  }

  Clock::time_point end_;
  base::UniqueFd fd_;
  http::response_parser<http::string_body> parser_;
  std::string left_;  // came, and not parsed yet
};

std::string path_component(const std::string& text) {
  static const char* digits = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || c == '-' || c == '_' || c == '.' || c == '~') {
      out += c;
    } else {
      out += {'%', digits[byte >> 4], digits[byte & 15]};
    }
  }
  return out;
}

AskedQuestion::AskedQuestion(const std::string& socket, const std::string& method,
                             const std::string& target, const std::string& body,
                             std::chrono::milliseconds deadline)
    : exchange_(std::make_unique<Exchange>()),
      socket_(socket),
      error_(exchange_->ask(socket, request_text(method, target, body), deadline)) {}

AskedQuestion::~AskedQuestion() = default;

base::Result<HttpAnswer> AskedQuestion::answer(std::chrono::milliseconds deadline) {
  if (error_ == 0) error_ = exchange_->receive(deadline);
  if (error_ == 0) return exchange_->answer();
  if (error_ == ECONNREFUSED || error_ == ENOENT) {
    return base::Error{
        base::ErrorKind::kNotFound,
        "no daemon answers on " + socket_ + "; `optile run` starts one, or start optiled yourself"};
  }
  if (error_ == ENAMETOOLONG) {
    return base::Error{base::ErrorKind::kInvalid, socket_ + ": " + std::strerror(error_)};
  }
  return base::Error{base::ErrorKind::kUnavailable,
                     "the daemon on " + socket_ + " does not answer: " + std::strerror(error_)};
}

base::Result<HttpAnswer> ask_daemon(const std::string& socket, const std::string& method,
                                    const std::string& target, const std::string& body,
                                    std::chrono::milliseconds deadline) {
  const auto end = Clock::now() + deadline;
  AskedQuestion question(socket, method, target, body, deadline);
  return question.answer(std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()));
}

}  // namespace optile::cli
