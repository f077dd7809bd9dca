// Leases on four described cores: what is confined to what, in which order, and when cores move.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/daemon/fixtures/leases_fixture.h"
#include "tests/sched/leases/lease_commands.h"

namespace optile::daemon {
namespace {

TEST_F(LeasesTest, SingleClientIsNotConfined) {
  arrive(1);
  decide(kStart);
  EXPECT_EQ(cores(1), 4);
  EXPECT_TRUE(masks_[1].empty());
}

TEST_F(LeasesTest, SecondClientGetsHalfAtOnceAndReturnsItOnLeave) {
  arrive(1);
  decide(kStart);
  arrive(2);
  decide(kStart);
  EXPECT_EQ(cores(1), 2);
  EXPECT_EQ(cores(2), 2);
  EXPECT_EQ(masks_[1].size(), 2u);
  EXPECT_EQ(masks_[2].size(), 2u);
  EXPECT_FALSE(granted_.at(2).reason.empty());
  masks_.erase(2);
  leases_.leave(2);
  decide(kStart);
  EXPECT_EQ(cores(1), 4);
  EXPECT_TRUE(masks_[1].empty());
}

TEST_F(LeasesTest, CoresGoToClientThatScales) {
  arrive_both();
  divide_by_curves();
  EXPECT_EQ(cores(1), 3);
  EXPECT_EQ(cores(2), 1);
}

TEST_F(LeasesTest, RemainingClientGetsAllCoresDespiteFlatCurve) {
  arrive_both();
  divide_by_curves();
  ASSERT_EQ(cores(2), 1);
  leases_.leave(1);
  masks_.erase(1);
  decide(kStart + seconds(2));
  EXPECT_EQ(cores(2), 4);
  EXPECT_TRUE(masks_[2].empty());
  // Its curve counts again once somebody else is there.
  arrive(3);
  scales(3);
  decide(kStart + seconds(3));
  EXPECT_EQ(cores(2), 1);
  EXPECT_EQ(cores(3), 3);
}

TEST_F(LeasesTest, SearchDelaysMovesForUpToOneMinute) {
  arrive_both();
  scales(1);
  stays_flat(2, false);
  decide(kStart + seconds(10));
  EXPECT_EQ(cores(1), 2);
  decide(kStart + seconds(61));
  EXPECT_EQ(cores(1), 3);
}

TEST_F(LeasesTest, IdleClientsSearchDelaysNothing) {
  arrive_both();
  scales(1, false);
  stays_flat(2);
  ASSERT_EQ(masks_[2].size(), 2u);
  lent_out_ = {1};
  leases_.set_activity(1, sched::Activity::kWaits);
  decide(kStart + milliseconds(20));
  scales(2);
  decide(kStart + seconds(3));
  EXPECT_EQ(masks_[2].size(), 4u) << "everything: what the other lends, too";
}

TEST_F(LeasesTest, ProgressIsPredictedUntilBothSidesAreMeasured) {
  arrive(1);
  decide(kStart);
  EXPECT_FALSE(progress_of(leases_.clients(), 1));
  EXPECT_FALSE(progress_of(leases_.clients(), 7));
  scales(1, true, 1.25);  // alone, with all four cores
  ASSERT_TRUE(progress_of(leases_.clients(), 1));
  EXPECT_DOUBLE_EQ(progress_of(leases_.clients(), 1)->value, 1);
  EXPECT_TRUE(progress_of(leases_.clients(), 1)->measured);
  arrive(2);
  decide(kStart);
  ASSERT_EQ(cores(1), 3);
  scales(1);
  EXPECT_NEAR(progress_of(leases_.clients(), 1)->value, 0.75, 1e-9) << "as promised, only slower";
  EXPECT_FALSE(progress_of(leases_.clients(), 1)->measured);
  scales(1, true, 2.5);
  EXPECT_DOUBLE_EQ(progress_of(leases_.clients(), 1)->value, 0.5);
  EXPECT_TRUE(progress_of(leases_.clients(), 1)->measured);
}

TEST_F(LeasesTest, MeasuredStepOverridesPredictedOne) {
  arrive_both();
  divide_by_curves();
  ASSERT_EQ(cores(1), 3);
  // With three cores it is no faster than with two after all, and the other one is.
  scales(1, true, 2.0);
  leases_.update(2, {.demand = ClientFacts::Demand{{1, 0.5, 0.5, 0.5}, 0, true}});
  decide(kStart + seconds(2));
  EXPECT_EQ(cores(1), 3) << "too soon after the latest";
  decide(kStart + seconds(3));
  EXPECT_EQ(cores(1), 2);
  EXPECT_EQ(cores(2), 2);
}

// Of two that come together one is known first.
TEST_F(LeasesTest, NewcomerWithUnknownDemandKeepsCoresForLimitedTime) {
  arrive_both();
  ASSERT_EQ(cores(2), 2);
  scales(1);
  leases_.update(1, {.steps_here = 2});
  decide(kStart + seconds(5));
  EXPECT_EQ(cores(2), 2) << "nothing says that it cannot use them";
  leases_.update(2, {.demand = ClientFacts::Demand{{}, 0, true}});  // it does not even search
  decide(kStart + seconds(11));
  EXPECT_EQ(cores(2), 1) << "but not for ever";
  EXPECT_EQ(cores(1), 3);
  arrive(3);
  decide(kStart + seconds(13));
  EXPECT_EQ(cores(3), 1) << "what it does not hold yet is not taken from others for it";
}

TEST_F(LeasesTest, StepChangeDropsMeasurements) {
  arrive(1);
  decide(kStart);
  leases_.update(1, {.step = ClientFacts::Step{1}});
  leases_.update(1, {.demand = ClientFacts::Demand{{2, 1, 1, 1}, 1.0, true}});
  arrive(2);
  decide(kStart);
  ASSERT_EQ(cores(1), 3);
  leases_.update(1, {.demand = ClientFacts::Demand{{2, 1, 1, 1}, 3.0, true}});
  EXPECT_NEAR(leases_.clients().at(1).state->curve.progress()[2], 1.0 / 3, 1e-9);
  leases_.update(1, {.step = ClientFacts::Step{1}});
  leases_.update(1, {.demand = ClientFacts::Demand{{2, 1, 1, 1}, 0, true}});
  EXPECT_NEAR(leases_.clients().at(1).state->curve.progress()[2], 1.0 / 3, 1e-9);
  leases_.update(1, {.step = ClientFacts::Step{2}});
  leases_.update(1, {.demand = ClientFacts::Demand{{2, 1, 1, 1}, 0, true}});
  EXPECT_NEAR(leases_.clients().at(1).state->curve.progress()[2], 1.0, 1e-9);
}

TEST_F(LeasesTest, UserCommandsApplyDuringSearch) {
  arrive_both();
  stays_flat(2, false);
  ASSERT_TRUE(leases_.apply(sched::commands::pin(1, {1, 2, 3})).ok());
  decide(kStart + seconds(1));
  EXPECT_EQ(masks_[1], (std::set<int>{1, 2, 3}));
  EXPECT_EQ(masks_[2], (std::set<int>{0}));
  ASSERT_TRUE(leases_.apply(sched::commands::unpin(1)).ok());
  ASSERT_TRUE(leases_.apply(sched::commands::share(2, 100)).ok());
  decide(kStart + seconds(2));
  EXPECT_FALSE(leases_.view()[0].pinned);
  EXPECT_EQ(leases_.view()[1].weight, 100);
}

TEST_F(LeasesTest, PausedLeaseKeepsItsCoresWhenOtherLeaves) {
  arrive_both();
  ASSERT_TRUE(leases_.apply(sched::commands::pause(1)).ok());
  leases_.leave(2);
  masks_.erase(2);
  decide(kStart);
  EXPECT_EQ(cores(1), 2);
  ASSERT_TRUE(leases_.apply(sched::commands::resume(1)).ok());
  decide(kStart);
  EXPECT_EQ(cores(1), 4);
}

TEST_F(LeasesTest, DetachLiftsMaskAndDropsClient) {
  arrive_both();
  ASSERT_FALSE(masks_[1].empty());
  ASSERT_TRUE(leases_.apply(sched::commands::detach(1)).ok());
  decide(kStart);
  EXPECT_TRUE(masks_[1].empty());
  EXPECT_TRUE(granted_.at(1).last);
  EXPECT_FALSE(leases_.clients().at(1).has_lease());
  EXPECT_EQ(cores(2), 4);
  EXPECT_EQ(leases_.apply(sched::commands::detach(1)).error().kind, base::ErrorKind::kNotFound);
}

TEST_F(LeasesTest, LeavesCoresToSteadyExternalLoad) {
  arrive(1);
  milliseconds now = kStart;
  second_with(0, now);
  second_with(0, now);
  EXPECT_EQ(cores(1), 4);
  second_with(2, now);
  EXPECT_EQ(cores(1), 4) << "a burst";
  for (int i = 0; i < 20; ++i) second_with(2, now);
  EXPECT_EQ(cores(1), 2);
  EXPECT_TRUE(masks_[1].empty()) << "the kernel finds where there is room";
  EXPECT_EQ(leases_.budget().left_to_others(), 2);
  for (int i = 0; i < 20; ++i) second_with(4, now);
  EXPECT_EQ(cores(1), 1) << "never none";
  for (int i = 0; i < 20; ++i) second_with(0, now);
  EXPECT_EQ(cores(1), 4);
}

TEST_F(LeasesTest, ExternalLoadIsKnownTwoSamplesAfterExpectedLaunch) {
  milliseconds now = kStart;
  load_.at_ticks = 7;
  load_.processes[101] = {5, 40};  // the launcher, which becomes the program
  leases_.budget().expect_launch(now, 101);
  for (auto& [unit, ticks] : load_.units) (unit < 2 ? ticks.busy : ticks.idle) += 100;
  load_.units[2].busy += 90;  // its own start
  load_.units[2].idle -= 90;
  load_.processes[101].busy_ticks += 90;
  arrive(1);
  now += seconds(1);
  leases_.set_budget(whole_budget(machine_), now);
  EXPECT_FALSE(leases_.budget().knows_load());
  EXPECT_EQ(leases_.budget().left_to_others(), 0) << "one figure may be its own start";
  second_with(2, now);
  EXPECT_TRUE(leases_.budget().knows_load());
  EXPECT_EQ(leases_.budget().left_to_others(), 2);
  EXPECT_EQ(cores(1), 2);
}

// What starts the workers never attaches.
TEST_F(LeasesTest, LauncherThatIsParentOfClientIsNotLoad) {
  milliseconds now = kStart;
  load_.at_ticks = 7;
  load_.processes[55] = {3, 40};
  leases_.budget().expect_launch(now, 55);
  load_.processes.erase(55);
  arrive(1);
  for (auto& [unit, ticks] : load_.units) (unit < 2 ? ticks.busy : ticks.idle) += 100;
  load_.processes[101] = {8, 100};
  load_.relatives[55] = {3, 140};
  now += seconds(1);
  leases_.set_budget(whole_budget(machine_), now);
  second_with(1, now);  // others' from here on: the first figure tells
  EXPECT_TRUE(leases_.budget().knows_load());
  EXPECT_EQ(leases_.budget().left_to_others(), 0);
}

TEST_F(LeasesTest, StartOfJobLeavesNoLoad) {
  milliseconds now = kStart;
  leases_.budget().expect_launch(now, 0);
  arrive(1);
  second_with(4, now);  // nobody had looked at what it started
  second_with(0, now);
  EXPECT_EQ(leases_.budget().left_to_others(), 0);
  EXPECT_EQ(cores(1), 4);
}

// Somebody is measured already, so that is known at once of who comes.
TEST_F(LeasesTest, MeasuredLoadAppliesToLaterClients) {
  milliseconds now = kStart;
  arrive(1);
  for (int i = 0; i < 20; ++i) second_with(2, now);
  arrive(2);
  EXPECT_TRUE(leases_.budget().knows_load());
  decide(now);
  EXPECT_EQ(leases_.budget().left_to_others(), 2);
  EXPECT_EQ(cores(1) + cores(2), 2);
}

TEST_F(LeasesTest, PinKeepsCoresUnderExternalLoad) {
  milliseconds now = kStart;
  arrive(1);
  decide(now);
  ASSERT_TRUE(leases_.apply(sched::commands::pin(1, {0, 1, 2, 3})).ok());
  for (int second = 0; second < 10; ++second) second_with(2, now);
  ASSERT_EQ(leases_.budget().left_to_others(), 2);
  EXPECT_EQ(cores(1), 4);
  ASSERT_TRUE(leases_.apply(sched::commands::unpin(1)).ok());
  second_with(2, now);
  EXPECT_EQ(cores(1), 2);
}

TEST_F(LeasesTest, LauncherThatNeverAttachesCountsAsLoad) {
  milliseconds now = kStart;
  load_.at_ticks = 7;
  load_.processes[55] = {3, 40};
  leases_.budget().expect_launch(now, 55);
  load_.processes.erase(55);  // only clients are asked for
  for (auto& [unit, ticks] : load_.units) (unit < 2 ? ticks.busy : ticks.idle) += 100;
  load_.processes[101] = {7, 100};  // started since, and started something
  arrive(1);
  now += seconds(1);
  leases_.set_budget(whole_budget(machine_), now);
  second_with(1, now);
  EXPECT_EQ(leases_.budget().left_to_others(), 1);
}

TEST_F(LeasesTest, ExpectedClientsAreNotLoad) {
  milliseconds now = kStart;
  leases_.budget().expect_launch(now, 0);
  arrive(1);
  const auto pass = [&](bool more_to_come) {
    for (auto& [unit, ticks] : load_.units) (unit < 1 ? ticks.busy : ticks.idle) += 100;
    now += seconds(1);
    leases_.set_budget(whole_budget(machine_), now, more_to_come);
  };
  pass(true);
  EXPECT_EQ(leases_.budget().left_to_others(), 0);
  load_.processes[102] = {5, 100};  // it has come: that was it
  arrive(2);
  pass(true);
  load_.processes[102].busy_ticks += 100;
  pass(false);
  EXPECT_EQ(leases_.budget().left_to_others(), 0);
}

// A script that starts one short program after the other.
TEST_F(LeasesTest, ShortLivedClientsAreNotLoad) {
  milliseconds now = kStart;
  for (uint64_t run = 1; run <= 4; ++run) {
    load_.at_ticks += 10;
    leases_.budget().expect_launch(now, static_cast<int>(100 + run));
    arrive(run);
    now += milliseconds(100);
    leases_.set_budget(whole_budget(machine_), now);
    EXPECT_EQ(leases_.budget().left_to_others(), 0) << "run " << run;
    for (auto& [unit, ticks] : load_.units) ticks.busy += 25;
    now += milliseconds(250);
    leases_.leave(run);
    now += milliseconds(100);
  }
}

TEST_F(LeasesTest, ExpectedClientDelaysLoadForLimitedTime) {
  milliseconds now = kStart;
  load_.at_ticks = 7;
  load_.processes[101] = {5, 0};
  leases_.budget().expect_launch(now, 101);
  arrive(1);
  for (int second = 0; second < 10; ++second) {
    for (auto& [unit, ticks] : load_.units) (unit < 2 ? ticks.busy : ticks.idle) += 100;
    now += seconds(1);
    EXPECT_EQ(leases_.budget().left_to_others(), 0);
    leases_.set_budget(whole_budget(machine_), now, true);
  }
  second_with(2, now);
  EXPECT_EQ(leases_.budget().left_to_others(), 2);
}

TEST_F(LeasesTest, ClientsGetDisjointCoresBesideExternalLoad) {
  arrive(1);
  arrive(2);
  milliseconds now = kStart;
  for (int i = 0; i < 20; ++i) second_with(2, now);
  EXPECT_EQ(cores(1), 1);
  EXPECT_EQ(cores(2), 1);
  EXPECT_EQ(masks_[1].size(), 1u);
  EXPECT_EQ(masks_[2].size(), 1u);
}

TEST_F(LeasesTest, PinConfinesSingleClient) {
  arrive(1);
  decide(kStart);
  ASSERT_TRUE(leases_.apply(sched::commands::pin(1, {1, 2})).ok());
  decide(kStart);
  EXPECT_EQ(masks_[1], (std::set<int>{1, 2}));
}

TEST_F(LeasesTest, ReportsEachClientOncePerDecision) {
  for (uint64_t client = 1; client <= 3; ++client) arrive(client);
  decide(kStart);
  for (uint64_t client = 1; client <= 3; ++client) scales(client);
  decide(kStart + seconds(1));
  ASSERT_EQ(masks_[1].size(), 2u);
  // What the others have.
  std::vector<int> theirs(masks_[2].begin(), masks_[2].end());
  theirs.insert(theirs.end(), masks_[3].begin(), masks_[3].end());
  ASSERT_EQ(theirs.size(), 2u);
  ASSERT_TRUE(leases_.apply(sched::commands::pin(1, theirs)).ok());
  std::map<uint64_t, std::string> told;
  for (const GrantedLease& one : leases_.decide(kStart + seconds(1))) {
    EXPECT_TRUE(told.emplace(one.client, one.reason).second) << one.reason;
    EXPECT_EQ(std::set<int>(one.units.begin(), one.units.end()), masks_[one.client]);
  }
  EXPECT_EQ(told.size(), 3u);
  EXPECT_NE(told[1].find("client 1 from 2 cores to 2 cores: the user pinned client 1"),
            told[1].npos)
      << told[1];
}

// ---- many --------------------------------------------------------------------------------------

TEST_F(LeasesTest, MoreClientsThanCoresTimeShareCores) {
  in_turns_ = true;
  for (uint64_t client = 1; client <= 6; ++client) arrive(client);
  std::vector<GrantedLease> granted = leases_.decide(kStart);
  for (const GrantedLease& one : granted) EXPECT_EQ(one.cores, 1);
  EXPECT_LE(leases_.table().summary().held_cores, 4.0 + 1e-9);
}

// ---- jobs, users and bindings ------------------------------------------------------------------

// By the sum of their progress one rank would get three cores; but ranks wait for the slowest.
TEST_F(LeasesTest, RanksOfJobGetEqualParts) {
  for (uint64_t rank = 1; rank <= 2; ++rank) {
    arrive(rank);
    leases_.update(rank,
                   {.owner = ClientFacts::Owner{1000, "mpi"}, .bound_to = std::vector<int>{}});
    leases_.update(rank, {.demand = ClientFacts::Demand{{4, 3.9, 1, 1}, 0, true}});
  }
  decide(kStart);
  EXPECT_EQ(cores(1), 2);
  EXPECT_EQ(cores(2), 2);
}

TEST_F(LeasesTest, JobWeighsAsMuchAsSingleProgram) {
  arrive(1);
  for (uint64_t rank = 2; rank <= 3; ++rank) {
    arrive(rank);
    leases_.update(rank, {.owner = ClientFacts::Owner{0, "mpi"}, .bound_to = std::vector<int>{}});
  }
  const std::vector<sched::LeaseView> views = leases_.view();
  ASSERT_EQ(views.size(), 3u);
  EXPECT_EQ(views[0].weight, 1.0);
  EXPECT_EQ(views[1].weight, 0.5);
  EXPECT_EQ(views[2].weight, 0.5);
  ASSERT_TRUE(leases_.apply(sched::commands::share(2, 4)).ok());
  EXPECT_EQ(leases_.clients().at(2).state->party.share, 4);
  EXPECT_EQ(leases_.view()[1].weight, 2.0);
  leases_.leave(3);
  EXPECT_EQ(leases_.view()[1].weight, 4.0) << "the last rank is the job";
}

TEST_F(LeasesTest, BoundClientIsHeldOnItsCoreAndOthersElsewhere) {
  arrive(1);
  decide(kStart);
  EXPECT_EQ(cores(1), 4);
  arrive(2);
  leases_.update(2, {.owner = ClientFacts::Owner{0, ""}, .bound_to = std::vector<int>{1}});
  decide(kStart + seconds(1));
  EXPECT_EQ(masks_.at(2), std::set<int>{1});
  EXPECT_FALSE(masks_.at(1).contains(1));
  EXPECT_EQ(masks_.at(1).size(), 3u);
}

TEST_F(LeasesTest, PartOfNewcomerFollowsItsWeight) {
  const auto part = [&](double share, double expected, sched::Priority priority) {
    return part_beside(leases_.clients(), {0, 0, "", share, priority}, expected, false);
  };
  EXPECT_DOUBLE_EQ(part(1, 0, sched::Priority::kNormal), 1);
  EXPECT_DOUBLE_EQ(part(1, 3, sched::Priority::kNormal), 0.25);
  arrive(1);
  leases_.arrive(2, 102, 4, 2, sched::Priority::kBatch);
  EXPECT_DOUBLE_EQ(part(1, 0, sched::Priority::kNormal), 0.5) << "batch takes nothing from it";
  EXPECT_DOUBLE_EQ(part(1, 0, sched::Priority::kBatch), 0.25);
}

}  // namespace
}  // namespace optile::daemon
