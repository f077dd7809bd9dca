#include "daemon/short_turns.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace optile::daemon {
namespace {

// As in sched_setattr(2); the C library has no declaration of it.
struct SchedulingAttributes {
  uint32_t size;
  uint32_t policy;
  uint64_t flags;
  int32_t nice;
  uint32_t priority;
  uint64_t runtime_ns;
  uint64_t deadline_ns;
  uint64_t period_ns;
};
static_assert(sizeof(SchedulingAttributes) == 48, "the first version of sched_attr");
constexpr uint64_t kTurnNs = 100000;  // the kernel's least
constexpr uint64_t kResetOnFork = 1;  // SCHED_FLAG_RESET_ON_FORK

}  // namespace

void ask_for_short_turns() {
  SchedulingAttributes attributes{};
  if (syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0) return;
  if (attributes.policy != SCHED_OTHER) {
    attributes.policy = SCHED_OTHER;
    attributes.priority = 0;
  }
  attributes.runtime_ns = kTurnNs;
  // Refused: as it was.
  static_cast<void>(syscall(SYS_sched_setattr, 0, &attributes, 0));
}

bool make_urgent(pid_t thread) {
  SchedulingAttributes attributes{};
  attributes.size = sizeof attributes;
  attributes.policy = SCHED_FIFO;
  attributes.flags = kResetOnFork;
  attributes.priority = 1;
  return syscall(SYS_sched_setattr, thread, &attributes, 0) == 0;
}

}  // namespace optile::daemon
