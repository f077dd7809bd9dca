// Reads a client's region. Every word is copied first, then checked, and only the checked copy is
// used: the client may write anything at any time. Borrowed memory; the daemon's one thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bindings/abi/layout.h"
#include "daemon/client/tick_clock.h"
#include "daemon/process/thread_masks.h"
#include "perfmodel/profile/counts.h"
#include "perfmodel/profile/op.h"
#include "tuner/session/session.h"

namespace optile::daemon {

// The checked header.
struct ClientHeader {
  uint32_t clock_kind = 0;
  uint64_t ticks_per_second = 0;
  uint64_t attach_ticks = 0;
  perfmodel::Runtime runtime = perfmodel::Runtime::kUnknown;
  bool blas_ready = false;
  std::string blas_path;
  uint32_t blas_beside = 0;               // steered beside that one
  std::vector<std::string> beside_names;  // their file names, as far as they are told
  uint64_t progress = 0;
  uint32_t registry_count = 0;
  uint32_t fallbacks = 0;
  int default_width = 0;
  uint32_t default_width_source = OPTILE_WIDTH_DEFAULT;
  uint32_t steps = 0;
  uint64_t unseen_ops = 0;
  uint64_t shim_ticks = 0;
  uint64_t annotations = 0;
  perfmodel::CounterTier counter_tier = perfmodel::CounterTier::kNone;
  std::vector<std::array<perfmodel::CountedEvent, OPTILE_GROUP_EVENTS>> counter_groups;
  int counter_errno = 0;         // why a higher tier was refused
  uint32_t issuing_threads = 0;  // that issued ops; 0 = one at most
  uint32_t most_in_ops = 0;      // at the same moment
  uint64_t narrowed_ops = 0;     // narrower than alone
  int region_width = 0;          // threads of its own regions; 0 = none seen
  uint32_t wait_changes = 0;     // how often it followed another wait cap
  int sized_units = 0;           // by which it has sized its pools; 0 = it did not ask
};

// Why something a client wrote was not used.
enum class Rejection { kRing, kRecord, kWidth, kTime, kPlan, kColumn, kOp, kKind, kCounts };
inline constexpr std::size_t kRejections = 9;

struct ReaderCounters {
  uint64_t read = 0;      // events taken
  uint64_t rejected = 0;  // events, records and ring positions that made no sense
  uint64_t dropped = 0;   // by the client: its ring was full
  std::array<uint64_t, kRejections> rejected_by{};
};

// An entry of a plan page that the client no longer obeys.
struct DisabledEntry {
  perfmodel::OpPlace place;
  int width = 0;  // that the entry asked for
  perfmodel::Nanoseconds under_entry{0};
  perfmodel::Nanoseconds at_default_width{0};
};

// A region that is open at another width than the program's own.
struct OpenRegion {
  uint64_t key = 0;
  int width = 0;
  perfmodel::Nanoseconds open{0};  // for so long
};

// An op's totals over all threads.
struct OpTotals {
  uint64_t count = 0;
  perfmodel::Nanoseconds time{0};
  perfmodel::Nanoseconds min{0};
  uint64_t default_width_count = 0;
};

// In the order of their ends: exactly one of `op` and `step` is set.
struct ClientEvent {
  uint32_t slot = 0;  // of the issuing thread
  std::optional<tuner::OpEvent> op;
  std::optional<perfmodel::CountedExecution> counts;  // of the op
  std::optional<tuner::StepEvent> step;
};

class ClientReader {
 public:
  explicit ClientReader(const optile_client_region* region) : region_(region) {}

  // nullopt until the client has written a header of our version.
  std::optional<ClientHeader> header() const;
  uint64_t progress() const;  // ops begun, as the client tells; cheap
  uint32_t steps() const;     // the same of steps

  // Takes note of how full the rings are. To be called before new_ops() and read(): what is in a
  // ring then was registered before.
  void mark();
  // Registered ops that were not returned before. A record that makes no sense keeps its place.
  std::vector<perfmodel::OpDescription> new_ops();
  // Regions of which another word on their tuning came since the last call.
  std::vector<perfmodel::OpDescription> changed_regions();
  const std::vector<perfmodel::OpDescription>& registry() const { return registry_; }
  // Entries that were disabled since the last call; of very many only the latest.
  std::vector<DisabledEntry> new_disabled(const TickClock& clock);

  // What the checks of an event need to know.
  struct Context {
    const TickClock* clock = nullptr;
    // Length of the schedule of plan i at index i - 1; its size is the current generation.
    const std::vector<uint8_t>* schedule_lengths = nullptr;
    // What the groups of counts hold; null or empty: none are expected.
    const std::vector<std::array<perfmodel::CountedEvent, OPTILE_GROUP_EVENTS>>* counter_groups =
        nullptr;
  };
  // Events up to the mark, in the order of their ends. tail(i) is to be published afterwards.
  std::vector<ClientEvent> read(const Context& context);
  uint64_t tail(uint32_t slot) const { return tails_[slot]; }
  // Fullest ring at the last read, as a share of its capacity.
  double fill() const { return fill_; }

  // Of the threads that issued ops, at most `most`; as the client tells, in its own pid namespace.
  std::vector<int> issuing_threads(std::size_t most) const;
  // That the program has told for that thread; of no other one.
  ThreadBinding binding(int tid) const;
  // Of each thread that has one, at this moment.
  std::vector<OpenRegion> open_regions(const TickClock& clock) const;

  // Totals of every registered op; index as in registry().
  std::vector<OpTotals> totals(const TickClock& clock) const;
  const ReaderCounters& counters() const { return counters_; }

 private:
  struct Timed {
    uint64_t end = 0;
    ClientEvent event;
  };
  void read_slot(uint32_t slot, const Context& context, std::vector<Timed>& out);
  void reject(Rejection why);
  // The counts that came directly before an op, when they are its own; anything else is rejected.
  std::optional<perfmodel::CountedExecution> take_counts(const optile_event& op,
                                                         const Context& context,
                                                         std::optional<optile_event>& counts);

  const optile_client_region* region_;
  std::vector<perfmodel::OpDescription> registry_;
  uint64_t disabled_seen_ = 0;
  std::array<uint64_t, OPTILE_MAX_THREADS> heads_{};  // at the mark
  std::array<uint64_t, OPTILE_MAX_THREADS> tails_{};
  ReaderCounters counters_;
  double fill_ = 0;
};

}  // namespace optile::daemon
