// The core of the shim: an op begins, an op ends, a step begins. Everything that probes report
// comes through here; see probe.h for what they may rely on.
#pragma once

#include "bindings/preload/issuing_thread.h"
#include "bindings/preload/probe.h"

namespace optile::preload {

void op_begin(const optile_op_identity* identity, optile_open_op* open);
void op_end(optile_open_op* open);
int at_depth_0();
int nested_wanted();
void declared_step();

const optile_probe_api* probe_api();

}  // namespace optile::preload
