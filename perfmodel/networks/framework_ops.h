// The ops that TensorFlow 1.9 built with MKL runs for a recorded step: unneeded ones are pruned,
// and its layout pass puts conversions between ops that keep tensors in MKL's blocked layout and
// ops that do not. Plain values; any thread.
#pragma once

#include <string>
#include <vector>

#include "perfmodel/networks/tape.h"

namespace optile::perfmodel::networks {

struct FrameworkOp {
  std::string op;
  std::string shape;        // operands and result: "(64,32,32,64)*(3,3,64,64)->(64,32,32,64)"
  std::vector<int> inputs;  // indices, each before its reader
  double flops = 0;
  double bytes = 0;  // 0: it only passes tensors on
  Phase phase = Phase::kForward;
  NodeId recorded = kNothing;  // the node; kNothing of a conversion
  NodeId mirrors = kNothing;   // the forward node that it differentiates
};

std::vector<FrameworkOp> framework_ops(const Tape& tape);

// Whether the op has a kernel in MKL-DNN there, whose OpenMP team can be changed at no cost; the
// others run in Eigen's pool (section IV-A of the paper).
bool has_mkl_kernel(const std::string& op);

}  // namespace optile::perfmodel::networks
