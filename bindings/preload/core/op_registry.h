// Op keys of this process and their small ids. An id is given once and for all, with or without a
// daemon; the records are written into every region that is attached. Lock-free, fixed size.
#pragma once

#include <stdint.h>

#include "bindings/preload/core/probe.h"

namespace optile::preload {

inline constexpr uint32_t kNoOp = UINT32_MAX;

// The id of a key; registers it when it is new. kNoOp when OPTILE_MAX_OPS are taken.
uint32_t op_id_of(const optile_op_identity& identity);

// Notes that an op runs at this width now; true when it never did before.
bool is_first_touch(uint32_t op_id, uint32_t width);

// Whether the width of a region is tuned (optile_region_tuning).
void note_tuning(uint32_t op_id, uint64_t tuning);

// Writes all records so far into a fresh region. Called while it is not published yet.
void replay_registrations(optile_client_region* client);

}  // namespace optile::preload
