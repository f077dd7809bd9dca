// Which files an etcd is reached with over TLS. A plain value; pure, any thread.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "daemon/cluster/etcd_endpoint.h"

namespace optile::daemon {

// In PEM, named as etcdctl names them.
struct EtcdTlsFiles {
  std::string cacert{};  // whom we trust; "" = whom this machine trusts
  std::string cert{};    // as whom we come, with what stands between it and its CA; "" = nobody
  std::string key{};     // of cert; "" with it

  bool operator==(const EtcdTlsFiles&) const = default;
};

// kUnavailable: one of cert and key without the other, or a file although the endpoints are
// http://.
base::Status check_tls_files(const EtcdTlsFiles& files, const std::vector<EtcdEndpoint>& endpoints);

}  // namespace optile::daemon
