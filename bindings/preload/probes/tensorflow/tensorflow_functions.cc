#include "bindings/preload/probes/tensorflow/tensorflow_functions.h"

#include <string.h>

#include "bindings/preload/runtimes/library_function.h"
#include "bindings/preload/runtimes/runtime_resolver.h"

namespace optile::preload {
namespace {

LibraryFunction real_compute = {
    "_ZN10tensorflow16ThreadPoolDevice7ComputeEPNS_8OpKernelEPNS_15OpKernelContextE"};
LibraryFunction real_eigen_device = {"_ZN10tensorflow10DeviceBase16eigen_cpu_deviceEv"};
LibraryFunction real_workers = {"_ZNK10tensorflow10DeviceBase29tensorflow_cpu_worker_threadsEv"};
constexpr const char* kTrace =
    "_ZNK10tensorflow8OpKernel11TraceStringB5cxx11ERKNS_15OpKernelContextEb";
constexpr const char* kFreeText = "_ZdlPv";
constexpr const char* kEigenPool = "_ZNK3tsl6thread10ThreadPool17AsEigenThreadPoolEv";
constexpr const char* kMakePool = "_ZN3tsl6thread10ThreadPoolC1EPNS0_19ThreadPoolInterfaceE";

TensorflowFunctions functions;
uint32_t found = 0;  // 1 = being written, 2 = complete

template <typename Function>
void set(Function** function, void* address) {
  memcpy(function, &address, sizeof address);
}

TensorflowFunctions find(const void* caller) {
  TensorflowFunctions all;
  set(&all.compute, function_behind(real_compute, caller));
  set(&all.eigen_device, function_behind(real_eigen_device, caller));
  set(&all.workers, function_behind(real_workers, caller));
  set(&all.trace, resolve_cached(caller, kTrace));
  set(&all.free_text, resolve_cached(caller, kFreeText));
  set(&all.eigen_pool, resolve_cached(caller, kEigenPool));
  set(&all.make_pool, resolve_cached(caller, kMakePool));
  return all;
}

}  // namespace

TensorflowFunctions tensorflow_functions(const void* caller) {
  if (__atomic_load_n(&found, __ATOMIC_ACQUIRE) == 2) return functions;
  const TensorflowFunctions all = find(caller);
  uint32_t nobody = 0;
  if (__atomic_compare_exchange_n(&found, &nobody, 1, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
    functions = all;
    __atomic_store_n(&found, 2, __ATOMIC_RELEASE);
  }
  return all;
}

}  // namespace optile::preload
