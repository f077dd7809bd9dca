// The two regions that this process shares with the daemon while it is attached, and what the
// daemon is told of the process as a whole. Any thread.
//
// A region that was mapped once stays mapped: another thread may be reading it. Re-attaching maps
// new ones, at most kMaxAttachments in a process's life; after that it runs on with its last plan.
// Whoever connects (daemon_link) is called at op boundaries when something is due, since
// there is no thread of ours.
#pragma once

#include <stdint.h>

#include "bindings/abi/layout.h"

namespace optile::preload {

inline constexpr int kMaxAttachments = 16;

struct Attachment {
  const optile_plan_region* plan = nullptr;
  optile_client_region* client = nullptr;
};

// Of this process; null before the first attachment, in a forked child, and when switched off.
const Attachment* attachment();

// When something is due next, in ticks().
extern uint64_t attaching_due;  // NOLINT(bugprone-dynamic-static-initializers): 0 from the start
// Whether maintain_attachment() would do anything.
inline bool attaching_is_due(uint64_t now) {
  return now >= __atomic_load_n(&attaching_due, __ATOMIC_RELAXED);
}

// What the room that connects hands over, by the shim's constructor.
struct DaemonLink {
  void (*maintain)();  // something is due
  // In a forked child: the connection is the parent's. True where the child may attach for itself,
  // since nothing was done for the parent but that it is known (a whole program).
  bool (*hang_up)();
};
void use_daemon_link(const DaemonLink& link);
void maintain_due_attachment();

// Work that is due now and then: attach, notice a dead daemon, attach again. Cheap when nothing is
// due (one load and a compare). `now` is in ticks().
inline void maintain_attachment(uint64_t now) {
  if (attaching_is_due(now)) maintain_due_attachment();
}

// Called with the fallbacks of the whole process so far; also copied into every later region.
void add_fallback(uint32_t fallback);
uint32_t fallbacks_so_far();

bool is_forked_child();
// By the C library's fork, in the child. Where it was made past that, by the first question.
void note_forked_child();

}  // namespace optile::preload
