#include "tests/daemon/running_daemon.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cstdlib>

#include "base/cpu_counter.h"

namespace optile::daemon {
namespace {

constexpr std::chrono::seconds kDeadline{20};

// Content-Length of a complete head; npos while it is incomplete.
std::size_t body_size(const std::string& text, std::size_t head_end) {
  const std::string field = "Content-Length: ";
  const std::size_t at = text.find(field);
  if (at == std::string::npos || at > head_end) return 0;
  return static_cast<std::size_t>(std::strtoul(text.c_str() + at + field.size(), nullptr, 10));
}

}  // namespace

Config test_config(const TemporaryDirectory& directory) {
  Config config;
  config.socket = directory / "d.sock";
  config.store = ":memory:";
  config.machine = "pack:1 l2:1 core:4 pu:1";
  config.log = directory / "d.log";
  return config;
}

int connect_stream(const std::string& path) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) return fd;
  close(fd);
  return -1;
}

RunningDaemon::RunningDaemon(Config config) : config_(std::move(config)) {
  base::Result<std::unique_ptr<Daemon>> started = Daemon::start(config_);
  EXPECT_TRUE(started.ok()) << (started.ok() ? "" : started.message());
  if (started.ok()) daemon_ = std::move(started).value();
}

bool RunningDaemon::serve_until(const std::function<bool()>& done) {
  const auto deadline = std::chrono::steady_clock::now() + kDeadline;
  while (!done()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    daemon_->run_for(std::chrono::milliseconds(1));
  }
  return true;
}

Answer RunningDaemon::get(const std::string& target) {
  return raw("GET " + target + " HTTP/1.1\r\nHost: x\r\n\r\n");
}

Answer RunningDaemon::post(const std::string& target, const std::string& body) {
  return raw("POST " + target + " HTTP/1.1\r\nHost: x\r\nContent-Length: " +
             std::to_string(body.size()) + "\r\n\r\n" + body);
}

Answer RunningDaemon::raw(const std::string& request) {
  Answer answer;
  const base::UniqueFd fd(connect_stream(config_.socket));
  EXPECT_TRUE(fd.valid());
  std::string text;
  std::size_t sent = 0;
  const bool complete = serve_until([&] {
    if (sent < request.size()) {
      const ssize_t wrote =
          send(fd.get(), request.data() + sent, request.size() - sent, MSG_DONTWAIT | MSG_NOSIGNAL);
      if (wrote > 0) sent += static_cast<std::size_t>(wrote);
    }
    std::array<char, 65536> part;
    const ssize_t got = recv(fd.get(), part.data(), part.size(), MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno != EAGAIN)) return true;
    if (got > 0) text.append(part.data(), static_cast<std::size_t>(got));
    const std::size_t head_end = text.find("\r\n\r\n");
    return head_end != std::string::npos && text.size() >= head_end + 4 + body_size(text, head_end);
  });
  EXPECT_TRUE(complete);
  const std::size_t head_end = text.find("\r\n\r\n");
  if (head_end == std::string::npos) return answer;
  answer.head = text.substr(0, head_end);
  answer.body = text.substr(head_end + 4);
  answer.status = std::atoi(answer.head.c_str() + sizeof "HTTP/1.1");
  return answer;
}

ClientRegions RunningDaemon::attach(FakeConnection& connection, const optile_hello& hello) {
  EXPECT_TRUE(connection.say(&hello, sizeof hello));
  FakeConnection::Heard heard = FakeConnection::Heard::kNothing;
  EXPECT_TRUE(serve_until([&] {
    heard = connection.listen();
    return heard != FakeConnection::Heard::kNothing;
  }));
  EXPECT_EQ(heard, FakeConnection::Heard::kWelcome) << connection.reason();
  if (heard != FakeConnection::Heard::kWelcome) return {};
  ClientRegions regions(connection.plan_fd(), connection.client_fd());
  regions.begin(base::monotonic_ns(), 4);
  return regions;
}

}  // namespace optile::daemon
