#include "sched/cores/binding_order.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "tests/sched/simulation/machines.h"

namespace optile::sched {
namespace {

using machines::machine;
using machines::whole;
using perfmodel::Binding;
using perfmodel::Budget;
using perfmodel::Machine;

TEST(BindingOrder, CompactFillsTilesAndSpreadAlternatesThem) {
  const Machine m = machine("pack:1 l2:2 core:2 pu:1");
  EXPECT_EQ(binding_order(m, whole(m), Binding::kCompact), (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(binding_order(m, whole(m), Binding::kSpread), (std::vector<int>{0, 2, 1, 3}));
}

TEST(BindingOrder, PlacesSecondHardwareThreadsLast) {
  const Machine m = machine("pack:1 l2:2 core:2 pu:2");
  EXPECT_EQ(binding_order(m, whole(m), Binding::kCompact),
            (std::vector<int>{0, 2, 4, 6, 1, 3, 5, 7}));
}

TEST(BindingOrder, ListsEachPuOfBudgetOnce) {
  const Machine m = machine("pack:1 l2:34 core:2 pu:4");
  Budget budget = whole(m);
  budget.units = {4, 5, 8, 9, 100};
  const std::set<int> allowed(budget.units.begin(), budget.units.end());
  for (Binding binding : {Binding::kCompact, Binding::kSpread}) {
    const std::vector<int> order = binding_order(m, budget, binding);
    EXPECT_EQ(std::set<int>(order.begin(), order.end()), allowed);
    EXPECT_EQ(order.size(), allowed.size());
  }
}

TEST(AdmittedWidths, MatchPaperOnKnightsLanding) {
  const Machine m = machine("pack:1 l2:34 core:2 pu:4");
  const std::vector<int> spread = admitted_widths(m, whole(m), Binding::kSpread);
  const std::vector<int> compact = admitted_widths(m, whole(m), Binding::kCompact);
  EXPECT_EQ(spread.size(), 34u);
  EXPECT_EQ(spread.back(), 34);
  EXPECT_EQ(compact.size(), 34u);
  EXPECT_EQ(compact.front(), 2);
  EXPECT_EQ(compact.back(), 68);
  EXPECT_TRUE(admitted_widths(m, whole(m), Binding::kNone).empty());
}

TEST(AdmittedWidths, AreOnlyUnboundOnSingleTile) {
  const Machine m = machine("pack:1 l3:1 core:4 pu:1");
  EXPECT_TRUE(admitted_widths(m, whole(m), Binding::kSpread).empty());
  EXPECT_TRUE(admitted_widths(m, whole(m), Binding::kCompact).empty());
  EXPECT_EQ(admitted_widths(m, whole(m), Binding::kNone), (std::vector<int>{1, 2, 3, 4}));
}

TEST(AdmittedWidths, WidestEqualsQuota) {
  const Machine m = machine("pack:1 l3:1 core:8 pu:1");
  Budget budget = whole(m);
  budget.cores = 3;
  EXPECT_EQ(admitted_widths(m, budget, Binding::kNone).back(), 3);
}

}  // namespace
}  // namespace optile::sched
