// Finds the daemon, or starts one of the user, without ever holding the program up for long.
#pragma once

#include <chrono>
#include <string>

#include "base/result.h"

namespace optile::cli {

struct DaemonPaths {
  std::string socket;
  std::string store;
  bool system = false;  // the machine's: never started here
};

// Folder of the running optile binary.
std::string own_folder();
// The shim beside it; empty when there is none.
std::string find_shim();
// What statically linked copies of ittnotify open: beside the shim; empty where it is not there.
std::string find_itt_collector(const std::string& shim);
// What --store and the API call a store that keeps nothing.
inline constexpr const char* kMemoryStore = ":memory:";
// ~/.local/state/optile/store.db, by XDG_STATE_HOME; kMemoryStore without a home.
std::string usual_store_path();
// The same, with its folder made.
std::string default_store_path();

// Returns at once when one answers; else starts one (two launchers at once: one daemon wins, the
// other's exit is nobody's concern) and waits until it can be connected to, or the time is over. An
// error says what is lost; the program starts all the same.
base::Status ensure_daemon(const DaemonPaths& paths, std::chrono::milliseconds patience);

}  // namespace optile::cli
