// TensorFlow's kernels as ops: what happens around each of them, and where its threads come from.
// Any thread; passes everything where the process is not attached, or TensorFlow is another than
// what is assumed of it (docs/guide/tensorflow.md).
#pragma once

#include <stdint.h>

#include "bindings/preload/probes/tensorflow/tensorflow_functions.h"

namespace optile::preload {

// The kernel computes, inside of this call.
void compute_kernel(const TensorflowFunctions& functions, void* device, void* kernel,
                    void* context);

// What a kernel on the calling thread is to see for the pool of its device; null = its own.
const void* narrowed_eigen_device(const TensorflowFunctions& functions, const void* own);
const CpuWorkers* narrowed_workers(const TensorflowFunctions& functions, const CpuWorkers* own);

// A call of the framework's C interface that computes an op, a function or a whole graph, while it
// lives: on the thread that made it.
class TensorflowCall {
 public:
  enum class Kind : uint8_t {
    kNone,
    kEagerOp,     // computed on this thread
    kFunction,    // or a graph: computed by the executor, a step or a part of one
    kPartOfStep,  // the backward half of a function that was called before
  };
  // By the name of the op that is called: that of a function begins so in every release.
  static Kind kind_of(const char* name);

  // `function`: which one, told from others by its hash; 0 = not known.
  TensorflowCall(Kind kind, uint64_t function);
  ~TensorflowCall();
  TensorflowCall(const TensorflowCall&) = delete;
  TensorflowCall& operator=(const TensorflowCall&) = delete;

  // As the end of its life, and nothing the second time: where an exception leaves the call.
  void end();

 private:
  bool outermost_;
};

}  // namespace optile::preload
