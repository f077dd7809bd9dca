// What can be told to people of a client. Plain values: a copy outlives the client.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "daemon/client/client_reader.h"
#include "daemon/client/plan_publisher.h"
#include "daemon/store/store.h"
#include "daemon/transport/attach_request.h"
#include "tuner/session/session.h"

namespace optile::daemon {

// Leases of a client that were taken back since its steps were far slower on them than predicted.
struct SlowLeases {
  uint64_t count = 0;
  std::string latest;  // as a sentence

  void add(std::string text) {
    ++count;
    latest = std::move(text);
  }
};

struct ClientView {
  uint64_t id = 0;
  AttachRequest attach_request;
  bool finished = false;
  bool dying = false;    // its process ends; what it still has in its rings is read at its hang-up
  bool stopped = false;  // its process is stopped and begins no ops
  int64_t attached_at = 0;  // seconds since 1970
  int64_t finished_at = 0;
  std::optional<ClientHeader> header;
  bool clock_refused = false;  // its declared clock is not ours: nothing is observed
  ReaderCounters counters;
  uint64_t generation = 0;  // of the plan page in force
  std::size_t entries_left_out = 0;
  bool left_alone = false;        // undone by hand in an earlier run
  bool trials_withheld = false;   // freeze mode, and the stored plan did not fit
  bool is_fixed_by_user = false;  // the user set the width and wants no other (--respect exact)
  int default_width_cap = 0;
  int fixed_team = 0;  // SessionDriver::fixed_team()
  int cores = 1;
  int shared_cores = 0;  // that its issuing threads share; 0 = each runs as if alone
  // Whether each has some of its own; nullopt: not known.
  std::optional<uint32_t> wait_cap_ms;  // how long its idle workers may spin; null: as it has it
  Trials trials;
  std::optional<tuner::SessionView> session;
  std::optional<FoundPlan> stored;  // what the session was started with
  std::map<uint64_t, perfmodel::OpDescription> ops;
  std::map<uint64_t, OpTotals> totals;   // by key
  std::map<uint64_t, HangRecord> hangs;  // regions that did not return once
  SlowLeases slow_leases;
  double shim_seconds = 0;
  std::string co_runner_load;              // that it ran beside, as a sentence; empty: little
  std::optional<double> steps_per_second;  // over the last seconds, pauses included
  perfmodel::Counts counts;                // what was counted in ops; the tier is in the header
};

}  // namespace optile::daemon
