// Calls into oneDNN as ops. Executing a primitive is an op by what the primitive does, and gets a
// width. Describing and creating one are ops that are observed, at the program's own number of
// threads: oneDNN settles there how much room each thread has, so an execution may have fewer
// threads than its description, never more. A primitive whose number of threads is settled there,
// too, keeps it: where that shows, its executions are observed only.
#pragma once

#include <stdint.h>

#include "bindings/preload/core/library_op.h"
#include "bindings/preload/probes/onednn/primitives.h"

namespace optile::preload {

// All three live on the calling thread's stack around the real function `real`; `caller` is an
// address in the code that calls.

class DescribeScope {
 public:
  // `kind`: null where the first word of `operation` is the kind, as in version 2.
  DescribeScope(const char* kind, const void* operation, const void* caller, const void* real);
  DescribeScope(const DescribeScope&) = delete;
  DescribeScope& operator=(const DescribeScope&) = delete;

 private:
  LibraryOp op_;
};

class CreateScope {
 public:
  CreateScope(const void* descriptor, const void* caller, const void* real);
  CreateScope(const CreateScope&) = delete;
  CreateScope& operator=(const CreateScope&) = delete;

  void done(const void* primitive) const;

 private:
  LibraryOp op_;
  PrimitiveRecord* record_ = nullptr;
  bool noted_ = false;
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
