// Small programs and options that tests of sessions share.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tests/tuner/simulated_client.h"

namespace optile::tuner {

inline std::vector<perfmodel::Case> unbound(int widest) {
  std::vector<perfmodel::Case> cases;
  for (int width = 1; width <= widest; ++width) {
    cases.push_back({width, perfmodel::Binding::kNone});
  }
  return cases;
}

inline SessionOptions options_for(int cores) {
  SessionOptions options;
  options.cases = unbound(cores);
  options.cores = cores;
  return options;
}

// Times in ns at widths 1, 2, ...
inline std::function<double(int)> table(std::vector<double> ns) {
  return [ns](int width) { return ns[static_cast<std::size_t>(width - 1)]; };
}
inline std::function<double(int)> scaling(double parallel, double serial = 0) {
  return [=](int width) { return serial + parallel / width; };
}

inline SimulatedProgram one_of_each(std::vector<std::function<double(int)>> curves) {
  SimulatedProgram program;
  for (std::size_t i = 0; i < curves.size(); ++i) {
    SimulatedOp op;
    op.key = 1000 + i;
    op.name = "op" + std::to_string(i);
    op.ns = curves[i];
    program.ops.push_back(op);
    program.order.push_back(static_cast<int>(i));
  }
  return program;
}

inline constexpr double kMs = 1e6;

}  // namespace optile::tuner
