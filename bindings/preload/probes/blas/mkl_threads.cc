#include "bindings/preload/probes/blas/mkl_threads.h"

#include <link.h>
#include <string.h>

#include "bindings/preload/runtimes/runtime_resolver.h"
#include "bindings/preload/support/environment.h"

namespace optile::preload {
namespace {

int is_on_tbb(dl_phdr_info* object, size_t /*size*/, void* found) {
  constexpr const char* kThreads = "libmkl_tbb_thread.so";
  if (strncmp(file_name(object->dlpi_name), kThreads, strlen(kThreads)) != 0) return 0;
  *static_cast<bool*>(found) = true;
  return 1;
}

}  // namespace

CountKnob mkl_knob(const void* gemm) {
  CountKnob knob;
  if (!environment().steer_blas) return knob;
  // C's names: the same in small letters are Fortran's, and take an address.
  knob.get = reinterpret_cast<int (*)()>(own_function(gemm, "MKL_Get_Max_Threads"));
  knob.set = reinterpret_cast<int (*)(int)>(own_function(gemm, "MKL_Set_Num_Threads_Local"));
  if (!knob.usable()) return CountKnob();
  knob.get();  // the threads' library is loaded by then
  bool on_tbb = false;
  dl_iterate_phdr(is_on_tbb, &on_tbb);
  return on_tbb ? CountKnob() : knob;
}

}  // namespace optile::preload
