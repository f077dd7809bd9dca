#include "daemon/cluster/etcd_settings.h"

#include <utility>

#include "daemon/cluster/etcd_tls.h"

namespace optile::daemon {

base::Result<EtcdStore::Settings> read_etcd_settings(const std::string& endpoints,
                                                     const std::string& user_file,
                                                     const EtcdTlsFiles& tls_files) {
  EtcdStore::Settings settings;
  base::Result<std::vector<EtcdEndpoint>> parsed = parse_etcd_endpoints(endpoints);
  if (!parsed.ok()) return parsed.error();
  settings.endpoints = std::move(parsed).value();
  if (base::Status fits = check_tls_files(tls_files, settings.endpoints); !fits.ok()) {
    return fits.error();
  }
  if (!user_file.empty()) {
    base::Result<EtcdUser> user = read_etcd_user(user_file);
    if (!user.ok()) return user.error();
    settings.user = std::move(user).value();
  }
  if (settings.endpoints.front().tls) {
    base::Result<std::shared_ptr<EtcdTls>> tls = EtcdTls::read(tls_files);
    if (!tls.ok()) return tls.error();
    settings.tls = std::move(tls).value();
  }
  return settings;
}

}  // namespace optile::daemon
