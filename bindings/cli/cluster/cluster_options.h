// What was typed of `optile cluster` and `optile launch`. Plain values; adding their options is
// CLI11's.
#pragma once

#include <string>

#include "daemon/cluster/etcd_tls_files.h"

namespace CLI {
class App;
}  // namespace CLI

namespace optile::cli {

struct NodeOptions {
  std::string etcd;  // https://HOST:PORT or http://, several with commas; OPTILE_ETCD unless said
  std::string name;  // of the node; empty = the machine's
  std::string address;    // by which others reach it; empty = that towards etcd
  std::string user_file;  // empty = etcd asks for no user
  daemon::EtcdTlsFiles tls;
  bool probes = true;  // of links to other nodes
};

// Of `optile cluster plan` and `explain`.
struct PlanQuery {
  std::string job;    // empty = all, or the only one
  std::string stage;  // its number, or its node
};

// Of --etcd: one that the job of Slurm starts for itself.
inline constexpr const char* kAutomaticEtcd = "auto";

struct LaunchOptions {
  int nodes = 0;          // the most of them; 0 = as many as the job of Slurm has
  int least_nodes = 0;    // of MIN:MAX; 0 = it was a number alone, and nodes are never fewer
  bool grows = false;     // of MIN:MAX: who comes later is taken in at once
  std::string etcd;       // as above, or kAutomaticEtcd; only for several nodes
  std::string job;        // empty = the program's name
  std::string address;    // as above
  std::string user_file;  // as above
  daemon::EtcdTlsFiles tls;
  int wait_seconds = 300;
  bool torchrun = true;  // for a Python program
  int max_restarts = 0;  // by torchrun
};

struct ClusterCommands {
  CLI::App* join;
  CLI::App* status;
  CLI::App* leave;
  CLI::App* plan;
  CLI::App* explain;
  CLI::App* top;
};
ClusterCommands add_cluster(CLI::App& app, NodeOptions& options, PlanQuery& query);
CLI::App* add_launch(CLI::App& app, LaunchOptions& options);

}  // namespace optile::cli
