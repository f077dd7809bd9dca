// What is known of a kernel, an object of TensorFlow's that computes one node of a graph: who it
// is, whether it is large enough to be told of, and whether it may wait for its turn. Found by its
// address; fixed size, never emptied; any thread. A kernel that takes the place of one that was
// destroyed is noticed where it is looked at anew.
#pragma once

#include <stdint.h>

#include "bindings/abi/layout.h"
#include "bindings/preload/probes/tensorflow/tensorflow_functions.h"

namespace optile::preload {

enum class KernelKind : uint32_t {
  kNew,    // its first executions are looked at, whatever they take
  kSmall,  // an execution is over before it could be told of: counted by its mean
  kOp,
  kLeft,  // it may block, by its type: never told of, never made to wait
};

struct Kernel {
  const void* address = nullptr;
  uint32_t kind_word = 0;
  uint32_t executions = 0;  // that were looked at
  uint64_t key = 0;         // of type and shapes, as it was last looked at; 0 = not yet
  uint64_t instance = 0;    // of its node's name
  uint64_t spent = 0;       // ticks, of the executions behind the first ones
  uint64_t mean = 0;        // of a small one

  KernelKind kind() const {
    return static_cast<KernelKind>(__atomic_load_n(&kind_word, __ATOMIC_RELAXED));
  }
  void set_kind(KernelKind kind) {
    __atomic_store_n(&kind_word, static_cast<uint32_t>(kind), __ATOMIC_RELAXED);
  }
};

// Null where the table is full.
Kernel* find_kernel(const void* address);

// Reads its type, shapes and name where that is due.
void look_at_kernel(Kernel* kernel, const TensorflowFunctions& functions, const void* context);

// An execution took so many ticks; `small`: so many are too few for an op.
void note_execution(Kernel* kernel, uint64_t ticks, uint64_t small);

// Writes the type as the op's name, and the shapes, of what TensorFlow says of a kernel:
// "node:Type#shape=(float[2,3];float[3])#". Pure.
void describe_kernel(const char* trace, char name[OPTILE_NAME_BYTES],
                     char shape[OPTILE_SHAPE_BYTES]);

// Whether an op of this type may block for something other than its own computation: a queue, a
// peer, a lock, a file, the program's Python. Pure.
bool may_block(const char* type, uint32_t bytes);

}  // namespace optile::preload
