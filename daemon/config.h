// What the daemon was told on its command line, with the defaults filled in. Plain value.
#pragma once

#include <chrono>
#include <string>

#include "base/result.h"
#include "daemon/metrics/metrics_outlets.h"

namespace optile::daemon {

// What to do about processes that are not attached and keep cores busy.
enum class OtherLoad { kYield, kIgnore };

struct Config {
  std::string socket;  // HTTP; the attach socket lies beside it
  std::string store;   // file, or ":memory:"
  std::string machine = "host";
  std::string log;                    // "" = none
  std::chrono::seconds idle_exit{0};  // 0 = never
  MetricsOptions metrics;
  OtherLoad other_load = OtherLoad::kYield;
  bool foreground = false;
  bool own_directory = false;  // the socket's folder is the default one: made private where missing
};

// Fills what was not given: socket (base/runtime_path.h), store ($XDG_STATE_HOME or
// ~/.local/state, then optile/store.db), log (beside the socket); makes paths absolute.
base::Result<Config> complete(Config given);

std::string lock_path(const Config& config);
std::string attach_path(const Config& config);

}  // namespace optile::daemon
