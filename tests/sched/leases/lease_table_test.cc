#include <gtest/gtest.h>

#include <algorithm>

#include "tests/sched/leases/lease_table_fixture.h"

namespace optile::sched {
namespace {

TEST_F(LeaseTableTest, FirstClientGetsAllCores) {
  arrive(1);
  const auto sent = decide();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].lease.cores, (Cores{0, 1, 2, 3}));
  EXPECT_EQ(sent[0].reason, "client 1 from no core to 4 cores: client 1 arrived");
}

TEST_F(LeaseTableTest, GrantsCoresOnlyAfterHolderConfirms) {
  arrive(1, kConcave);
  settle();
  arrive(2, kConcave);
  const auto first = decide();
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(first[0].id, 1u);
  EXPECT_EQ(first[0].lease.cores, (Cores{0, 1}));
  EXPECT_TRUE(decide().empty());
  EXPECT_TRUE(cores(2).empty());
  confirm(first[0]);
  const auto second = decide();
  ASSERT_EQ(second.size(), 1u);
  EXPECT_EQ(second[0].id, 2u);
  EXPECT_EQ(second[0].lease.cores, (Cores{2, 3}));
  EXPECT_NEAR(second[0].gain, 0.7, 1e-9);
  EXPECT_NE(second[0].reason.find("predicted progress +0.70"), std::string::npos);
}

// Others that are planned meanwhile find none of what it may still be using.
TEST_F(LeaseTableTest, GrantsCoresPausedClientConfirmedReleasing) {
  arrive(1);
  settle();
  ASSERT_TRUE(table_->apply(commands::pause(1)).ok());
  const perfmodel::Budget whole = table_->resources().budget;
  perfmodel::Budget one_core = whole;
  one_core.cores = 1;
  one_core.units = {whole.units.front()};
  table_->set_budget(one_core);
  const auto sent = decide();
  ASSERT_EQ(sent.size(), 1u);
  ASSERT_EQ(sent[0].lease.cores, (Cores{0}));
  arrive(2);
  table_->set_budget(whole);
  EXPECT_TRUE(decide().empty());
  confirm(sent[0]);
  settle();
  EXPECT_EQ(cores(1), (Cores{0}));
  EXPECT_EQ(cores(2), (Cores{1, 2, 3}));
}

// Of those that are bound to the same cores, too.
TEST_F(LeaseTableTest, AwayClientHasNoShareOfItsBoundCores) {
  for (ClientId id = 1; id <= 2; ++id) {
    arrive(id, kConcave);
    ASSERT_TRUE(table_->update(id, {.bound = Cores{0, 1}}).ok());
  }
  settle();
  ASSERT_EQ(cores(1).size(), 1u);
  set_activity(2, Activity::kWaits);
  set_activity(2, Activity::kAway);
  settle();
  EXPECT_EQ(cores(1).size(), 2u);
}

TEST_F(LeaseTableTest, LeaveFreesCoresAtOnce) {
  arrive_both();
  ASSERT_TRUE(table_->leave(1).ok());
  const auto sent = decide();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].lease.cores.size(), 4u);
  EXPECT_FALSE(table_->leave(1).ok());
}

TEST_F(LeaseTableTest, ConstantDemandsCauseNoChangesInThousandTicks) {
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE(seed);
    curves::Random random(seed);
    use(seed % 2 == 0 ? machines::kPairs : machines::kChiplets);
    const int clients = curves::integer(random, 1, 100);
    for (int i = 1; i <= clients; ++i) arrive(static_cast<ClientId>(i), curves::any(random, 64));
    for (int i = 1; i <= clients; i += 7)
      table_->update(static_cast<ClientId>(i), {.activity = Activity::kWaits}).ok();
    settle();
    const uint64_t changes = table_->summary().counters.changes;
    for (int tick = 0; tick < 1000; ++tick) {
      for (int i = 1; tick % 50 == 0 && i <= clients; ++i) {
        ASSERT_TRUE(table_->apply(commands::share(static_cast<ClientId>(i), 1.0))
                        .ok());  // forces a new plan
      }
      ASSERT_TRUE(decide().empty());
    }
    EXPECT_EQ(table_->summary().counters.changes, changes);
    EXPECT_GE(table_->summary().counters.plans_kept, 20u);
  }
}

TEST_F(LeaseTableTest, WaitingClientLendsCoresAndReclaimsSameOnWake) {
  arrive_both();
  const Cores before = cores(2);
  const Cores others = cores(1);
  set_activity(2, Activity::kWaits);
  settle();
  EXPECT_EQ(cores(1).size(), 4u);
  EXPECT_EQ(view(1).borrowed, 2);
  EXPECT_EQ(table_->summary().lent_cores, 2);
  EXPECT_EQ(table_->summary().cause, "client 2 waits");
  EXPECT_EQ(view(2).claim, 2);
  EXPECT_EQ(view(2).lends, before);
  set_activity(2, Activity::kWorks);
  const auto sent = decide();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].lease.cores, others);
  confirm(sent[0]);
  EXPECT_EQ(settle(), 1);
  EXPECT_EQ(cores(2), before);
  EXPECT_EQ(table_->summary().lent_cores, 0);
  EXPECT_TRUE(view(2).lends.empty());
}

TEST_F(LeaseTableTest, WokenClientLosesPreferenceForLentCores) {
  arrive_both();
  set_activity(2, Activity::kWaits);
  settle();
  set_activity(2, Activity::kWorks);
  settle();
  ASSERT_EQ(cores(2), (Cores{2, 3}));
  ASSERT_TRUE(table_->apply(commands::pin(1, {2, 3})).ok());
  settle();
  ASSERT_EQ(cores(2), (Cores{0, 1}));
  ASSERT_TRUE(table_->apply(commands::unpin(1)).ok());
  EXPECT_EQ(settle(), 0);
  EXPECT_EQ(cores(2), (Cores{0, 1}));
}

TEST_F(LeaseTableTest, MoreClientsThanCoresGetTimeShares) {
  for (ClientId id = 1; id <= 8; ++id) arrive(id, kLinear);
  settle();
  double sum = 0;
  for (const LeaseView& one : table_->view()) {
    EXPECT_EQ(one.granted.cores.size(), 1u);
    EXPECT_DOUBLE_EQ(one.granted.fraction, 0.5);
    sum += one.granted.fraction;
  }
  EXPECT_DOUBLE_EQ(sum, 4.0);
  for (ClientId id = 5; id <= 8; ++id) ASSERT_TRUE(table_->leave(id).ok());
  settle();
  for (const LeaseView& one : table_->view()) EXPECT_DOUBLE_EQ(one.granted.fraction, 1.0);
  EXPECT_DOUBLE_EQ(table_->summary().held_cores, 4.0);
}

TEST_F(LeaseTableTest, UnresponsiveClientKeepsCoresUntilItLeaves) {
  arrive(1, kConcave);
  settle();
  arrive(2, kConcave);
  ASSERT_EQ(decide().size(), 1u);
  tick_ += 100;
  EXPECT_TRUE(decide().empty());
  EXPECT_TRUE(view(1).late);
  EXPECT_EQ(table_->ownership().held(1).size(), 4u);
  EXPECT_TRUE(cores(2).empty());
  EXPECT_EQ(table_->summary().counters.late, 1u);
  ASSERT_TRUE(table_->leave(1).ok());
  settle();
  EXPECT_EQ(cores(2).size(), 4u);
}

TEST_F(LeaseTableTest, LateClientIsPlannedAgainAfterConfirming) {
  arrive(1, kConcave);
  settle();
  arrive(2, kConcave);
  const auto sent = decide();
  tick_ += 100;
  decide();
  ASSERT_TRUE(view(1).late);
  confirm(sent[0]);
  settle();
  EXPECT_FALSE(view(1).late);
  EXPECT_EQ(cores(1).size(), 2u);
  EXPECT_EQ(cores(2).size(), 2u);
}

TEST_F(LeaseTableTest, LateClientLosesCoresNotYetGranted) {
  use("pack:1 l3:1 core:8 pu:1");
  const std::vector<double> linear = {0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 1.0};
  for (ClientId id = 1; id <= 3; ++id) arrive(id, linear);
  settle();
  ASSERT_TRUE(table_->apply(commands::share(1, 10)).ok());
  const auto shrinking = decide();
  ASSERT_EQ(shrinking.size(), 2u);
  confirm(shrinking[0]);
  ASSERT_EQ(decide().size(), 1u);  // client 1 grows by a part of what it is promised
  EXPECT_LT(view(1).granted.cores.size(), view(1).target.cores.size());
  tick_ += 100;
  decide();
  EXPECT_TRUE(view(1).late);
  EXPECT_EQ(view(1).target, view(1).granted);
}

TEST_F(LeaseTableTest, PinnedClientHoldsExactlyItsCoresUntilUnpinned) {
  arrive_both();
  ASSERT_EQ(cores(1), (Cores{0, 1}));
  ASSERT_TRUE(table_->apply(commands::pin(1, {3})).ok());
  settle();
  EXPECT_EQ(cores(1), (Cores{3}));
  EXPECT_EQ(cores(2), (Cores{0, 1, 2}));
  EXPECT_TRUE(view(1).pinned);
  EXPECT_NE(view(1).reason.find("the user pinned client 1"), std::string::npos);
  set_activity(1, Activity::kWaits);  // a pinned core is not lent
  settle();
  EXPECT_EQ(cores(2), (Cores{0, 1, 2}));
  set_activity(1, Activity::kWorks);
  ASSERT_TRUE(table_->apply(commands::unpin(1)).ok());
  settle();
  EXPECT_EQ(cores(1).size(), 2u);
}

TEST_F(LeaseTableTest, RejectsInvalidPins) {
  arrive(1);
  arrive(2);
  EXPECT_FALSE(table_->apply(commands::pin(1, {})).ok());
  EXPECT_FALSE(table_->apply(commands::pin(1, {4})).ok());
  EXPECT_FALSE(table_->apply(commands::pin(1, {0, 1, 2, 3})).ok());
  EXPECT_TRUE(table_->apply(commands::pin(1, {0, 1})).ok());
  EXPECT_FALSE(table_->apply(commands::pin(2, {1, 2})).ok());
  EXPECT_TRUE(table_->apply(commands::pin(2, {2, 3})).ok());
  EXPECT_FALSE(table_->apply(commands::pin(9, {2})).ok());
}

TEST_F(LeaseTableTest, RestoredPinMayTakeAllCores) {
  arrive(1);
  arrive(2);
  const Cores all = {0, 1, 2, 3};
  ASSERT_FALSE(table_->apply(commands::pin(1, all)).ok());
  ASSERT_TRUE(table_->apply(commands::pin(1, all, true)).ok());
  settle();
  EXPECT_EQ(cores(1), all);
  EXPECT_FALSE(table_->apply(commands::pin(2, {3}, true)).ok()) << "one core, two pins";
  ASSERT_TRUE(table_->apply(commands::unpin(1)).ok());
  perfmodel::Budget budget = table_->resources().budget;
  budget.cores = 1;
  table_->set_budget(budget);
  EXPECT_TRUE(table_->apply(commands::pin(1, {0, 1}, true)).ok()) << "a quota has shrunk since";
}

TEST_F(LeaseTableTest, PinSwapsTwoSingleCoreLeases) {
  use("pack:1 l3:1 core:2 pu:1");
  arrive(1, {1.0});
  arrive(2, {1.0});
  settle();
  ASSERT_EQ(cores(1), (Cores{0}));
  ASSERT_TRUE(table_->apply(commands::pin(1, {1})).ok());
  settle();
  EXPECT_EQ(cores(1), (Cores{1}));
  EXPECT_EQ(cores(2), (Cores{0}));
  EXPECT_EQ(table_->summary().counters.emptied, 1u);
}

TEST_F(LeaseTableTest, PausedClientKeepsItsLease) {
  arrive_both();
  const Cores before = cores(1);
  ASSERT_TRUE(table_->apply(commands::pause(1)).ok());
  ASSERT_TRUE(table_->update(1, {.curve = LeaseUpdate::Curve{{1.0}, 1, kNoLimit}}).ok());
  ASSERT_TRUE(table_->apply(commands::share(2, 50)).ok());
  EXPECT_EQ(settle(), 0);
  EXPECT_EQ(cores(1), before);
  ASSERT_TRUE(table_->apply(commands::resume(1)).ok());
  settle();
  EXPECT_EQ(cores(1).size(), 1u);
  EXPECT_EQ(cores(2).size(), 3u);
}

TEST_F(LeaseTableTest, RestoredPauseKeepsStoredLease) {
  arrive(1, kConcave);
  ASSERT_TRUE(table_->apply(commands::pause(1, {{1, 2}})).ok());
  settle();
  EXPECT_EQ(cores(1), (Cores{1, 2})) << "though it is alone";
  arrive(2, kConcave);
  settle();
  EXPECT_EQ(cores(1), (Cores{1, 2}));
  EXPECT_EQ(cores(2), (Cores{0, 3}));
  ASSERT_TRUE(table_->apply(commands::pause(2, {{3}})).ok());
  settle();
  EXPECT_EQ(cores(2), (Cores{3})) << "also where it has another one meanwhile";
}

TEST_F(LeaseTableTest, RestoredPauseSkipsPinnedAndPausedCores) {
  arrive(1);
  arrive(2);
  arrive(3);
  ASSERT_TRUE(table_->apply(commands::pin(1, {0})).ok());
  ASSERT_TRUE(table_->apply(commands::pause(2, {{1}})).ok());
  ASSERT_TRUE(table_->apply(commands::pause(3, {{0, 1, 2, 700, -1}})).ok());
  settle();
  EXPECT_EQ(cores(1), (Cores{0}));
  EXPECT_EQ(cores(2), (Cores{1}));
  EXPECT_EQ(cores(3), (Cores{2}));
}

TEST_F(LeaseTableTest, RestoredPauseKeepsTimeShare) {
  for (ClientId id = 1; id <= 2; ++id) {
    arrive(id);
    ASSERT_TRUE(table_->apply(commands::pause(id, {{2}, 0.5})).ok());
  }
  arrive(3);
  settle();
  for (ClientId id = 1; id <= 2; ++id) {
    EXPECT_EQ(cores(id), (Cores{2}));
    EXPECT_DOUBLE_EQ(view(id).granted.fraction, 0.5);
  }
  EXPECT_EQ(cores(3), (Cores{0, 1, 3}));
}

TEST_F(LeaseTableTest, PinTakesCoresFromPausedClient) {
  arrive(1, kLinear);
  arrive(2, kLinear);
  arrive(3, kLinear);
  ASSERT_TRUE(table_->apply(commands::pause(2, {{0, 1, 2}})).ok());
  settle();
  ASSERT_EQ(cores(2), (Cores{0, 1, 2}));
  ASSERT_TRUE(table_->apply(commands::pin(1, {0, 1, 2})).ok());
  settle();
  EXPECT_EQ(cores(1), (Cores{0, 1, 2}));
}

TEST_F(LeaseTableTest, ExternalLoadLeavesPinsAndPausesUntouched) {
  arrive(1, kLinear);
  arrive(2, kLinear);
  arrive(3, kLinear);
  ASSERT_TRUE(table_->apply(commands::pin(1, {0, 1})).ok());
  settle();
  ASSERT_TRUE(table_->apply(commands::pause(2)).ok());
  settle();
  const Cores paused = cores(2);
  const Cores rest = cores(3);
  perfmodel::Budget budget = table_->resources().budget;
  budget.cores = 1;
  table_->set_budget(budget, 3);
  settle();
  EXPECT_EQ(cores(1), (Cores{0, 1}));
  EXPECT_EQ(cores(2), paused);
  EXPECT_EQ(cores(3), rest) << "one is left at least";
  // A word while the load lasts.
  ASSERT_TRUE(table_->apply(commands::unpin(1)).ok());
  ASSERT_TRUE(table_->apply(commands::resume(2)).ok());
  ASSERT_TRUE(table_->apply(commands::pin(3, {1, 2, 3})).ok());
  settle();
  EXPECT_EQ(cores(3), (Cores{1, 2, 3}));
}

TEST_F(LeaseTableTest, PinIsLimitedByQuotaButNotByExternalLoad) {
  arrive(1);
  perfmodel::Budget budget = table_->resources().budget;
  budget.cores = 1;
  table_->set_budget(budget, 3);
  EXPECT_TRUE(table_->apply(commands::pin(1, {0, 1, 2, 3})).ok());
  table_->set_budget(budget);  // a quota: the kernel grants no more
  EXPECT_NE(table_->apply(commands::pin(1, {0, 1})).message().find("grants 1 core at a time"),
            std::string::npos);
}

TEST_F(LeaseTableTest, DetachedClientReturnsCoresAndIsRemoved) {
  arrive_both();
  ASSERT_TRUE(table_->apply(commands::detach(1)).ok());
  EXPECT_FALSE(table_->apply(commands::share(1, 2)).ok());
  const auto sent = decide();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_TRUE(sent[0].last);
  EXPECT_TRUE(sent[0].lease.empty());
  confirm(sent[0]);
  settle();
  EXPECT_EQ(table_->view().size(), 1u);
  EXPECT_EQ(cores(2).size(), 4u);
}

TEST_F(LeaseTableTest, ShareMovesCoresAndRejectsInvalidValues) {
  arrive(1, kLinear);
  arrive(2, kLinear);
  settle();
  ASSERT_TRUE(table_->apply(commands::share(1, 3.0)).ok());
  settle();
  EXPECT_EQ(cores(1).size(), 3u);
  EXPECT_NE(view(1).reason.find("the user set the share of client 1 to 3"), std::string::npos);
  EXPECT_FALSE(table_->apply(commands::share(1, -1)).ok());
  EXPECT_FALSE(table_->apply(commands::share(1, 1e9)).ok());
}

TEST_F(LeaseTableTest, BudgetChangesShrinkAndGrowLeases) {
  arrive(1, kLinear);
  arrive(2, kLinear);
  settle();
  perfmodel::Budget budget = table_->resources().budget;
  const perfmodel::Budget all = budget;
  budget.units = {1, 2};
  budget.cores = 2;
  table_->set_budget(budget);
  settle();
  EXPECT_EQ(cores(1), (Cores{1}));
  EXPECT_EQ(cores(2), (Cores{2}));
  budget.cores = 1;  // a quota
  table_->set_budget(budget);
  settle();
  EXPECT_DOUBLE_EQ(table_->summary().held_cores, 1.0);
  table_->set_budget(all);
  settle();
  EXPECT_DOUBLE_EQ(table_->summary().held_cores, 4.0);
}

TEST_F(LeaseTableTest, InvalidCallsFailWithoutEffect) {
  arrive(1, kLinear);
  EXPECT_FALSE(table_->arrive(1, 1.0, Priority::kNormal).ok());
  EXPECT_FALSE(table_->arrive(2, 0.0, Priority::kNormal).ok());
  EXPECT_FALSE(table_->confirm(1, 77).ok());
  EXPECT_FALSE(table_->confirm(2, 1).ok());
  EXPECT_FALSE(table_->update(2, {.activity = Activity::kWaits}).ok());
  EXPECT_FALSE(table_->update(2, {.activity = Activity::kWorks}).ok());
  settle();
  EXPECT_EQ(cores(1).size(), 4u);
}

// ---- bound by whoever started them --------------------------------------------------------------

TEST_F(LeaseTableTest, BoundClientsGetTheirCoresAndOthersMakeRoom) {
  arrive(1, kLinear);
  settle();
  arrive(2, kLinear);
  ASSERT_TRUE(table_->update(2, {.bound = Cores{0, 1}}).ok());
  arrive(3, kLinear);
  ASSERT_TRUE(table_->update(3, {.bound = Cores{0, 1}}).ok());
  settle();
  EXPECT_EQ(cores(1), (Cores{2, 3})) << "it can go anywhere, so it makes room";
  Cores both = cores(2);
  for (int core : cores(3)) both.push_back(core);
  std::sort(both.begin(), both.end());
  EXPECT_EQ(both, (Cores{0, 1})) << "evenly";
  EXPECT_TRUE(view(2).bound);
  EXPECT_FALSE(view(1).bound);
}

TEST_F(LeaseTableTest, RejectsPinOutsideBoundCores) {
  arrive(1, kLinear);
  arrive(2, kLinear);
  ASSERT_TRUE(table_->update(1, {.bound = Cores{1, 2}}).ok());
  EXPECT_EQ(table_->apply(commands::pin(1, {2, 3})).error().kind, base::ErrorKind::kInvalid);
  EXPECT_TRUE(table_->apply(commands::pin(1, {2})).ok());
  settle();
  EXPECT_EQ(cores(1), Cores{2});
}

TEST_F(LeaseTableTest, BoundRanksStayOnTheirCores) {
  for (ClientId id = 1; id <= 4; ++id) {
    arrive(id, kConcave);
    ASSERT_TRUE(table_->update(id, {.bound = Cores{static_cast<int>(4 - id)}}).ok());
  }
  settle();
  for (ClientId id = 1; id <= 4; ++id) EXPECT_EQ(cores(id), Cores{static_cast<int>(4 - id)});
}

TEST_F(LeaseTableTest, ClientsBoundToOneCoreGetEqualTimeShares) {
  for (ClientId id = 1; id <= 6; ++id) {
    arrive(id);
    if (id <= 3) {
      ASSERT_TRUE(table_->update(id, {.bound = Cores{3}}).ok());
    }
  }
  settle();
  for (ClientId id = 1; id <= 3; ++id) {
    EXPECT_EQ(cores(id), Cores{3});
    EXPECT_NEAR(view(id).granted.fraction, 1.0 / 3, 1e-9);
  }
}

TEST_F(LeaseTableTest, BoundClientHasNoLeaseWhenItsCoresArePinned) {
  arrive(1, kLinear);
  arrive(2, kLinear);
  ASSERT_TRUE(table_->apply(commands::pin(1, {0})).ok());
  ASSERT_TRUE(table_->update(2, {.bound = Cores{0}}).ok());
  settle();
  EXPECT_EQ(cores(1), Cores{0});
  EXPECT_TRUE(cores(2).empty());
}

TEST_F(LeaseTableTest, SetWeightIsNotReportedAsUserCommand) {
  arrive(1, kLinear);
  arrive(2, kLinear);
  settle();
  ASSERT_TRUE(table_->update(1, {.weight = 0.001}).ok());
  EXPECT_EQ(view(1).weight, 0.001);
  EXPECT_EQ(table_->update(1, {.weight = 0}).error().kind, base::ErrorKind::kInvalid);
  EXPECT_EQ(table_->update(9, {.weight = 1}).error().kind, base::ErrorKind::kNotFound);
  EXPECT_EQ(table_->update(9, {.bound = Cores{}}).error().kind, base::ErrorKind::kNotFound);
  settle();
  EXPECT_EQ(view(1).reason.find("the user"), std::string::npos) << view(1).reason;
}

// As many cores for everybody.
class EvenPolicy final : public AllocationPolicy {
 public:
  Allocation allocate(const AllocationProblem& problem) const override {
    Allocation even;
    const int clients = static_cast<int>(problem.demands.size());
    for (const LeaseDemand& one : problem.demands) {
      even.shares.push_back({one.id, problem.cores / clients, problem.cores / clients, 1.0});
    }
    return even;
  }
  double turn_weight(const LeaseDemand& /*demand*/) const override { return 1; }
};

TEST_F(LeaseTableTest, AllocationPolicyIsExchangeable) {
  LeaseSettings settings;
  settings.policy = std::make_shared<EvenPolicy>();
  use(machines::kOneTile, settings);
  arrive(1, kLinear);
  arrive(2, {1.0});  // gains nothing from more
  settle();
  EXPECT_EQ(cores(1).size(), 2u);
  EXPECT_EQ(cores(2).size(), 2u);
}

}  // namespace
}  // namespace optile::sched
