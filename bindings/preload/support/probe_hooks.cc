#include "bindings/preload/support/probe_hooks.h"

// Where the list begins and ends; the linker's.
extern "C" {
extern const optile::preload::ProbeHooks* const __start_optile_probes[]
    __attribute__((visibility("hidden")));
extern const optile::preload::ProbeHooks* const __stop_optile_probes[]
    __attribute__((visibility("hidden")));
}

namespace optile::preload {

RegisteredProbes registered_probes() {
  return {__start_optile_probes, __stop_optile_probes};
}

}  // namespace optile::preload
