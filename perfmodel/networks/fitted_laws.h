// What was fitted to the paper's Tables II and VI: for each network and op the cost of a unit of
// work, the share that no width shortens, and how the best width grows with an instance's time. The
// values are written by bench/fit_op_laws.py; docs/results/curves.md explains them. Constants; any
// thread.
#pragma once

#include <span>
#include <string>

#include "perfmodel/synthetic/op_law.h"

namespace optile::perfmodel::networks {

enum class WorkUnit : uint8_t { kFlops, kBytes };

struct FittedOp {
  const char* network;
  const char* op;
  WorkUnit unit;
  double seconds_per_unit;  // at 68 threads, beyond kDispatchSeconds
  double serial_share;      // of an instance's time at 68 threads
  double best_width;        // of an instance that takes kReferenceSeconds at 68 threads
  double widest;            // no instance is best wider
  const char* source;       // what it was fitted to
};

inline constexpr double kReferenceSeconds = 6e-3;

// The framework's own cost of running any op, however small.
extern const double kDispatchSeconds;
// An instance's best width grows with this power of its time.
extern const double kBestWidthPower;

std::span<const FittedOp> fitted_ops();
const FittedOp* fitted_op(const std::string& network, const std::string& op);

// `at_68`: the instance's seconds at 68 threads, which the law gives back there.
OpLaw fitted_law(const FittedOp& fit, double at_68);

}  // namespace optile::perfmodel::networks
