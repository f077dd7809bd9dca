#include "daemon/cluster/etcd_tls_files.h"

#include <algorithm>
#include <utility>

namespace optile::daemon {
namespace {

base::Status contradiction(std::string text) {
  return base::Error{base::ErrorKind::kUnavailable, std::move(text)};
}

}  // namespace

base::Status check_tls_files(const EtcdTlsFiles& files,
                             const std::vector<EtcdEndpoint>& endpoints) {
  if (files == EtcdTlsFiles()) return {};
  const bool over_tls = std::any_of(endpoints.begin(), endpoints.end(),
                                    [](const EtcdEndpoint& one) { return one.tls; });
  if (!over_tls) {
    return contradiction(
        "a CA, certificate or key is given, for which http:// has no use: name etcd by "
        "https://HOST:PORT, or leave them out (--cacert, --cert, --key, and the environment's "
        "OPTILE_ETCD_CACERT, OPTILE_ETCD_CERT, OPTILE_ETCD_KEY)");
  }
  if (files.cert.empty() != files.key.empty()) {
    return contradiction("a certificate and its key belong together: name both, --cert and --key" +
                         std::string(files.cert.empty() ? "" : "; only --cert is there") +
                         (files.key.empty() ? "" : "; only --key is there"));
  }
  return {};
}

}  // namespace optile::daemon
