#include "sched/strategies/strategies.h"

#include "sched/strategies/packing_strategy.h"
#include "sched/strategies/serial_strategy.h"
#include "sched/strategies/uniform_strategy.h"

namespace optile::sched {

std::vector<std::string> fixed_strategy_names() {
  return {"recommendation", "s1", "s12", "s13", "s134", "s123", "s1234", "paper"};
}

std::unique_ptr<StepStrategy> make_fixed_strategy(const std::string& name,
                                                  const StepOutline& outline) {
  constexpr WidthRule kOwn = WidthRule::kPerInstance;
  constexpr WidthRule kShared = WidthRule::kPerOp;
  if (name == "recommendation") {
    return std::make_unique<UniformStrategy>(outline, recommended_setting(*outline.map));
  }
  if (name == "s1") return make_serial_strategy(outline, kOwn);
  if (name == "s12") return make_serial_strategy(outline, kShared);
  const auto packing = [&](WidthRule plan, bool fill) {
    return std::make_unique<PackingStrategy>(outline, PackingOptions{plan, fill});
  };
  if (name == "s13") return packing(kOwn, false);
  if (name == "s134") return packing(kOwn, true);
  if (name == "s123") return packing(kShared, false);
  if (name == "s1234" || name == "paper") return packing(kShared, true);
  return nullptr;
}

}  // namespace optile::sched
