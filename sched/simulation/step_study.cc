#include "sched/simulation/step_study.h"

#include <cstdio>
#include <memory>
#include <optional>

#include "sched/simulation/auto_choice.h"
#include "sched/strategies/strategies.h"

namespace optile::sched {
namespace {

// "uniform:4,34".
std::optional<UniformSetting> parse_uniform(const std::string& name) {
  constexpr int kMost = 4096;
  UniformSetting setting;
  char rest = 0;
  const int read = std::sscanf(name.c_str(), "uniform:%4d,%4d%c", &setting.inter,  // NOLINT
                               &setting.intra, &rest);
  const bool good = read == 2 && setting.inter >= 1 && setting.intra >= 1 &&
                    setting.inter <= kMost && setting.intra <= kMost;
  return good ? std::optional(setting) : std::nullopt;
}

base::Error unknown(const std::string& name) {
  std::string known;
  for (const std::string& one : strategy_names()) known += (known.empty() ? "" : ", ") + one;
  return {base::ErrorKind::kNotFound,
          "there is no strategy \"" + name + "\"; known: " + known + ", uniform:INTER,INTRA"};
}

}  // namespace

std::vector<std::string> strategy_names() {
  std::vector<std::string> names = fixed_strategy_names();
  names.insert(names.begin() + 1, "manual");
  names.emplace_back("auto");
  return names;
}

base::Result<StepStudy> study_step(const StepOutline& outline, const StepConditions& conditions,
                                   const std::string& strategy) {
  const std::optional<UniformSetting> uniform = parse_uniform(strategy);
  bool exists = uniform.has_value();
  for (const std::string& name : strategy_names()) exists = exists || name == strategy;
  if (!exists) return unknown(strategy);

  StepStudy study;
  study.strategy = strategy;
  auto manual = find_manual_optimum(outline, conditions);
  if (!manual.ok()) return manual.error();
  study.manual = manual.value();

  UniformStrategy recommendation(outline, recommended_setting(*outline.map));
  auto baseline = simulate_steps(outline, conditions, kWarmUpSteps, &recommendation);
  if (!baseline.ok()) return baseline.error();
  study.recommendation_seconds = baseline.value().seconds;

  std::unique_ptr<StepStrategy> chosen;
  if (strategy == "auto") {
    auto choice = choose_auto(outline, conditions, study.manual);
    if (!choice.ok()) return choice.error();
    chosen = std::move(choice.value().strategy);
    study.description =
        choice.value().name + " of " + std::to_string(choice.value().rehearsals) + " rehearsed: ";
  } else if (uniform.has_value()) {
    chosen = std::make_unique<UniformStrategy>(outline, *uniform);
  } else if (strategy == "manual") {
    chosen = std::make_unique<UniformStrategy>(outline, study.manual.setting);
  } else {
    chosen = make_fixed_strategy(strategy, outline);
  }
  auto step = simulate_steps(outline, conditions, kWarmUpSteps, chosen.get());
  if (!step.ok()) return step.error();
  study.step = std::move(step).value();
  study.description += chosen->description();
  return study;
}

}  // namespace optile::sched
