/* A bridge that starts and reports nothing: it shows whether it was loaded. */
#include "bindings/preload/core/probe.h"

int optile_probe_start(const optile_probe_api* api);

int optile_probe_start(const optile_probe_api* api) {
  return api->version == OPTILE_PROBE_API_VERSION ? 0 : 1;
}
