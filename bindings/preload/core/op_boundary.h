// The core of the shim: an op begins, an op ends, a step begins. Everything that probes report
// comes through here; see probe.h for what they may rely on.
#pragma once

#include "bindings/preload/core/issuing_thread.h"
#include "bindings/preload/core/probe.h"

namespace optile::preload {

void op_begin(const optile_op_identity* identity, optile_open_op* open);
void op_end(optile_open_op* open);
// Something begins at `storage` while an op is open that a jump (longjmp) may have left without an
// end: it has, if its storage begins anew, or lies on the stack deeper than where the thread is now
// (`frame`, as near to the caller's as can be had). Then its width goes back and nothing is
// recorded. Should the storage lie elsewhere and this be a mistake, the op only ends early.
void close_what_was_left(IssuingThread& thread, const void* storage, const void* frame);
// What the plan wants for an op that is expected to begin next on this thread, in `context`; 0 =
// the program's default width. `judged` is for judged_execution(), once it has run with that.
uint32_t width_of_next(IssuingThread& thread, uint64_t key, uint64_t context, uint32_t* judged);
int at_depth_0();
int nested_wanted();
void declared_step();

const optile_probe_api* probe_api();

}  // namespace optile::preload
