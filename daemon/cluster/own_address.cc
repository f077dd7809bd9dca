#include "daemon/cluster/own_address.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "base/unique_fd.h"

namespace optile::daemon {
namespace {

constexpr const char* kLocalhost = "localhost";

struct Interface {
  std::string name;
  std::string address;
  int family = 0;
};

std::string text_of(const sockaddr* address, socklen_t size) {
  char host[NI_MAXHOST];
  const int failed = getnameinfo(address, size, host, sizeof host, nullptr, 0, NI_NUMERICHOST);
  return failed == 0 ? host : "";
}

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

Addresses look_up(const std::string& host, const char* port, int flags = 0) {
  addrinfo wanted = {};
  wanted.ai_socktype = SOCK_DGRAM;
  wanted.ai_flags = flags;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), port, &wanted, &found) != 0) found = nullptr;
  return {found, freeaddrinfo};
}

// Of all interfaces that work, but for the loopback's.
std::vector<Interface> working_interfaces() {
  std::vector<Interface> found;
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) return found;
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owned(first, freeifaddrs);
  for (const ifaddrs* one = first; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || (one->ifa_flags & IFF_LOOPBACK) != 0) continue;
    if ((one->ifa_flags & IFF_UP) == 0 || (one->ifa_flags & IFF_RUNNING) == 0) continue;
    const int family = one->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    const socklen_t size = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    found.push_back({one->ifa_name, text_of(one->ifa_addr, size), family});
  }
  return found;
}

bool is_loopback(const std::string& address) {
  return address.starts_with("127.") || address == "::1";
}

// A name by which others may know this machine.
bool is_name_of_machine(const std::string& host) {
  return host != kLocalhost && look_up(host, nullptr, AI_NUMERICHOST) == nullptr;
}

}  // namespace

std::string own_address_towards(const EtcdEndpoint& endpoint) {
  const Addresses found = look_up(endpoint.host, endpoint.port.c_str());
  for (const addrinfo* one = found.get(); one != nullptr; one = one->ai_next) {
    const base::UniqueFd fd(socket(one->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (!fd.valid() || connect(fd.get(), one->ai_addr, one->ai_addrlen) != 0) continue;
    sockaddr_storage own = {};
    socklen_t size = sizeof own;
    auto* generic = reinterpret_cast<sockaddr*>(&own);
    if (getsockname(fd.get(), generic, &size) != 0) continue;
    std::string address = text_of(generic, size);
    if (address.empty()) continue;
    if (!is_loopback(address) || !is_name_of_machine(endpoint.host)) return address;
    std::vector<Interface> others = working_interfaces();
    std::erase_if(others, [](const Interface& other) { return other.family != AF_INET; });
    return others.size() == 1 ? others.front().address : endpoint.host;
  }
  return "";
}

std::string interface_of(const std::string& address) {
  const std::vector<Interface> interfaces = working_interfaces();
  const Addresses found = look_up(address, nullptr);
  for (const addrinfo* one = found.get(); one != nullptr; one = one->ai_next) {
    const std::string number = text_of(one->ai_addr, one->ai_addrlen);
    const auto with = std::find_if(interfaces.begin(), interfaces.end(),
                                   [&](const Interface& it) { return it.address == number; });
    if (with != interfaces.end()) return with->name;
  }
  return "";
}

}  // namespace optile::daemon
