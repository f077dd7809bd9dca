// What the doctor looks at: the machine, what is installed, the daemon, the user's variables, and
// the program if one was named. Read once, changes nothing, starts nothing. Plain values, so that
// the judgements (doctor_checks.h) can be tried on any of them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bindings/cli/bridge/bridge_state.h"
#include "bindings/cli/run/launch_environment.h"
#include "bindings/cli/run/target_program.h"
#include "perfmodel/machine/budget.h"

namespace optile::cli {

struct MachineFacts {
  std::string error;  // why the machine cannot be read; else empty
  int cores = 0;
  int tiles = 0;
  perfmodel::Budget budget;
  std::string governor;           // of the first core; empty = the kernel shows none
  bool is_virtual = false;        // a hypervisor below us
  bool has_pmu = false;           // the kernel offers the processor's events
  std::optional<int> paranoid;    // perf_event_paranoid; nullopt = no perf events in this kernel
  bool may_count_kernel = false;  // CAP_PERFMON or CAP_SYS_ADMIN
};
// `root` holds proc/ and sys/: "/" for real, a fixture folder in tests.
MachineFacts read_machine_facts(const std::string& root);

// Paths; empty = not there.
struct InstalledFacts {
  std::string shim;
  std::string daemon;
  std::string counters;
  std::string bridge;
  std::string bridge_torch;  // the file of PyTorch that the bridge was built for
  std::string libomp;
  std::string itt_collector;  // through which a oneDNN inside another library tells of primitives
};
InstalledFacts read_installed_facts(const std::string& shim, const std::string& daemon,
                                    const LibrarySearch& search);

struct DaemonFacts {
  enum class State { kAbsent, kAnswers, kDenied, kSilent };
  State state = State::kAbsent;
  std::string socket;
  std::string socket_error;  // why no daemon could listen there
  std::string version;
  std::string own_version;
  std::string runtime_dir;  // XDG_RUNTIME_DIR as it is set
  bool runtime_dir_usable = false;
  std::string store;          // path
  std::string store_state;    // as the daemon says; empty without one
  std::string store_message;  // likewise
  bool store_writable = false;
};
DaemonFacts read_daemon_facts(const std::string& socket, const std::string& store);

struct ProgramFacts {
  std::string name;
  std::string error;  // why it cannot be started
  TargetProgram target;
  ProgramObjects objects;
  std::optional<BridgeState> bridge;  // for PyTorch of a wheel
};
ProgramFacts read_program_facts(const std::vector<std::string>& command, const Variables& now);

struct DoctorFacts {
  MachineFacts machine;
  InstalledFacts installed;
  DaemonFacts daemon;
  Variables variables;  // of the user, about threads
  std::string preload;  // LD_PRELOAD
  std::optional<ProgramFacts> program;
};

}  // namespace optile::cli
