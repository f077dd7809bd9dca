// What the daemon says about its machine, its clients and their leases at one moment, as plain
// values that can be drawn: texts are clean, numbers are in range, and what is missing has a
// default. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "bindings/cli/support/json_fields.h"

namespace optile::cli {

// More of either is not drawn.
inline constexpr std::size_t kMaxDrawnCores = 65536;
inline constexpr std::size_t kMaxDrawnClients = 4096;

struct CoreSeen {
  int number = 0;       // as /v1/machine counts
  bool granted = true;  // to the daemon, by the kernel
};

struct TileSeen {
  int numa_node = 0;
  std::vector<CoreSeen> cores;
};

struct ClientSeen {
  uint64_t id = 0;
  int64_t pid = 0;
  std::string command;
  std::string mode;
  std::string state;  // running, stopped, dying
  std::string phase;
  uint64_t steps = 0;
  uint64_t sampled_steps = 0;
  std::optional<double> steps_per_second;  // nullopt while it is not known
  std::string decision;
  int least_width = 0;  // 0 = not known
  int most_width = 0;
  uint64_t trial_ops = 0;
  std::vector<int> trial_widths;

  bool leased = false;
  bool detached = false;  // by hand: then it is not leased
  bool whole_program = false;
  std::vector<int> cores;  // ascending
  double fraction = 1;     // below 1: of its only core
  std::vector<int> lends;
  bool borrows = false;
  bool wide = false;  // its teams have more threads than it has cores, and nothing changes that
  double share = 1;
  std::string priority;
  bool idle = false;
  bool paused = false;
  bool pinned = false;
  bool late = false;
  std::optional<double> progress;
  bool progress_measured = false;
  std::string reason;  // of its last change of lease
};

struct ChangeSeen {
  std::string at;  // UTC, HH:MM:SS
  std::string text;
};

struct Snapshot {
  int64_t daemon_pid = 0;
  std::string version;
  std::string machine;
  uint64_t numa_nodes = 1;
  std::vector<TileSeen> tiles;
  std::size_t cores = 0;
  uint64_t budget_cores = 0;
  std::string limited_by;
  double leased_cores = 0;
  uint64_t lent_cores = 0;
  uint64_t left_to_others = 0;      // kept busy by programs that are not attached
  std::string cause;                // of the last plan of leases
  std::vector<ClientSeen> clients;  // by id
  std::vector<ChangeSeen> recent;   // newest first

  const ClientSeen* find(uint64_t id) const;
};

// The answers to /v1/status, /v1/leases and /v1/machine. They are of different moments: a client
// that only one of the first two has is taken as attached without a lease, or left out.
struct Answers {
  Json status;
  Json leases;
  Json machine;
};
// kInvalid where they are no such answers. `utf8`: what texts may hold.
base::Result<Snapshot> read_snapshot(const Answers& answers, bool utf8);

}  // namespace optile::cli
