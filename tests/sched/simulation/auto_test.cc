// `auto` on the networks and machines that the project has by name, against what it has to beat.
// Every machine has DCGAN and LSTM here; ResNet-50 and Inception-v3 take seconds on wide machines
// and are here on the two narrow ones only. Sanitized builds take one of them all.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "perfmodel/machine/built_in_machines.h"
#include "perfmodel/networks/networks.h"
#include "sched/simulation/step_study.h"
#include "sched/strategies/strategies.h"
#include "tests/sanitized.h"

namespace optile::sched {
namespace {

// Of equal schedules: what adding up in another order makes of a sum.
constexpr double kRounding = 1e-9;

std::vector<std::string> networks_for(const std::string& machine) {
  if (test::kSanitized) return {"dcgan"};
  if (machine == "knl" || machine == "hybrid") return perfmodel::network_names();
  return {"dcgan", "lstm"};
}

class AutoOnMachine : public testing::TestWithParam<std::string> {};

TEST_P(AutoOnMachine, IsNotSlowerThanRecommendationManualAndPaper) {
  const std::string& name = GetParam();
  if (test::kSanitized && name != "hybrid") GTEST_SKIP() << "takes minutes under a sanitizer";
  const auto machine = perfmodel::built_in_machine(name);
  ASSERT_TRUE(machine.has_value());
  const CoreMap map = make_core_map(*machine).value();
  const StepConditions conditions;
  double log_sum = 0;
  const std::vector<std::string> networks = networks_for(name);
  for (const std::string& network : networks) {
    SCOPED_TRACE(network);
    const auto graph = perfmodel::network_graph(network, *machine);
    ASSERT_TRUE(graph.ok()) << graph.message();
    const StepOutline outline = make_step_outline(graph.value(), map);
    const auto ours = study_step(outline, conditions, "auto");
    ASSERT_TRUE(ours.ok()) << ours.message();
    const auto paper = make_fixed_strategy("paper", outline);
    const auto theirs = simulate_steps(outline, conditions, kWarmUpSteps, paper.get());
    ASSERT_TRUE(theirs.ok()) << theirs.message();
    const double seconds = ours.value().step.seconds;
    EXPECT_GE(ours.value().recommendation_seconds / seconds, 1 - kRounding);
    EXPECT_GE(ours.value().manual.seconds / seconds, 1 - kRounding);
    EXPECT_GE(theirs.value().seconds / seconds, 1 - kRounding);
    log_sum += std::log(theirs.value().seconds / seconds);
  }
  // The goal of the paper's own machine: a tenth over the paper's strategies on average.
  if (name == "knl") {
    EXPECT_GE(std::exp(log_sum / static_cast<double>(networks.size())), 1.10);
  }
}

INSTANTIATE_TEST_SUITE_P(BuiltIn, AutoOnMachine,
                         testing::ValuesIn(perfmodel::built_in_machine_names()),
                         [](const auto& machine) {
                           std::string name = machine.param;
                           for (char& one : name) one = one == '-' ? '_' : one;
                           return name;
                         });

}  // namespace
}  // namespace optile::sched
