// A program with threads of its own, none of which the shim steers by op: it attaches as a whole
// program, so that the daemon knows that it is there. Where an op comes later it attaches as any
// other does. A mask is set for it only before its pools are made: threads that spin are never to
// be more than the cores that they have.
#pragma once

#include <stdint.h>

#include "bindings/abi/frames.h"

namespace optile::preload {

// How many threads of its own a program makes before it attaches: who has one more only to wait for
// something has no pool, but on two cores a pool's only thread is the one beside the main one.
inline uint32_t threads_of_a_pool(uint32_t usable_units) {
  return usable_units > 2 ? 2 : 1;
}

// Whether `optile run` started the process: whole programs attach under it alone.
bool is_of_launcher();

// Whether the object at `path` makes threads that are set by op: those of OpenMP, BLAS and oneTBB.
// Their first op attaches. Pure.
bool makes_steered_threads(const char* path);

// A thread is about to be made by the code at `caller`. Any thread; waits for the daemon once, as
// the first op does (FirstWait). Only who was started by `optile run` attaches so.
void note_thread(const void* caller);

// Whether the object at `library` ("": the program itself, whose file is `program`) makes its pools
// by the mask that it asks for. Pure.
bool sizes_pools_by_mask(const char* library, const char* program);

// The code at `caller` asks where the process may run, which is said to it when this returns. The
// first time, where its pools can still be made by the answer, the daemon is told before: beside
// programs with leases it sets a mask first. This waits for its answer and for the mask, each for a
// moment, and takes the request back where there was none. Any thread.
// True where the answer is to be told by note_sized_pools().
bool note_mask_question(const void* caller);
inline constexpr uint32_t kMostReplyWaitMs = 30;
inline constexpr uint64_t kMostMaskWaitNs = UINT64_C(20000000);
// So many units were answered.
void note_sized_pools(uint32_t units);

// As what, whoever asks. Once attached, a kind that sizes its pools attaches anew.
void attach_as_whole_program(optile_whole_program kind);

}  // namespace optile::preload
