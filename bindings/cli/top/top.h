// `optile top`: the daemon, its clients and their leases, as a picture that follows them.
#pragma once

#include <chrono>
#include <functional>

#include "bindings/cli/options.h"
#include "bindings/cli/top/terminal.h"
#include "bindings/cli/top/top_source.h"

namespace optile::cli {

// The exit code: 0, or 1 with a message on stderr where no daemon answers at the start. Never
// returns where a signal ends it: the terminal is put back, then the signal does what it does.
int watch(const Options& options);

struct TopLoop {
  Terminal& terminal;
  TopSource& source;
  std::chrono::milliseconds interval{1000};
  std::function<std::chrono::milliseconds()> now;  // since whenever, never going back
};
// Shows `first` and what follows until the user or the terminal ends it. A daemon that does not
// answer any more is asked again after each interval.
void run_loop(const TopLoop& loop, Snapshot first);

}  // namespace optile::cli
