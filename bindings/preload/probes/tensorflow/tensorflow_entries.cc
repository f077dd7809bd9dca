// TensorFlow's functions that a program's kernels pass through, interposed: the tables of virtual
// functions of the wheels' classes are bound by symbol, so that a definition before theirs is taken
// (no -Bsymbolic), and so are the calls of the C interface. An exception that leaves a kernel
// passes through here.
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/hash.h"
#include "bindings/preload/probes/tensorflow/tensorflow_functions.h"
#include "bindings/preload/probes/tensorflow/tensorflow_probe.h"
#include "bindings/preload/runtimes/library_function.h"
#include "bindings/preload/support/run_with_cleanup.h"

using optile::preload::CpuWorkers;
using optile::preload::function_behind;
using optile::preload::LibraryFunction;
using optile::preload::run_with_cleanup;
using optile::preload::tensorflow_functions;
using optile::preload::TensorflowCall;
using optile::preload::TensorflowFunctions;

namespace {

LibraryFunction real_execute = {"TFE_Execute"};
LibraryFunction op_name = {"TFE_OpGetName"};
LibraryFunction real_session_run = {"TF_SessionRun"};

// TF_Output.
struct SessionOutput {
  const void* op;
  int index;
};

// Runs `work` as a part of `call`, which ends where an exception leaves it, too.
template <typename Work>
void run_inside(TensorflowCall* call, const Work& work) {
  struct Inside {
    TensorflowCall* call;
    const Work* work;
  } inside = {call, &work};
  run_with_cleanup([](void* it) { (*static_cast<const Inside*>(it)->work)(); }, &inside,
                   [](void* it) { static_cast<const Inside*>(it)->call->end(); });
}

uint64_t hash_of(const char* name) {
  return optile::base::hash_bytes(name, strlen(name)) | 1;
}

uint64_t hash_of(const void* op, uint64_t seed) {
  return optile::base::hash_word(reinterpret_cast<uintptr_t>(op), seed);
}

uint64_t hash_of(int index, uint64_t seed) {
  return optile::base::hash_word(static_cast<uint64_t>(index), seed);
}

}  // namespace

extern "C" {

void optile_tensorflow_compute(void* device, void* kernel, void* context) __asm__(
    "_ZN10tensorflow16ThreadPoolDevice7ComputeEPNS_8OpKernelEPNS_15OpKernelContextE");
const void* optile_tensorflow_eigen_device(void* device) __asm__(
    "_ZN10tensorflow10DeviceBase16eigen_cpu_deviceEv");
const CpuWorkers* optile_tensorflow_workers(const void* device) __asm__(
    "_ZNK10tensorflow10DeviceBase29tensorflow_cpu_worker_threadsEv");
// NOLINTBEGIN(readability-identifier-naming): TensorFlow's
void TFE_Execute(void* op, void** results, int* result_count, void* status);
void TF_SessionRun(void* session, const void* run_options, const void* inputs,
                   void* const* input_values, int ninputs, const void* outputs,
                   void** output_values, int noutputs, const void* const* targets, int ntargets,
                   void* run_metadata, void* status);
// NOLINTEND(readability-identifier-naming)

void optile_tensorflow_compute(void* device, void* kernel, void* context) {
  const TensorflowFunctions functions = tensorflow_functions(__builtin_return_address(0));
  optile::preload::compute_kernel(functions, device, kernel, context);
}

const void* optile_tensorflow_eigen_device(void* device) {
  const TensorflowFunctions functions = tensorflow_functions(__builtin_return_address(0));
  const void* own = functions.eigen_device(device);
  const void* narrowed = optile::preload::narrowed_eigen_device(functions, own);
  return narrowed == nullptr ? own : narrowed;
}

const CpuWorkers* optile_tensorflow_workers(const void* device) {
  const TensorflowFunctions functions = tensorflow_functions(__builtin_return_address(0));
  const CpuWorkers* own = functions.workers(device);
  const CpuWorkers* narrowed = optile::preload::narrowed_workers(functions, own);
  return narrowed == nullptr ? own : narrowed;
}

// NOLINTBEGIN(readability-identifier-naming): TensorFlow's
void TFE_Execute(void* op, void** results, int* result_count, void* status) {
  auto* const real = reinterpret_cast<decltype(&TFE_Execute)>(
      function_behind(real_execute, __builtin_return_address(0)));
  auto* const name_of = reinterpret_cast<const char* (*)(const void*, void*)>(
      function_behind(op_name, __builtin_return_address(0)));
  const char* const name = name_of == nullptr ? nullptr : name_of(op, status);
  const TensorflowCall::Kind kind = TensorflowCall::kind_of(name);
  const bool is_function = name != nullptr && kind == TensorflowCall::Kind::kFunction;
  TensorflowCall call(kind, is_function ? hash_of(name) : 0);
  run_inside(&call, [&] { real(op, results, result_count, status); });
}

void TF_SessionRun(void* session, const void* run_options, const void* inputs,
                   void* const* input_values, int ninputs, const void* outputs,
                   void** output_values, int noutputs, const void* const* targets, int ntargets,
                   void* run_metadata, void* status) {
  auto* const real = reinterpret_cast<decltype(&TF_SessionRun)>(
      function_behind(real_session_run, __builtin_return_address(0)));
  // What a session computes is known by the ops that it is asked for.
  uint64_t asked = optile::base::kHashSeed;
  for (int i = 0; i < noutputs; ++i) {
    const SessionOutput& output = static_cast<const SessionOutput*>(outputs)[i];
    asked = hash_of(output.op, hash_of(output.index, asked));
  }
  for (int i = 0; i < ntargets; ++i) asked = hash_of(targets[i], asked);
  TensorflowCall call(TensorflowCall::Kind::kFunction, asked | 1);
  run_inside(&call, [&] {
    real(session, run_options, inputs, input_values, ninputs, outputs, output_values, noutputs,
         targets, ntargets, run_metadata, status);
  });
}
// NOLINTEND(readability-identifier-naming)

}  // extern "C"
