// The client's side of the line to the daemon: connecting, the two shared regions, noticing that
// the daemon is gone, re-attaching. Called at op boundaries only; there is no thread of ours. The
// first one waits for a moment (FirstWait), or, in a RunqueuePressure, leaves it to a later one; no
// other one waits.
//
// A region that was mapped once stays mapped: another thread may be reading it. Re-attaching maps
// new ones, at most kMaxAttachments in a process's life; after that it runs on with its last plan.
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

// Work that is due now and then: attach, notice a dead daemon, attach again. Cheap when nothing is
// due (one load and a compare). `now` is in ticks().
void maintain_attachment(uint64_t now);
// Whether it would do anything.
bool attaching_is_due(uint64_t now);

// Called with the fallbacks of the whole process so far; also copied into every later region.
void add_fallback(uint32_t fallback);

bool is_forked_child();

}  // namespace optile::preload
