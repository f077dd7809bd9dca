#include "daemon/cluster/etcd_user.h"

#include <algorithm>
#include <utility>

#include "daemon/cluster/credential_file.h"

namespace optile::daemon {

base::Result<EtcdUser> read_etcd_user(const std::string& path) {
  base::Result<std::string> text = read_credential_file(path, CredentialKind::kPassword);
  if (!text.ok()) return text.error();
  std::string line = std::move(text).value();
  line.resize(std::min(line.find('\n'), line.size()));
  const std::size_t colon = line.find(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == line.size()) {
    return base::invalid(path + " has to hold one line: NAME:PASSWORD");
  }
  return EtcdUser{line.substr(0, colon), line.substr(colon + 1)};
}

}  // namespace optile::daemon
