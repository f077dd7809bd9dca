// What processes that belong to no client take of the cores: read from the kernel's counts of busy
// time, of every processing unit and of every client's process. They get no plan and no lease, so
// the budget shrinks by what they use. Processes that were niced are no load: they give way. Two
// readings make a figure (pure), figures make a steady whole number (pure); reading takes a root
// folder like perfmodel/machine/budget.h. The daemon's one thread, about once a second while there
// are clients.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "daemon/process/relatives.h"

namespace optile::daemon {

// Since boot, in clock ticks.
struct UnitTicks {
  uint64_t busy = 0;    // anybody's who is not niced, interrupts included
  uint64_t stolen = 0;  // the hypervisor gave it to another machine
  uint64_t idle = 0;    // and niced

  uint64_t all() const { return busy + stolen + idle; }
};

struct LoadReading {
  struct Process {
    uint64_t start_ticks = 0;  // another value is another process with that pid
    uint64_t busy_ticks = 0;   // all its threads, ended ones too; not its children; 0: niced
  };
  uint64_t at_ticks = 0;             // since boot; who started later used nothing before
  std::map<int, UnitTicks> units;    // by os index; online ones only
  std::map<int, Process> processes;  // by pid; those of the clients that could be read
  std::map<int, Process> relatives;  // and of their runs, not attached, just started
  std::map<int, Process> helpers;    // likewise, started longer ago
};

// Keeps what it has found of the clients' runs.
class LoadReader {
 public:
  // `root` holds proc/.
  explicit LoadReader(std::string root) : root_(std::move(root)), run_processes_(root_) {}
  LoadReading read(const std::vector<int>& pids);  // of the attached clients

 private:
  std::string root_;
  RunProcesses run_processes_;
};

// Cores that were busy on average between two readings; 1.0 is one processing unit all the time.
struct ExternalLoad {
  double cores = 0;   // by processes that belong to no client and no client's run
  double stolen = 0;  // by other machines on this host
  // Share of each unit that no client may use, of all that kept it busy.
  std::map<int, double> by_unit;
};

// Over `units` (the budget's); `clients_units` of them are where clients may run. nullopt when
// nothing can be said: no time has passed, a unit's counts went backwards, or other clients were
// read than before (what one used before it came or after it left would pass for external), unless
// they were started since.
std::optional<ExternalLoad> external_load_between(const LoadReading& before,
                                                  const LoadReading& after,
                                                  const std::vector<int>& units,
                                                  const std::set<int>& clients_units);

// Ticks for which that client's process was busy between the two.
double client_ticks(const LoadReading& before, const LoadReading& after, int pid);
// The same of all processes of clients' runs that are not attached.
double unattached_ticks(const LoadReading& before, const LoadReading& after);
// Cores that were busy on average on these units, but for `own_ticks`; other machines on this host
// included. nullopt: as above.
std::optional<double> busy_beside(const LoadReading& before, const LoadReading& after,
                                  const std::vector<int>& units, double own_ticks);
// Whether that client's process was read both times.
bool was_there(const LoadReading& before, const LoadReading& after, int pid);

// How many whole cores to leave to others: none at first, then what the smaller of the first two
// figures says, since the first may hold a job's own start, then a smoothed load, followed only
// where that is well away from what stands, so that the budget does not flap; a burst shorter than
// the smoothing changes nothing.
class ExternalCores {
 public:
  static constexpr std::chrono::seconds kSmoothing{3};  // time constant
  // A half would be rounding; this much nearer to the next whole number is a change.
  static constexpr double kAway = 0.7;

  // `passed`: since the figure before. Returns what to leave from now on.
  int feed(const ExternalLoad& load, std::chrono::nanoseconds passed);
  int cores() const { return cores_; }
  bool has_figure() const { return first_ || known_; }
  bool known() const { return known_; }  // a second figure has confirmed it
  double smoothed() const { return smoothed_; }

 private:
  std::optional<double> first_;
  bool known_ = false;
  double smoothed_ = 0;
  int cores_ = 0;
};

}  // namespace optile::daemon
