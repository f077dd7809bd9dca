// A thread that must act soon and never for long. On a busy machine its wake-up would otherwise
// wait for the end of somebody's turn, some milliseconds.
#pragma once

#include <sys/types.h>

namespace optile::daemon {

// Of the calling thread: shorter turns, which come sooner, for the same share of the processor.
// Needs no privilege. Without effect before Linux 6.12, where it is refused, and on a thread that
// was given another policy than the usual one (chrt).
void shorten_time_slices();

// Of a thread of this process (0: the calling one): before every thread that is not real-time, at
// the lowest such priority. A kernel that does not preempt itself lets the others wait for its next
// tick while it takes a process apart. What the thread starts does not inherit it. False where it
// was given a policy already, which is left alone, and where it is refused: it needs CAP_SYS_NICE
// or RLIMIT_RTPRIO. For a thread that never computes for long, or until it ends its urgency.
bool set_realtime(pid_t thread = 0);

// Of the calling thread, after set_realtime(): the usual policy again, in short turns, with the
// niceness that it had.
void restore_policy();

}  // namespace optile::daemon
