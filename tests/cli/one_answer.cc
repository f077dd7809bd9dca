#include "tests/cli/one_answer.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <utility>

namespace optile::cli {
namespace {

// What the request's head says will follow it.
std::size_t body_bytes(const std::string& head) {
  const std::string name = "Content-Length: ";
  const std::size_t at = head.find(name);
  std::size_t bytes = 0;
  if (at != std::string::npos) {
    std::from_chars(head.data() + at + name.size(), head.data() + head.size(), bytes);
  }
  return bytes;
}

bool is_whole(const std::string& request) {
  const std::size_t end = request.find("\r\n\r\n");
  return end != std::string::npos && request.size() >= end + 4 + body_bytes(request.substr(0, end));
}

std::string http(int status, const std::string& body) {
  return "HTTP/1.1 " + std::to_string(status) +
         " X\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

}  // namespace

base::UniqueFd bound_socket(const std::string& path, bool listens) {
  base::UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::snprintf(address.sun_path, sizeof address.sun_path, "%s", path.c_str());
  if (bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return {};
  if (listens && listen(fd.get(), 4) != 0) return {};
  return fd;
}

OneAnswer::OneAnswer(const std::string& path, std::string bytes)
    : bytes_(std::move(bytes)),
      listening_(bound_socket(path, true)),
      thread_([this] { serve(); }) {}

OneAnswer::OneAnswer(const std::string& path, int status, const std::string& body)
    : OneAnswer(path, http(status, body)) {}

OneAnswer::~OneAnswer() {
  shutdown(listening_.get(), SHUT_RDWR);  // ends an accept() that nobody came for
  if (thread_.joinable()) thread_.join();
}

const std::string& OneAnswer::request() {
  if (thread_.joinable()) thread_.join();
  return request_;
}

void OneAnswer::serve() {
  const base::UniqueFd peer(accept(listening_.get(), nullptr, nullptr));
  if (!peer.valid()) return;
  char bytes[4096];
  while (!is_whole(request_)) {
    const ssize_t got = read(peer.get(), bytes, sizeof bytes);
    if (got <= 0) return;
    request_.append(bytes, static_cast<std::size_t>(got));
  }
  std::size_t sent = 0;
  while (sent < bytes_.size()) {
    const ssize_t put = send(peer.get(), bytes_.data() + sent, bytes_.size() - sent, MSG_NOSIGNAL);
    if (put <= 0) return;
    sent += static_cast<std::size_t>(put);
  }
}

}  // namespace optile::cli
