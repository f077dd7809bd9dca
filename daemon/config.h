// What the daemon was told on its command line, with the defaults filled in. Plain value.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "base/result.h"
#include "daemon/cluster/cluster_options.h"
#include "daemon/metrics/metrics_outlets.h"
#include "daemon/support/client_limits.h"

namespace optile::daemon {

// What to do about processes that are not attached and keep cores busy.
enum class ExternalLoadPolicy { kYield, kIgnore };

struct Config {
  std::string socket;  // HTTP; the attach socket lies beside it
  std::string store;   // file, or ":memory:"
  std::string machine = "host";
  std::string log;                    // "" = none
  std::chrono::seconds idle_exit{0};  // 0 = never
  MetricsOptions metrics;
  ClusterOptions cluster;  // joined at the start, where it names an etcd
  ExternalLoadPolicy external_load = ExternalLoadPolicy::kYield;
  std::size_t max_clients = kMaxClients;  // attached at once
  bool foreground = false;
  bool own_directory = false;  // the socket's folder is the default one: made private where missing
  bool per_user = false;       // at the usual place of a user's: steps back for the system daemon
  // Of the machine: programs of several users, a folder of stores.
  bool system = false;
  std::string group;        // that may use the sockets; "" = only our account and root
  std::string admin_group;  // that may everything, as root may; "" = nobody else
  // As numbers; filled by complete().
  std::optional<unsigned> group_id{};
  std::optional<unsigned> admin_group_id{};
};

// Fills what was not given: socket (base/runtime_path.h), store (of a user's usual daemon
// $XDG_STATE_HOME or ~/.local/state, then optile/store.db; of the system daemon /var/lib/optile; of
// one at another socket beside that), log (beside the socket); makes paths absolute and numbers of
// groups. An unknown group is an error.
base::Result<Config> complete(Config given);

// The system daemon's socket, where it answers and we are a user's usual daemon; else "".
std::string taken_over_by(const Config& config);

std::string lock_path(const Config& config);
std::string attach_path(const Config& config);

}  // namespace optile::daemon
