// What was said of an etcd made into what its store needs. Reads the files that are named, which
// may block; any thread.
#pragma once

#include <string>

#include "base/result.h"
#include "daemon/cluster/etcd_store.h"
#include "daemon/cluster/etcd_tls_files.h"

namespace optile::daemon {

// `endpoints` as parse_etcd_endpoints() takes them; `user_file` "" = etcd asks for no user.
// kInvalid and kDenied say which of them cannot be used, and why.
base::Result<EtcdStore::Settings> read_etcd_settings(const std::string& endpoints,
                                                     const std::string& user_file,
                                                     const EtcdTlsFiles& tls_files);

}  // namespace optile::daemon
