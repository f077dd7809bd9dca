#include "bindings/preload/probes/onednn/onednn_copy.h"

#include "bindings/preload/actuators/width_actuator.h"
#include "bindings/preload/runtimes/runtime_resolver.h"
#include "bindings/preload/support/per_address.h"

namespace optile::preload {
namespace {

constexpr unsigned kOnOpenMp = 2;  // DNNL_RUNTIME_OMP

struct Version {  // dnnl_version_t
  int major;
  int minor;
  int patch;
  const char* hash;
  unsigned cpu_runtime;
  unsigned gpu_runtime;
};

PerAddress<OneDnnCopy, 256> copies;  // twenty functions in each library

template <typename Function>
void take(Function& function, const void* inside, const char* name) {
  function = reinterpret_cast<Function>(resolve_for(inside, name));
}

OneDnnCopy ask(const void* inside) {
  OneDnnCopy copy;
  take(copy.query, inside, "dnnl_primitive_desc_query");
  take(copy.query_memory, inside, "dnnl_primitive_desc_query_md");
  take(copy.read_memory, inside, "dnnl_memory_desc_query");
  take(copy.descriptor_of, inside, "dnnl_primitive_get_primitive_desc");
  take(copy.kind_name, inside, "dnnl_prim_kind2str");
  take(copy.propagation_name, inside, "dnnl_prop_kind2str");
  take(copy.type_name, inside, "dnnl_dt2str");
  const Version* (*version)() = nullptr;
  take(version, inside, "dnnl_version");
  if (version != nullptr && version()->cpu_runtime == kOnOpenMp) {
    copy.set_num_threads = resolve_for(inside, "omp_set_num_threads");
  }
  return copy;
}

}  // namespace

OneDnnCopy onednn_copy_of(const void* inside) {
  return copies.get(inside, ask);
}

bool onednn_follows_steered_width(const void* inside) {
  const OneDnnCopy copy = onednn_copy_of(inside);
  if (copy.set_num_threads == nullptr) return false;
  choose_runtime_of_library(inside);
  return openmp_is_steered_by(copy.set_num_threads);
}

}  // namespace optile::preload
