// How a node joins a cluster. Plain value.
#pragma once

#include <string>

#include "daemon/cluster/etcd_tls_files.h"

namespace optile::daemon {

// What is said of a node when it joins; what is left out is found out here.
struct ClusterOptions {
  std::string endpoints;  // as parse_etcd_endpoints() takes them; "" = no cluster
  std::string name;       // "" = the machine's
  std::string address;    // by which other nodes reach it; "" = the machine's name
  std::string user_file;  // absolute; "" = etcd asks for no user
  EtcdTlsFiles tls{};     // absolute
  bool probes = true;     // of links to other nodes, which listen at a port of the address

  bool operator==(const ClusterOptions&) const = default;
};

}  // namespace optile::daemon
