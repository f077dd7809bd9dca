#include "tuner/session/plan_in_force.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/tuner/cases.h"

namespace optile::tuner {
namespace {

StepModel step_of(const std::vector<perfmodel::OpPlace>& sequence) {
  return StepModel({{sequence.front(), static_cast<int>(sequence.size())}, sequence});
}

Candidate narrow(int width, std::size_t sites) {
  Candidate candidate;
  candidate.kind = Candidate::Kind::kUniform;
  candidate.plan.widths.assign(sites, width);
  candidate.plan.rules.assign(sites, Rule::kUniform);
  candidate.uniform_width = width;
  return candidate;
}

StoredPlan stored_for(const StepModel& step, int default_width, int width) {
  StoredPlan plan;
  plan.step_fingerprint = step.fingerprint();
  plan.default_width = default_width;
  plan.marker = step.marker();
  for (const Site& site : step.sites()) plan.entries.push_back({site.place, width});
  return plan;
}

class PlanInForceTest : public ::testing::Test {
 protected:
  PlanInForceTest() : environment_(SessionOptions{}), plan_(environment_) {
    environment_.set_default_width(4, false);
  }

  ClientEnvironment environment_;
  PlanInForce plan_;
};

TEST_F(PlanInForceTest, LeaveEntryOfReplayIgnoresCandidateOfLongerStep) {
  const StepModel step = step_of({{1, 10}, {2, 20}});
  plan_.choose(narrow(2, 5));
  plan_.replay(stored_for(step, 4, 2));
  EXPECT_TRUE(plan_.verify_replay(step));
  EXPECT_TRUE(plan_.leave_entry({2, 0}, Rule::kRolledBack, &step));
  EXPECT_EQ(plan_.replayed()->entries[0].width, 2);
  EXPECT_EQ(plan_.replayed()->entries[1].width, 0);
  EXPECT_FALSE(plan_.leave_entry({3, 0}, Rule::kRolledBack, &step));
}

TEST_F(PlanInForceTest, VerifyRejectsPlanOfAnotherStepOrDefaultWidth) {
  const StepModel step = step_of({{1, 10}, {2, 20}});
  plan_.replay(stored_for(step_of({{1, 10}, {3, 30}}), 4, 2));
  EXPECT_FALSE(plan_.verify_replay(step));
  plan_.replay(stored_for(step, 8, 2));
  EXPECT_FALSE(plan_.verify_replay(step));
  environment_.set_default_width(4, true);
  EXPECT_TRUE(plan_.replay_is_clipped());
  EXPECT_TRUE(plan_.verify_replay(step));
}

// The smallest ops of an executor are told in one run and not in the next.
TEST_F(PlanInForceTest, VerifyOfUnorderedStepForgivesSmallOps) {
  const std::vector<perfmodel::OpPlace> told = {{1, 10}, {2, 20}, {3, 30}, {4, 40}};
  StoredPlan plan = stored_for(step_of(told), 4, 2);
  const double own_ns[] = {1e6, 1e6, 5e5, 1e5};
  for (std::size_t i = 0; i < told.size(); ++i) plan.entries[i].own_ns = own_ns[i];
  plan_.replay(plan);
  const StepModel without_smallest = step_of({told[0], told[1], told[2]});
  const StepModel without_largest = step_of({told[1], told[2], told[3]});
  const StepModel mostly_others = step_of({told[0], told[1], told[2], {5, 50}, {6, 60}});
  EXPECT_FALSE(plan_.verify_replay(without_smallest)) << "a program that has an order";
  perfmodel::OpDescription op;
  op.key = 1;
  op.unordered = true;
  environment_.add_op(op);
  EXPECT_TRUE(plan_.verify_replay(without_smallest));
  EXPECT_FALSE(plan_.verify_replay(without_largest));
  EXPECT_FALSE(plan_.verify_replay(mostly_others));
}

TEST_F(PlanInForceTest, ReplayInsteadKeepsPlanThatFits) {
  const StepModel step = step_of({{1, 10}, {2, 20}});
  plan_.replay(stored_for(step, 4, 2));
  EXPECT_EQ(plan_.replay_instead(stored_for(step, 8, 3), step), std::optional(false));
  EXPECT_EQ(plan_.replayed()->default_width, 4);
  EXPECT_EQ(plan_.replay_instead(stored_for(step, 4, 3), step), std::optional(true));
  EXPECT_EQ(plan_.common_width(), 3);
}

}  // namespace
}  // namespace optile::tuner
