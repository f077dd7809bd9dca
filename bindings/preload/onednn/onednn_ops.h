// Calls into oneDNN as ops. Executing a primitive is an op by what the primitive does, and gets a
// width. Describing and creating one are ops that are observed; oneDNN settles there how many
// threads the primitive will have, so they run at the width that the plan has for its next
// execution, as the sequence of ops predicts it. A primitive that is described once and executed
// for ever keeps its number of threads: where that shows, its executions are observed only.
#pragma once

#include <stdint.h>

#include "bindings/preload/library_op.h"
#include "bindings/preload/onednn/primitives.h"
#include "bindings/preload/width_actuator.h"

namespace optile::preload {

// All three live on the calling thread's stack around the real function `real`; `caller` is an
// address in the code that calls.

class DescribeScope {
 public:
  // `kind`: null where the first word of `operation` is the kind, as in version 2.
  DescribeScope(const char* kind, const void* operation, const void* caller, const void* real);
  ~DescribeScope();
  DescribeScope(const DescribeScope&) = delete;
  DescribeScope& operator=(const DescribeScope&) = delete;

  // What came of it: a descriptor, or an iterator over some.
  void done(const void* descriptor) const;

 private:
  LibraryOp op_;
  uint64_t place_ = 0;
  HeldWidth held_;
};

class CreateScope {
 public:
  CreateScope(const void* descriptor, const void* caller, const void* real);
  ~CreateScope();
  CreateScope(const CreateScope&) = delete;
  CreateScope& operator=(const CreateScope&) = delete;

  void done(const void* primitive) const;

 private:
  LibraryOp op_;
  PrimitiveRecord* record_ = nullptr;
  bool noted_ = false;
  HeldWidth held_;
};

class ExecuteScope {
 public:
  ExecuteScope(const void* primitive, const void* caller, const void* real);
  ~ExecuteScope();
  ExecuteScope(const ExecuteScope&) = delete;
  ExecuteScope& operator=(const ExecuteScope&) = delete;

 private:
  LibraryOp op_;
  PrimitiveRecord* record_ = nullptr;
};

}  // namespace optile::preload
