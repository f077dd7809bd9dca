#include "daemon/process/thread_masks.h"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace optile::daemon {
namespace {

// The kernel wants room for every unit it could ever have; 64 bits make a word.
struct MaskBits {
  static constexpr std::size_t kSets = OPTILE_MAX_CPUS / CPU_SETSIZE;
  static_assert(kSets * CPU_SETSIZE == OPTILE_MAX_CPUS);
  cpu_set_t sets[kSets] = {};
};

bool within(const UnitSet& inner, const UnitSet& outer) {
  return (inner & ~outer).none();
}

int get_mask(int tid, UnitSet& units) {
  MaskBits bits;
  if (sched_getaffinity(tid, sizeof bits, bits.sets) != 0) return errno;
  units.reset();
  for (std::size_t i = 0; i < units.size(); ++i) {
    units.set(i, CPU_ISSET_S(i, sizeof bits, bits.sets));
  }
  return 0;
}

int set_mask(int tid, const UnitSet& units) {
  MaskBits bits;
  for (std::size_t i = 0; i < units.size(); ++i) {
    if (units.test(i)) CPU_SET_S(i, sizeof bits, bits.sets);
  }
  return sched_setaffinity(tid, sizeof bits, bits.sets) == 0 ? 0 : errno;
}

}  // namespace

UnitSet unit_set(const std::vector<int>& os_indices) {
  UnitSet units;
  for (const int index : os_indices) {
    if (index >= 0 && static_cast<std::size_t>(index) < units.size()) {
      units.set(static_cast<std::size_t>(index));
    }
  }
  return units;
}

std::vector<int> os_indices(const UnitSet& units) {
  std::vector<int> indices;
  for (std::size_t i = 0; i < units.size(); ++i) {
    if (units.test(i)) indices.push_back(static_cast<int>(i));
  }
  return indices;
}

bool OwnMasks::contains(const UnitSet& mask) const {
  return mask == original_ || std::find(set_.begin(), set_.end(), mask) != set_.end();
}

void OwnMasks::add(const UnitSet& mask) {
  if (mask == original_) return;
  std::erase(set_, mask);
  set_.push_back(mask);
  if (set_.size() > kMost) set_.erase(set_.begin());
}

void OwnMasks::note_cpuset(const UnitSet& cpuset) {
  std::vector<UnitSet> masks = set_;
  if (original_) masks.push_back(*original_);
  for (const UnitSet& mask : masks) {
    const UnitSet left = mask & cpuset;
    if (left.any() && !contains(left)) add(left);
  }
  if (original_ && !contains(cpuset)) add(cpuset);
}

ThreadMasks::Kernel ThreadMasks::system_kernel() {
  return {get_mask, set_mask};
}

ThreadMasks::ThreadMasks(ProcessEntry process, Kernel kernel)
    : process_(std::move(process)), kernel_(std::move(kernel)) {}

void ThreadMasks::resume(const UnitSet& original, const UnitSet& confined_to) {
  ours_.set_original(original);
  looked_ = true;
  if (confined_to.any()) ours_.add(confined_to);
}

base::Status ThreadMasks::check(const UnitSet& units) const {
  if (units.none()) {
    return base::Error{base::ErrorKind::kInvalid, "a process cannot be confined to no unit"};
  }
  if (original() && !within(units, *original())) {
    return base::Error{base::ErrorKind::kInvalid,
                       "process " + std::to_string(process_.pid()) +
                           " was not allowed all of the units that it is to be confined to"};
  }
  return {};
}

base::Status ThreadMasks::prepare(const UnitSet& units) {
  if (!looked_) {
    MaskOutcome ignored;
    learn_original(look(ignored));
  }
  return check(units);
}

base::Result<MaskOutcome> ThreadMasks::confine(const UnitSet& units) {
  MaskOutcome ignored;
  const std::vector<Seen> all = look(ignored);
  learn_original(all);
  note_placed(all);
  if (base::Status checked = check(units); !checked.ok()) return checked.error();
  return bring_to(units);
}

MaskOutcome ThreadMasks::give_back() {
  MaskOutcome outcome;
  outcome.settled = true;
  return original() && !ours_.none_set() ? bring_to(*original()) : outcome;
}

// Threads that ended between the listing and the question are left out.
std::vector<ThreadMasks::Seen> ThreadMasks::look(MaskOutcome& outcome) const {
  std::vector<Seen> seen;
  for (const int tid : process_.threads(kMaxThreads)) {
    Seen one{tid, {}};
    const int error = kernel_.get(tid, one.mask);
    if (error == ESRCH) continue;
    if (error != 0) {
      ++outcome.refused;
      continue;
    }
    seen.push_back(one);
  }
  return seen;
}

void ThreadMasks::learn_original(const std::vector<Seen>& all) {
  if (looked_) return;
  const auto main_thread = std::find_if(
      all.begin(), all.end(), [this](const Seen& one) { return one.tid == process_.pid(); });
  if (main_thread == all.end()) return;
  looked_ = true;
  // A thread inherits its maker's mask. One that reaches further than the main thread got its mask
  // before that one was placed: OMP_PROC_BIND does so to the thread that opens the first region.
  const bool narrowest = std::any_of(all.begin(), all.end(), [&](const Seen& one) {
    return !within(one.mask, main_thread->mask);
  });
  if (!narrowest) ours_.set_original(main_thread->mask);
}

// Before the next units are ours: who was put there by somebody else stays that one's.
void ThreadMasks::note_placed(const std::vector<Seen>& all) {
  std::map<int, UnitSet> placed;
  for (const Seen& one : all) {
    if (is_placed(one)) placed.emplace(one.tid, one.mask);
  }
  placed_ = std::move(placed);
}

bool ThreadMasks::is_placed(const Seen& thread) const {
  const auto known = placed_.find(thread.tid);
  if (known != placed_.end() && known->second == thread.mask) return true;
  return !ours_.contains(thread.mask) || is_bound(thread, binding_of_(thread.tid));
}

// Also where the lease is the same by chance. Who may run wherever its process may has no place.
bool ThreadMasks::is_bound(const Seen& thread, const ThreadBinding& binding) const {
  return !binding.is_written && binding.mask == thread.mask && thread.mask != original();
}

MaskOutcome ThreadMasks::bring_to(const UnitSet& units) {
  if (original()) ours_.add(units);
  MaskOutcome outcome;
  bool again = true;
  for (int i = 0; i < kMaxPasses && again && !outcome.gone; ++i) {
    const std::size_t moved = outcome.moved;
    outcome = MaskOutcome{};
    outcome.moved = moved;
    again = pass(units, outcome);
    // Of more threads than one pass looks at another pass sees no others.
    outcome.settled = !again && outcome.threads < kMaxThreads;
    outcome.gone = outcome.threads == 0 && !process_.stat();
  }
  return outcome;
}

// True when another pass is due: a thread was moved, so one that it made before may be new, or one
// was being bound by its program.
bool ThreadMasks::pass(const UnitSet& units, MaskOutcome& outcome) {
  const std::size_t before = outcome.moved;
  bool again = false;
  const std::vector<Seen> all = look(outcome);
  outcome.threads = all.size();
  for (const Seen& one : all) {
    if (!is_placed(one)) {
      if (one.mask != units) again |= !move(one.tid, units, outcome);
    } else if (within(one.mask, units)) {
      ++outcome.inside;
    } else {
      ++outcome.left_alone;
    }
  }
  return again || outcome.moved != before;
}

// False: its program binds it at this moment, so it has to be looked at again.
bool ThreadMasks::move(int tid, const UnitSet& units, MaskOutcome& outcome) {
  const ThreadBinding before = binding_of_(tid);
  if (before.is_written || before.is_running) return false;
  Seen now{tid, {}};
  if (before.mask.any() && kernel_.get(tid, now.mask) == 0 && is_bound(now, before)) return false;
  const int error = kernel_.set(tid, units);
  if (error == ESRCH) return true;
  UnitSet got;
  if (error != 0) {
    ++outcome.refused;
    return true;
  }
  if (take_back(tid, before, outcome)) return false;
  if (kernel_.get(tid, got) != 0) return true;  // ended since
  if (got == units) {
    ++outcome.moved;
    return true;
  }
  // A part of the units is outside its cpuset. What the kernel made of them is ours too.
  ++outcome.clipped;
  ours_.add(got);
  return true;
}

// A binding that was told since `before` may have been set before our mask, which then lies over
// it. One that is being told is set later.
bool ThreadMasks::take_back(int tid, const ThreadBinding& before, MaskOutcome& outcome) {
  const ThreadBinding after = binding_of_(tid);
  if (after.is_written || after.count == before.count || after.mask.none()) return false;
  if (after.mask == original()) return false;
  if (kernel_.set(tid, after.mask) != 0) ++outcome.refused;
  return true;
}

}  // namespace optile::daemon
