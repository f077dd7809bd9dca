// Clients that wait: loans, pauses of those who have or had one, and waits without end.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/sched/leases/lease_table_fixture.h"

namespace optile::sched {
namespace {

// Else the one that lent would wake and find no core.
TEST_F(LeaseTableTest, PausedBorrowerKeepsOwnCoresAndReturnsLent) {
  arrive_both();
  const Cores own = cores(1);
  const Cores lent = cores(2);
  set_activity(2, Activity::kWaits);
  settle();
  ASSERT_EQ(cores(1).size(), 4u);
  ASSERT_TRUE(table_->apply(commands::pause(1)).ok());
  settle();
  EXPECT_EQ(cores(1), own);
  EXPECT_EQ(view(1).borrowed, 0);
  set_activity(2, Activity::kWorks);
  settle();
  EXPECT_EQ(cores(1), own);
  EXPECT_EQ(cores(2), lent);
}

// Claims stay where only who waits has changed, and only there.
TEST_F(LeaseTableTest, ClaimsFollowNewInputsWhileClientsWait) {
  arrive_both();
  ASSERT_EQ(view(1).claim, 2);
  set_activity(2, Activity::kWaits);
  settle();
  ASSERT_EQ(view(1).claim, 2);
  ASSERT_TRUE(
      table_->update(1, {.curve = LeaseUpdate::Curve{{0.1, 0.2, 1.0, 1.0}, 1, kNoLimit}}).ok());
  set_activity(2, Activity::kWorks);
  settle();
  EXPECT_EQ(view(1).claim, 3);
  set_activity(1, Activity::kWaits);
  ASSERT_TRUE(table_->update(2, {.weight = 1000}).ok());
  settle();
  EXPECT_EQ(view(2).claim, 3);
  set_activity(1, Activity::kWorks);
  perfmodel::Budget three = table_->resources().budget;
  three.cores = 3;
  table_->set_budget(three);
  settle();
  EXPECT_EQ(view(1).claim + view(2).claim, 3);
}

// A word from before it had a core holds for the first that it gets.
TEST_F(LeaseTableTest, ClientPausedWithoutCoreBorrowsNothing) {
  arrive(1, kConcave);
  settle();
  set_activity(1, Activity::kWaits);
  arrive(2, kConcave);
  ASSERT_TRUE(table_->apply(commands::pause(2)).ok());
  settle();
  EXPECT_EQ(cores(2).size(), 2u);
  set_activity(1, Activity::kWorks);
  settle();
  EXPECT_EQ(cores(1).size(), 2u);
  EXPECT_EQ(cores(2).size(), 2u);
}

// It has the first choice of cores only among those that it can use; what it lent is not its own.
TEST_F(LeaseTableTest, BoundBorrowerReturnsSameCores) {
  arrive_both();
  const Cores own = cores(1);
  ASSERT_EQ(own.size(), 2u);
  ASSERT_TRUE(table_->update(2, {.bound = Cores{own[0], own[1], cores(2)[0]}}).ok());
  settle();
  const Cores before = cores(1);
  set_activity(1, Activity::kWaits);
  settle();
  ASSERT_GT(view(2).borrowed, 0);
  set_activity(1, Activity::kWorks);
  settle();
  EXPECT_EQ(cores(1), before);
}

TEST_F(LeaseTableTest, PauseReturnsLentCoresToWaitingClient) {
  arrive_both();
  const Cores own = cores(2);
  set_activity(2, Activity::kWaits);
  settle();
  ASSERT_TRUE(cores(2).empty());
  ASSERT_TRUE(table_->apply(commands::pause(2)).ok());
  settle();
  EXPECT_EQ(cores(2), own) << "its lease stays, whatever the others do";
  EXPECT_EQ(cores(1).size(), 2u);
  set_activity(2, Activity::kWorks);
  settle();
  EXPECT_EQ(cores(2), own);
}

// ---- away ------------------------------------------------------------------------------------

TEST_F(LeaseTableTest, AwayClientHasNoClaimAndRegainsSameCores) {
  arrive(1, kConcave);
  arrive(2, kConcave);
  arrive(3, {1, 1, 1, 1});
  settle();
  std::map<ClientId, Cores> before;
  for (ClientId id = 1; id <= 3; ++id) before[id] = cores(id);
  set_activity(2, Activity::kAway);
  EXPECT_FALSE(view(2).away) << "it does not wait";
  set_activity(2, Activity::kWaits);
  settle();
  const int lent = view(1).borrowed;
  ASSERT_GT(lent, 0);
  set_activity(2, Activity::kAway);
  EXPECT_EQ(settle(), 0) << "the same cores, as its own from now on";
  EXPECT_TRUE(view(2).away);
  EXPECT_EQ(view(2).claim, 0);
  EXPECT_EQ(view(1).borrowed, 0);
  EXPECT_EQ(view(1).claim, static_cast<int>(before[1].size()) + lent);
  EXPECT_EQ(table_->summary().lent_cores, 0);
  set_activity(2, Activity::kWorks);
  settle();
  EXPECT_FALSE(view(2).away);
  for (ClientId id = 1; id <= 3; ++id) EXPECT_EQ(cores(id), before[id]) << id;
}

// A division that no longer is the best by a little, but was held, is held again.
TEST_F(LeaseTableTest, ReturnOfAwayClientRestoresPreviousDivision) {
  arrive_both();
  // 3 + 1 is better than 2 + 2, by less than it takes.
  ASSERT_TRUE(
      table_->update(1, {.curve = LeaseUpdate::Curve{{0.4, 0.7, 0.99, 1.0}, 1, kNoLimit}}).ok());
  ASSERT_TRUE(
      table_->update(2, {.curve = LeaseUpdate::Curve{{0.42, 0.7, 0.9, 1.0}, 1, kNoLimit}}).ok());
  ASSERT_EQ(settle(), 0);
  const Cores own = cores(2);
  set_activity(2, Activity::kWaits);
  set_activity(2, Activity::kAway);
  settle();
  ASSERT_EQ(cores(1).size(), 4u);
  set_activity(2, Activity::kWorks);
  settle();
  EXPECT_EQ(cores(2), own);
}

TEST_F(LeaseTableTest, NewcomerMakesRoomForReturningClient) {
  arrive_both();
  const Cores own = cores(2);
  set_activity(2, Activity::kWaits);
  set_activity(2, Activity::kAway);
  settle();
  arrive(3, kConcave);
  settle();
  EXPECT_EQ(cores(1).size() + cores(3).size(), 4u);
  set_activity(2, Activity::kWorks);
  settle();
  ASSERT_FALSE(cores(2).empty());
  for (int core : cores(2)) EXPECT_TRUE(std::find(own.begin(), own.end(), core) != own.end());
  EXPECT_FALSE(cores(1).empty());
  EXPECT_FALSE(cores(3).empty());
}

// What it had itself while the other was away is not its own any more.
TEST_F(LeaseTableTest, WaitingClientLendsOnlyOwnCoresToReturningClient) {
  arrive_both();
  const Cores first = cores(1);
  const Cores second = cores(2);
  set_activity(2, Activity::kWaits);
  set_activity(2, Activity::kAway);
  settle();
  set_activity(1, Activity::kWaits);
  settle();
  EXPECT_EQ(view(1).lends.size(), 4u);
  set_activity(2, Activity::kWorks);
  settle();
  EXPECT_EQ(view(1).lends, first);
  EXPECT_EQ(view(2).borrowed, 2);
  set_activity(1, Activity::kWorks);
  settle();
  EXPECT_EQ(cores(1), first);
  EXPECT_EQ(cores(2), second);
}

TEST_F(LeaseTableTest, PauseOfAwayClientRestoresItsCores) {
  arrive_both();
  const Cores own = cores(2);
  set_activity(2, Activity::kWaits);
  set_activity(2, Activity::kAway);
  settle();
  ASSERT_TRUE(table_->apply(commands::pause(2)).ok());
  settle();
  EXPECT_EQ(cores(2), own);
  EXPECT_EQ(cores(1).size(), 2u);
}

}  // namespace
}  // namespace optile::sched
