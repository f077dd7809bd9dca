// How long idle OpenMP threads spin, while the program runs: LLVM's runtime lets each thread say it
// for its teams. Shorter while the cores are not the program's own (a turn, a neighbour, a team
// wider than its lease), since a thread that spins there keeps from work what it waits for; as the
// program has it otherwise. libgomp can be told before the start only.
//
// On the issuing thread, outside regions.
#pragma once

#include "bindings/preload/actuators/steered_thread.h"
#include "bindings/preload/shared_memory/attachment.h"

namespace optile::preload {

// Follows the daemon's word (optile_plan_region.wait_cap). `caller`: of a region outside any op;
// null: the steered runtime is meant. Two loads where nothing changed.
void follow_wait_cap(SteeredThread& thread, const Attachment& attached, const void* caller);

}  // namespace optile::preload
