// Confines all threads of one client's process to a set of processing units, from outside and
// without a word in the program: every pool in it (OpenMP's, OpenBLAS's, the framework's) is held
// by the masks of its threads, and new threads inherit them. Called by the daemon's one thread, one
// object for each client; the process may end, make threads and be killed at any moment.
//
// Whose word counts: a thread that has the mask the process came with, or one that we set, is ours
// to move, unless its program tells that it set the same. Any other mask was set by the program, by
// its user (OMP_PROC_BIND, taskset on a thread) or by our shim (compact and spread). Such a thread
// is never touched: within the units it is `inside`, reaching outside it is `left_alone`, and the
// client is then not confined.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "bindings/abi/limits.h"
#include "daemon/process/process_entry.h"

namespace optile::daemon {

using UnitSet = std::bitset<OPTILE_MAX_CPUS>;  // by os index

UnitSet unit_set(const std::vector<int>& os_indices);  // what is out of range is left out
std::vector<int> os_indices(const UnitSet& units);

// The latest mask that a thread's program has set for it, as the program's shim tells; told before
// it is set.
struct ThreadBinding {
  uint64_t count = 0;       // another one is told
  bool is_written = false;  // it is told at this moment
  bool is_running = false;  // it is set at this moment
  UnitSet mask;             // none: no word of this thread

  bool operator==(const ThreadBinding&) const = default;
};

// What a pass over the threads found and did; counts are of the last pass, `moved` of all.
struct MaskOutcome {
  std::size_t threads = 0;
  std::size_t moved = 0;
  std::size_t inside = 0;      // placed by others, within the units
  std::size_t left_alone = 0;  // placed by others, reaching outside
  std::size_t clipped = 0;     // the kernel took only a part: the cpuset has shrunk
  std::size_t refused = 0;     // the kernel said no
  bool settled = false;        // a whole pass found nothing to do
  bool gone = false;           // the process has ended

  // Every thread there is runs within the units.
  bool holds() const { return settled && !gone && left_alone == 0 && clipped == 0 && refused == 0; }
};

// Masks that are ours to move: what a process came with, and what we set or the kernel made of it.
class OwnMasks {
 public:
  // Masks of ours that a sleeping thread or the shim may still put back. The oldest is forgotten,
  // and its threads then count as placed by others.
  static constexpr std::size_t kMost = 64;

  const std::optional<UnitSet>& original() const { return original_; }
  void set_original(const UnitSet& mask) { original_ = mask; }
  bool none_set() const { return set_.empty(); }
  bool contains(const UnitSet& mask) const;
  void add(const UnitSet& mask);
  // ThreadMasks's.
  void note_cpuset(const UnitSet& cpuset);

 private:
  std::optional<UnitSet> original_;
  std::vector<UnitSet> set_;  // oldest first
};

class ThreadMasks {
 public:
  // The kernel's two calls; an errno value or 0. Tests pass their own.
  struct Kernel {
    std::function<int(int tid, UnitSet& units)> get;
    std::function<int(int tid, const UnitSet& units)> set;
  };
  static Kernel system_kernel();
  // Without it only the masks themselves tell what the program has set.
  using ReadBinding = std::function<ThreadBinding(int tid)>;
  void read_bindings(ReadBinding read) { binding_of_ = std::move(read); }

  // Passes over a process that keeps making threads, and threads that one pass looks at. Beyond
  // them the outcome is not settled; a later call goes on.
  static constexpr int kMaxPasses = 16;
  static constexpr std::size_t kMaxThreads = 16384;

  explicit ThreadMasks(ProcessEntry process, Kernel kernel = system_kernel());

  // Learns what the process came with and touches nothing. kInvalid as confine() says it.
  base::Status prepare(const UnitSet& units);
  // Every thread of ours to `units`. kInvalid, and nothing is touched, when they are none or not
  // all among those that the process came with. To be repeated about once a second while it is in
  // force: a list of threads read from /proc may miss one when others end meanwhile.
  base::Result<MaskOutcome> confine(const UnitSet& units);
  // The original mask back on every thread that has one of ours. Without confinement: nothing. To
  // be repeated for a while: a thread in a bound region puts back what it had before.
  MaskOutcome give_back();

  // What the process came with: the mask of its main thread at the first confinement. nullopt
  // before it, and where the main thread is the narrowest of several: then it was placed, nobody
  // can say what it came with, and no thread is ours to move.
  const std::optional<UnitSet>& original() const { return ours_.original(); }
  // Somebody kept the word of what it came with. `confined_to`: by an earlier daemon; none: by
  // nobody.
  void resume(const UnitSet& original, const UnitSet& confined_to);
  // The cpuset of the process is this one now. Kernels make of a mask what is left of it there, or
  // (before 6.2) the whole cpuset; where the mask was ours, that is too.
  void note_cpuset(const UnitSet& cpuset) { ours_.note_cpuset(cpuset); }

 private:
  struct Seen {
    int tid = 0;
    UnitSet mask;
  };
  std::vector<Seen> look(MaskOutcome& outcome) const;
  base::Status check(const UnitSet& units) const;
  void learn_original(const std::vector<Seen>& all);
  void note_placed(const std::vector<Seen>& all);
  bool is_placed(const Seen& thread) const;
  MaskOutcome bring_to(const UnitSet& units);
  bool pass(const UnitSet& units, MaskOutcome& outcome);
  bool is_bound(const Seen& thread, const ThreadBinding& binding) const;
  bool move(int tid, const UnitSet& units, MaskOutcome& outcome);
  bool take_back(int tid, const ThreadBinding& before, MaskOutcome& outcome);

  ProcessEntry process_;
  Kernel kernel_;
  ReadBinding binding_of_ = [](int) { return ThreadBinding(); };
  bool looked_ = false;  // for the original mask
  OwnMasks ours_;
  std::map<int, UnitSet> placed_;  // by thread: what others set, also where we set the same later
};

}  // namespace optile::daemon
