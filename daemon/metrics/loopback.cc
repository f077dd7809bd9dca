#include "daemon/metrics/loopback.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>

namespace optile::daemon {
namespace {

constexpr int kBacklog = 16;

struct Address {
  sockaddr_storage bytes{};
  socklen_t size = 0;

  sockaddr* any() { return reinterpret_cast<sockaddr*>(&bytes); }
};

Address socket_address(const LoopbackAddress& wanted) {
  Address address;
  if (wanted.v6) {
    sockaddr_in6 v6{};
    v6.sin6_family = AF_INET6;
    v6.sin6_addr = in6addr_loopback;
    v6.sin6_port = htons(wanted.port);
    std::memcpy(&address.bytes, &v6, sizeof v6);
    address.size = sizeof v6;
  } else {
    sockaddr_in v4{};
    v4.sin_family = AF_INET;
    v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    v4.sin_port = htons(wanted.port);
    std::memcpy(&address.bytes, &v4, sizeof v4);
    address.size = sizeof v4;
  }
  return address;
}

std::string host_of(const LoopbackAddress& address) {
  return address.v6 ? "[::1]" : "127.0.0.1";
}

// The port that the kernel chose.
std::optional<uint16_t> bound_port(const base::UniqueFd& fd) {
  Address bound;
  bound.size = sizeof bound.bytes;
  if (getsockname(fd.get(), bound.any(), &bound.size) != 0) return std::nullopt;
  // At the same place in both families.
  sockaddr_in v4{};
  std::memcpy(&v4, &bound.bytes, sizeof v4);
  return ntohs(v4.sin_port);
}

}  // namespace

base::Result<LoopbackAddress> parse_loopback(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  const std::string host = text.substr(0, colon);
  LoopbackAddress address;
  address.v6 = host == "[::1]";
  const bool loopback = address.v6 || host == "127.0.0.1" || host == "localhost";
  unsigned port = 0;
  const char* begin = colon == std::string::npos ? nullptr : text.data() + colon + 1;
  const char* end = text.data() + text.size();
  if (begin == nullptr || begin == end || std::from_chars(begin, end, port).ptr != end ||
      port > UINT16_MAX) {
    return base::Error{base::ErrorKind::kInvalid,
                       "--metrics-listen needs an address with a port, such as 127.0.0.1:9464"};
  }
  if (!loopback) {
    return base::Error{
        base::ErrorKind::kInvalid,
        "--metrics-listen serves this machine only, not " + host + ": use 127.0.0.1 or [::1]"};
  }
  address.port = static_cast<uint16_t>(port);
  return address;
}

base::Result<LoopbackListener> listen_on_loopback(const LoopbackAddress& wanted) {
  Address address = socket_address(wanted);
  LoopbackListener listener;
  listener.fd = base::UniqueFd(
      socket(wanted.v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const std::string name = host_of(wanted) + ":" + std::to_string(wanted.port);
  if (!listener.fd.valid()) return base::errno_error("cannot make a socket for " + name, errno);
  const int on = 1;  // a daemon started again must not wait for the old connections to be forgotten
  setsockopt(listener.fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bind(listener.fd.get(), address.any(), address.size) != 0 ||
      listen(listener.fd.get(), kBacklog) != 0) {
    return base::errno_error("cannot listen on " + name, errno);
  }
  const std::optional<uint16_t> port = bound_port(listener.fd);
  if (!port) return base::errno_error("cannot tell the port of " + name, errno);
  listener.target = host_of(wanted) + ":" + std::to_string(*port);
  return listener;
}

}  // namespace optile::daemon
