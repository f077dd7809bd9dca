// What every kind of `optile launch` says of itself, and does with its rank once it has one.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/result.h"
#include "bindings/cli/cluster/rank_command.h"
#include "bindings/cli/options.h"
#include "bindings/cli/support/child_process.h"
#include "daemon/cluster/etcd_store.h"
#include "daemon/cluster/node_record.h"
#include "daemon/cluster/own_address.h"

namespace optile::cli {

// The claims' clock.
using LaunchClock = std::chrono::steady_clock;
std::chrono::nanoseconds launch_time();

// Says why on stderr; returns kOwnFailure.
int give_up(const std::string& message);

// Free now; somebody else could still take it before rank 0 does. 0 = none is.
int free_port();

// As it was said, or the program's.
std::string job_name(const LaunchOptions& launch, const std::vector<std::string>& command);

// What a claim says of this launch, of whatever kind it is; `etcd` is the first endpoint.
template <typename Settings>
Settings make_claim(const LaunchOptions& launch, const std::vector<std::string>& command,
                    const daemon::EtcdEndpoint& etcd) {
  Settings claim;
  claim.keys.user = daemon::account_name();
  claim.job = job_name(launch, command);
  claim.node = daemon::host_name_as_node();
  claim.address = launch.address.empty() ? daemon::own_address_towards(etcd) : launch.address;
  if (claim.address.empty()) claim.address = claim.node;
  claim.token = daemon::make_cluster_instance();
  return claim;
}

// The program under `optile run`, as this rank. With `ends_with_us`, it is told to end where this
// process is killed.
ChildEnd run_rank(const Options& options, const RankPlace& place, bool ends_with_us);

// At the launch's end: removes the kept state and ends as the program did; returns an exit code
// where that was not started.
int end_as(const ChildEnd& end);

base::Result<daemon::EtcdStore::Settings> store_settings(const LaunchOptions& options);

// What optile.distributed has kept in /dev/shm for this launch; nobody goes on from it.
void remove_kept_state();

}  // namespace optile::cli
