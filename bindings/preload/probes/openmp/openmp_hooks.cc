#include "bindings/preload/probes/openmp/forked_child.h"
#include "bindings/preload/probes/openmp/region_width.h"
#include "bindings/preload/support/probe_hooks.h"

namespace optile::preload {
namespace {

constexpr ProbeHooks kHooks = {.thread_comes = forget_region_widths, .forked = settle_forked_child};
OPTILE_REGISTER_PROBE(kHooks);

}  // namespace
}  // namespace optile::preload
