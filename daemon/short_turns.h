// A thread that must act soon and never for long. On a busy machine its wake-up would otherwise
// wait for the end of somebody's turn, some milliseconds.
#pragma once

namespace optile::daemon {

// Of the calling thread: shorter turns, which come sooner, for the same share of the processor.
// Needs no privilege. Without effect before Linux 6.12, and where it is refused.
void ask_for_short_turns();

}  // namespace optile::daemon
