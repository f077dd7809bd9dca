#include "sched/simulation/auto_choice.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <vector>

#include "sched/simulation/step_study.h"
#include "sched/strategies/look_ahead_strategy.h"
#include "sched/strategies/strategies.h"

namespace optile::sched {
namespace {

struct Rehearsed {
  std::string name;
  std::function<std::unique_ptr<StepStrategy>()> make;
  int warm_up = 0;  // steps that it learns from
};

std::vector<Rehearsed> all_of(const StepOutline& outline, const ManualOptimum& manual) {
  std::vector<Rehearsed> all;
  all.push_back({"manual",
                 [&outline, setting = manual.setting] {
                   return std::make_unique<UniformStrategy>(outline, setting);
                 },
                 0});
  for (const std::string& name : fixed_strategy_names()) {
    all.push_back(
        {name, [&outline, name] { return make_fixed_strategy(name, outline); }, kWarmUpSteps});
  }
  return all;
}

// Prices far apart first; then halfway to the neighbours of the best, so many times.
constexpr double kPrices[] = {0.0, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 64.0};
constexpr double kDraws[] = {1.0, 1.5, 2.5};  // most memory drawn, at the best price
constexpr int kHalvings = 3;
constexpr int kLookAheadWarmUp = 2;  // steps in which it measures what neighbours cost

class Rehearsals {
 public:
  Rehearsals(const StepOutline& outline, const StepConditions& conditions)
      : outline_(outline), quiet_(conditions), switching_(conditions.switching) {
    quiet_.noise = {};
  }

  // The step's seconds; the shortest so far is kept.
  base::Result<double> hold(const Rehearsed& one) {
    const auto strategy = one.make();
    const auto outcome = simulate_steps(outline_, quiet_, one.warm_up, strategy.get());
    if (!outcome.ok()) return outcome.error();
    const double seconds = outcome.value().seconds;
    ++choice_.rehearsals;
    if (choice_.strategy == nullptr || seconds < choice_.rehearsed_seconds) {
      choice_.strategy = one.make();
      choice_.name = one.name;
      choice_.rehearsed_seconds = seconds;
    }
    return seconds;
  }

  base::Result<double> look_ahead(LookAheadOptions options) {
    return hold({"look-ahead",
                 [this, options] {
                   return std::make_unique<LookAheadStrategy>(outline_, switching_, options);
                 },
                 kLookAheadWarmUp});
  }

  base::Status search_prices() {
    std::map<double, double> seconds;  // by price
    const auto attempt = [&](double price) -> base::Status {
      const auto result = look_ahead({price, LookAheadOptions().most_draw});
      if (!result.ok()) return result.error();
      seconds[price] = result.value();
      return {};
    };
    for (const double price : kPrices) {
      base::Status status = attempt(price);
      if (!status.ok()) return status;
    }
    const auto best = [&] {
      return std::min_element(seconds.begin(), seconds.end(),
                              [](const auto& a, const auto& b) { return a.second < b.second; });
    };
    for (int i = 0; i < kHalvings; ++i) {
      const auto middle = best();
      std::vector<double> between;
      if (middle != seconds.begin())
        between.push_back((std::prev(middle)->first + middle->first) / 2);
      if (std::next(middle) != seconds.end()) {
        between.push_back((std::next(middle)->first + middle->first) / 2);
      }
      for (const double price : between) {
        base::Status status = attempt(price);
        if (!status.ok()) return status;
      }
    }
    for (const double draw : kDraws) {
      const auto result = look_ahead({best()->first, draw});
      if (!result.ok()) return result.error();
    }
    return {};
  }

  AutoChoice take() { return std::move(choice_); }

 private:
  const StepOutline& outline_;
  StepConditions quiet_;
  const perfmodel::SwitchingCost& switching_;  // the caller's: the strategy outlives this
  AutoChoice choice_;
};

}  // namespace

base::Result<AutoChoice> choose_auto(const StepOutline& outline, const StepConditions& conditions,
                                     const ManualOptimum& manual) {
  Rehearsals rehearsals(outline, conditions);
  const base::Status searched = rehearsals.search_prices();
  if (!searched.ok()) return searched.error();
  for (const Rehearsed& one : all_of(outline, manual)) {
    const auto seconds = rehearsals.hold(one);
    if (!seconds.ok()) return seconds.error();
  }
  return rehearsals.take();
}

}  // namespace optile::sched
