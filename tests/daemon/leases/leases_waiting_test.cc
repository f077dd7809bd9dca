// Leases of clients that wait: what of theirs is lent, to whom, and what they come back to.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/daemon/fixtures/leases_fixture.h"
#include "tests/sched/leases/lease_commands.h"

namespace optile::daemon {
namespace {

class IdleLeasesTest : public LeasesTest {
 protected:
  // With two cores each, from a second after kStart on.
  void two_alike() {
    arrive(1);
    arrive(2);
    decide(kStart);
    scales(1);
    scales(2);
    decide(kStart + seconds(1));
  }
  // One that gains nothing from a third core, and one that is done with its second.
  void two_flat() {
    arrive(1);
    arrive(2);
    decide(kStart);
    stays_flat(1);  // its curve was measured on few cores, and counts only beside others
    leases_.update(2, {.demand = ClientFacts::Demand{{2, 1, 1, 1}, 0, true}});
    decide(kStart + seconds(1));
    ASSERT_EQ(cores(1), 2);
  }
  // From a second later on.
  void second_waits() {
    lent_out_ = {2};
    leases_.set_activity(2, sched::Activity::kWaits);
    decide(kStart + seconds(2));
  }
};

TEST_F(IdleLeasesTest, IdleClientLendsCoresAndReclaimsTheSame) {
  two_alike();
  const std::set<int> own = masks_[2];
  ASSERT_EQ(own.size(), 2u);
  second_waits();
  EXPECT_EQ(masks_[1].size(), 4u) << "everything";
  EXPECT_EQ(cores(1), 2) << "what is lent is no lease";
  EXPECT_EQ(granted_.at(1).lent, 2);
  std::set<int> others;
  for (const int unit : granted_.at(1).units) others.insert(unit);
  for (const int unit : granted_.at(1).own_units) others.erase(unit);
  EXPECT_EQ(others, own) << "and not its own";
  EXPECT_EQ(masks_[2], own);
  leases_.set_activity(2, sched::Activity::kWorks);
  decide(kStart + seconds(3));
  EXPECT_EQ(granted_.at(1).lent, 0);
  EXPECT_EQ(cores(1), 2);
  EXPECT_EQ(masks_[1].size(), 2u);
  EXPECT_EQ(masks_[2], own);
}

TEST_F(IdleLeasesTest, OnlyWorkingClientBorrowsAllWhenItWantsMore) {
  arrive(1);
  arrive(2);
  decide(kStart);
  leases_.update(1, {.demand = ClientFacts::Demand{{1, 1, 1, 1}, 0, true}});
  scales(2);
  decide(kStart + seconds(1));
  ASSERT_EQ(masks_[1].size(), 1u);
  second_waits();
  EXPECT_EQ(masks_[1].size(), 1u) << "by its curve it gains nothing";
  leases_.update(1, {.wants_more = true});
  decide(kStart + seconds(3));
  EXPECT_EQ(masks_[1].size(), 4u);
  EXPECT_EQ(cores(1), 1);
  leases_.set_activity(2, sched::Activity::kWorks);
  decide(kStart + seconds(4));
  EXPECT_EQ(masks_[1].size(), 1u);
}

// A core that nobody claims is lent along with the one of the client that waits.
TEST_F(IdleLeasesTest, OwnUnitsAreOmittedWhereUnknown) {
  arrive(1);
  arrive(2);
  arrive(3);
  decide(kStart);
  leases_.update(1, {.demand = ClientFacts::Demand{{1, 1, 1, 1}, 0, true}});
  leases_.update(2, {.demand = ClientFacts::Demand{{2, 1, 1, 1}, 0, true}});
  leases_.update(2, {.wants_more = true});
  ASSERT_TRUE(leases_.apply(sched::commands::detach(3)).ok());
  decide(kStart + seconds(1));
  decide(kStart + seconds(62));
  ASSERT_EQ(cores(1), 1);
  ASSERT_EQ(cores(2), 2);
  lent_out_ = {1};
  leases_.set_activity(1, sched::Activity::kWaits);
  decide(kStart + seconds(63));
  ASSERT_EQ(granted_.at(2).lent, 2);
  EXPECT_EQ(granted_.at(2).units.size(), 4u);
  EXPECT_TRUE(granted_.at(2).own_units.empty());
}

TEST_F(IdleLeasesTest, BorrowerOwnsLentCoresOnceLenderLeaves) {
  two_alike();
  second_waits();
  ASSERT_EQ(granted_.at(1).lent, 2);
  masks_.erase(2);
  leases_.leave(2);
  decide(kStart + seconds(3));
  EXPECT_EQ(cores(1), 4);
  EXPECT_EQ(granted_.at(1).lent, 0);
  const std::string said = "client 1 has 4 cores of its own: client 2 left";
  EXPECT_EQ(granted_.at(1).reason.substr(0, said.size()), said);
  EXPECT_TRUE(leases_.decide(kStart + seconds(4)).empty()) << "it is told once";
}

// It gains from a third core and from no fourth.
TEST_F(IdleLeasesTest, PartialLenderKeepsItsMask) {
  arrive(1);
  arrive(2);
  decide(kStart);
  leases_.update(1, {.demand = ClientFacts::Demand{{3, 1.5, 1, 1}, 0, true}});
  leases_.update(2, {.demand = ClientFacts::Demand{{2, 1, 1, 1}, 0, true}});
  decide(kStart + seconds(1));
  const std::set<int> own = masks_[2];
  ASSERT_EQ(own.size(), 2u);
  lent_out_ = {2};
  leases_.set_activity(2, sched::Activity::kWaits);
  for (const GrantedLease& one : leases_.decide(kStart + seconds(2))) {
    EXPECT_EQ(one.client, 1u) << one.reason;
    EXPECT_EQ(one.lent, 1);
  }
  EXPECT_EQ(masks_[1].size(), 3u);
  EXPECT_EQ(masks_[2], own) << "it wakes as wide as it was";
  leases_.set_activity(2, sched::Activity::kWorks);
  decide(kStart + seconds(3));
  EXPECT_EQ(masks_[1].size(), 2u);
  EXPECT_EQ(masks_[2], own);
  EXPECT_EQ(cores(2), 2);
}

TEST_F(IdleLeasesTest, IdleBorrowerReturnsLentCores) {
  two_alike();
  const std::set<int> own = masks_[1];
  lent_out_ = {1, 2};
  leases_.set_activity(2, sched::Activity::kWaits);
  decide(kStart + seconds(2));
  ASSERT_EQ(masks_[1].size(), 4u) << "everything";
  leases_.set_activity(1, sched::Activity::kWaits);
  decide(kStart + seconds(3));
  EXPECT_EQ(masks_[1], own);
  EXPECT_EQ(cores(1), 2);
  EXPECT_EQ(granted_.at(1).lent, 0);
  leases_.set_activity(2, sched::Activity::kWorks);
  decide(kStart + seconds(4));
  EXPECT_EQ(granted_.at(2).lent, 2);
  EXPECT_EQ(masks_[1], own) << "the same the other way round";
}

TEST_F(IdleLeasesTest, CoresOfAwayClientAreGrantedUntilItWakes) {
  two_flat();
  const std::set<int> own = masks_[2];
  EXPECT_FALSE(leases_.set_activity(2, sched::Activity::kAway)) << "it does not wait";
  second_waits();
  ASSERT_EQ(cores(1), 2);
  EXPECT_TRUE(leases_.set_activity(2, sched::Activity::kAway));
  EXPECT_FALSE(leases_.set_activity(2, sched::Activity::kAway));
  decide(kStart + seconds(62));
  EXPECT_EQ(cores(1), 4);
  EXPECT_EQ(granted_.at(1).lent, 0);
  EXPECT_TRUE(masks_[1].empty()) << "everything";
  EXPECT_EQ(masks_[2], own) << "it wakes on its own";
  leases_.set_activity(2, sched::Activity::kWorks);
  decide(kStart + seconds(63));
  EXPECT_EQ(cores(1), 2);
  EXPECT_EQ(cores(2), 2);
  EXPECT_EQ(masks_[2], own);
}

TEST_F(IdleLeasesTest, PinOfIdleClientAppliesAtOnce) {
  two_alike();
  second_waits();
  ASSERT_TRUE(leases_.apply(sched::commands::pin(2, {*masks_[2].begin()})).ok());
  decide(kStart + seconds(3));
  EXPECT_EQ(masks_[2].size(), 1u);
  EXPECT_EQ(cores(2), 1);
}

// What it had is its own again: the others are not planned for as if they were alone.
TEST_F(IdleLeasesTest, PausedIdleClientIsNotAway) {
  two_flat();
  const std::set<int> own = masks_[2];
  lent_out_ = {2};
  leases_.set_activity(2, sched::Activity::kWaits);
  ASSERT_TRUE(leases_.set_activity(2, sched::Activity::kAway));
  decide(kStart + seconds(2));
  ASSERT_EQ(cores(1), 4);
  lent_out_.clear();
  ASSERT_TRUE(leases_.apply(sched::commands::pause(2)).ok());
  EXPECT_FALSE(leases_.set_activity(2, sched::Activity::kAway));
  decide(kStart + seconds(3));
  EXPECT_EQ(masks_[2], own);
  EXPECT_EQ(cores(1), 2);
  EXPECT_FALSE(leases_.set_activity(2, sched::Activity::kAway));
  EXPECT_FALSE(leases_.view()[1].away);
  EXPECT_EQ(leases_.view()[0].claim, 2);
  ASSERT_TRUE(leases_.apply(sched::commands::resume(2)).ok());
  EXPECT_TRUE(leases_.set_activity(2, sched::Activity::kAway));
}

}  // namespace
}  // namespace optile::daemon
