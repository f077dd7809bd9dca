#include <algorithm>
#include <cmath>
#include <string>

#include "perfmodel/networks/fitted_laws.h"

namespace optile::perfmodel::networks {

namespace {
constexpr double kWidth = 68;  // at which the paper's tables are
}

const FittedOp* fitted_op(const std::string& network, const std::string& op) {
  for (const FittedOp& one : fitted_ops()) {
    if (network == one.network && op == one.op) {
      return &one;
    }
  }
  return nullptr;
}

// With parallel = per_thread * best^2, the best width of (parallel / w + per_thread * w) is `best`.
OpLaw fitted_law(const FittedOp& fit, double at_68) {
  const double grown = fit.best_width * std::pow(at_68 / kReferenceSeconds, kBestWidthPower);
  const double best = std::clamp(grown, 1.0, fit.widest);
  OpLaw law;
  law.serial = at_68 * fit.serial_share;
  law.per_thread = (at_68 - law.serial) / (best * best / kWidth + kWidth);
  law.parallel = law.per_thread * best * best;
  return law;
}

}  // namespace optile::perfmodel::networks
