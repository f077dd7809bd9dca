#include "daemon/process/sched_policy.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <optional>

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

// Of a thread of this process; 0 is the calling one. Null where the kernel does not tell.
std::optional<SchedulingAttributes> attributes_of(pid_t thread) {
  SchedulingAttributes attributes{};
  if (syscall(SYS_sched_getattr, thread, &attributes, sizeof attributes, 0) != 0) return {};
  return attributes;
}

bool set(pid_t thread, SchedulingAttributes& attributes) {
  return syscall(SYS_sched_setattr, thread, &attributes, 0) == 0;
}

}  // namespace

void shorten_time_slices() {
  std::optional<SchedulingAttributes> attributes = attributes_of(0);
  if (!attributes || attributes->policy != SCHED_OTHER) return;
  attributes->runtime_ns = kTurnNs;
  // Refused: as it was.
  static_cast<void>(set(0, *attributes));
}

bool set_realtime(pid_t thread) {
  const std::optional<SchedulingAttributes> before = attributes_of(thread);
  if (!before || before->policy != SCHED_OTHER) return false;
  SchedulingAttributes urgent{};
  urgent.size = sizeof urgent;
  urgent.policy = SCHED_FIFO;
  urgent.flags = kResetOnFork;
  urgent.priority = 1;
  return set(thread, urgent);
}

void restore_policy() {
  std::optional<SchedulingAttributes> attributes = attributes_of(0);
  if (!attributes || attributes->policy != SCHED_FIFO) return;
  attributes->policy = SCHED_OTHER;
  attributes->priority = 0;
  // The attributes of a real-time thread say nothing of it, though the kernel keeps it.
  attributes->nice = getpriority(PRIO_PROCESS, 0);
  attributes->runtime_ns = kTurnNs;
  static_cast<void>(set(0, *attributes));
}

}  // namespace optile::daemon
