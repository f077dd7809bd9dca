// Where an etcd answers. Pure; any thread.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace optile::daemon {

struct EtcdEndpoint {
  std::string host;  // a name, or an address; IPv6 without its brackets
  std::string port;
  bool tls = false;  // https://

  std::string url() const;
};

inline constexpr std::size_t kMaxEtcdEndpoints = 16;

// "http://node0:2379,http://node1:2379" → both, in that order; the port is 2379 unless said. All
// http:// or all https://: what is said over TLS to one of them is not said in the clear to
// another.
base::Result<std::vector<EtcdEndpoint>> parse_etcd_endpoints(const std::string& urls);

}  // namespace optile::daemon
