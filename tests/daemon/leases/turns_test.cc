// What the daemon does with very many clients, little by little: the budgets' turns, the pauses
// between decisions, and who hears of whom.
#include <set>

#include "daemon/leases/budget_turns.h"
#include "daemon/leases/rebalance_rate_limiter.h"
#include "tests/daemon/fixtures/controller_fixture.h"

namespace optile::daemon {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

TEST(BudgetTurns, CoversEveryClientOncePerSecond) {
  for (const std::size_t clients : {0u, 1u, 16u, 17u, 100u, 1000u, 1280u}) {
    const std::size_t turns = std::max<std::size_t>(1, (clients + 15) / 16);
    const nanoseconds round = budget_turns_every(clients) * turns;
    EXPECT_LE(round, std::chrono::seconds(1)) << clients;
    EXPECT_GT(round, milliseconds(999)) << clients;
  }
  EXPECT_EQ(budget_turns_every(16), std::chrono::seconds(1));
  EXPECT_EQ(budget_turns_every(17), milliseconds(500));
}

TEST(RebalanceRateLimiter, PausesFourTimesAsLongAsDecisionTook) {
  RebalanceRateLimiter pace;
  nanoseconds now = milliseconds(10);
  EXPECT_EQ(pace.wait(now), nanoseconds(0));
  pace.decided(now, now + microseconds(50));
  EXPECT_EQ(pace.wait(now + microseconds(50)), microseconds(200));
  EXPECT_EQ(pace.wait(now + microseconds(250)), nanoseconds(0));
  pace.decided(now, now + milliseconds(10));
  EXPECT_EQ(pace.wait(now + milliseconds(10)), milliseconds(40));
  EXPECT_EQ(pace.wait(now + milliseconds(30)), milliseconds(20));
  pace.decided(now, now + milliseconds(400));
  EXPECT_EQ(pace.wait(now + milliseconds(400)), RebalanceRateLimiter::kLongestPause);
}

class BudgetRefreshTest : public ControllerTest {
 protected:
  static constexpr int kFirstPid = 1000;
  static constexpr int kMany = 40;
  static constexpr int kTurns = 3;

  void come(int count) {
    for (int i = 0; i < count; ++i) {
      AttachRequest who = attach_request("one-" + std::to_string(i));
      who.pid = kFirstPid + i;
      programs_.push_back(attach(who));
    }
  }
  // Whose budget was read, in their order.
  std::vector<int> turn() {
    budgets_read_.clear();
    controller_->lease_manager().refresh_budgets();
    return budgets_read_;
  }
  int cores(const Attached& attached) { return controller_->view(attached.id)->cores; }

  std::vector<Attached> programs_;
};

TEST_F(BudgetRefreshTest, FewBudgetsAreReadTogether) {
  come(16);
  for (int round = 0; round < 2; ++round) EXPECT_EQ(turn().size(), 17u) << "and the daemon's own";
}

// fault: F13
TEST_F(BudgetRefreshTest, ManyBudgetsAreReadInBatchesOncePerRound) {
  come(kMany);
  for (int round = 0; round < 2; ++round) {
    std::vector<int> read;
    for (int i = 0; i < kTurns; ++i) {
      const std::vector<int> some = turn();
      EXPECT_LE(some.size(), kBudgetsATurn + 1);
      read.insert(read.end(), some.begin(), some.end());
    }
    EXPECT_EQ(read.size(), kMany + 1u);
    EXPECT_EQ(std::set<int>(read.begin(), read.end()).size(), kMany + 1u);
  }
}

TEST_F(BudgetRefreshTest, SkipsDepartedAndAppendsNewClients) {
  come(kMany);
  turn();
  // Those who were read, those who are next, the last one of all; and a newcomer.
  for (const std::size_t gone : {0u, 15u, 16u, 17u, kMany - 1u})
    controller_->depart(programs_[gone].id);
  AttachRequest late = attach_request("late");
  late.pid = 7;
  programs_.push_back(attach(late));
  std::vector<int> read = turn();
  for (const int pid : turn()) read.push_back(pid);
  EXPECT_EQ(read.size(), 22u);
  EXPECT_EQ(read.front(), kFirstPid + 18);
  EXPECT_EQ(read.back(), 7);
  EXPECT_EQ(turn().front(), 0) << "a new round";
  // Everybody: the round ends all the same.
  for (const Attached& one : programs_) controller_->depart(one.id);
  EXPECT_TRUE(turn().empty());
  EXPECT_EQ(turn(), std::vector<int>{0});
}

TEST_F(BudgetRefreshTest, SmallerBudgetReachesAllClientsWithinRound) {
  come(kMany);
  for (Attached& one : programs_) one.program->run_step();
  controller_->drain();
  budget_.units = {0, 1};
  budget_.cores = 2;
  turn();
  EXPECT_EQ(cores(programs_.front()), 2);
  EXPECT_EQ(cores(programs_.back()), 4);
  for (int i = 1; i < kTurns; ++i) turn();
  for (const Attached& one : programs_) EXPECT_EQ(cores(one), 2);
}

TEST_F(BudgetRefreshTest, LeasesFollowMachineBudgetOncePerRound) {
  leases_ = true;
  make_controller();
  come(kMany);
  budget_.units = {0, 1};
  budget_.cores = 2;
  for (int i = 0; i < kTurns - 1; ++i) turn();
  EXPECT_EQ(controller_->lease_manager().leases()->table().resources().budget.cores, 4);
  turn();
  EXPECT_EQ(controller_->lease_manager().leases()->table().resources().budget.cores, 2);
}

TEST_F(BudgetRefreshTest, MasksAreSetAgainAtRefresh) {
  leases_ = true;
  make_controller();
  come(2);
  for (Attached& one : programs_) run(one, 3);
  ASSERT_EQ(masks_.size(), 2u);
  const std::map<uint64_t, std::vector<int>> before = masks_;
  masks_.clear();
  turn();
  EXPECT_EQ(masks_, before) << "threads that appeared since";
}

// However many come or go before it is read again, it looks once whether its plan still holds.
TEST_F(BudgetRefreshTest, ArrivalsAndDeparturesTriggerControlSteps) {
  Attached there = attach(attach_request("there"));
  ASSERT_TRUE(run_until_tuned(there, 3000));
  run(there, 40);
  const auto controls = [&] { return controller_->view(there.id)->session->guard.controls; };
  const uint32_t before = controls();
  run(there, 6);
  ASSERT_EQ(controls(), before) << "nobody came";
  come(3);
  run(there, 6);
  EXPECT_EQ(controls(), before + 2);
  run(there, 120);  // what comes and goes all the time is heard once in a while
  const uint32_t after = controls();
  for (const Attached& one : programs_) controller_->depart(one.id);
  run(there, 6);
  EXPECT_EQ(controls(), after + 2);
}

}  // namespace
}  // namespace optile::daemon
