// The nodes of a PyTorch execution trace as they stand in the file. Pure.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "placement/import/json_reader.h"

namespace optile::placement {

struct TracedTensor {
  long long tensor = 0;  // a number for the tensor, and one for the memory behind it
  long long storage = 0;
  double values = 0;
  double value_bytes = 0;
  std::vector<double> shape;  // empty where the file does not say
};

struct TracedOp {
  std::string where;  // in the file
  std::string name;
  long long id = 0;      // ops that begin later have larger ones
  long long caller = 0;  // the id of the op that called it
  // How an op of a framework is declared, such as "add_(Tensor(a!) self, ...) -> Tensor(a!)"; empty
  // for kernels and mere marks.
  std::string schema;
  bool kernel = false;  // of an accelerator: runs on after the op that called it
  // Where the trace was joined with times: with all that it calls, and without. Else negative.
  double whole_ms = -1;
  double own_ms = -1;
  std::vector<TracedTensor> inputs;
  std::vector<TracedTensor> outputs;
};

// All nodes, in the order of the file; of both layouts, with `parent` and with `ctrl_deps`.
base::Result<std::vector<TracedOp>> read_traced_ops(const Json& file);

}  // namespace optile::placement
