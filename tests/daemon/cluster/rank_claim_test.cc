#include "daemon/cluster/rank_claim.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <utility>

#include "tests/daemon/cluster/claimers.h"

namespace optile::daemon {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::IsEmpty;
using State = RankClaim::State;

class RankClaimTest : public ClaimersTest<RankClaim> {
 protected:
  Claimer& add(int nodes) {
    RankClaim::Settings settings;
    settings.nodes = nodes;
    return add_claimer(std::move(settings));
  }
  // One request of one of them at a time, in an order that the seed chooses.
  void run_mixed(std::mt19937& random, int steps, unsigned losses) {
    for (int i = 0; i < steps; ++i) {
      Claimer& one = *claimers_[random() % claimers_.size()];
      if (losses > 0 && random() % losses == 0) one.store.lose_next_reply();
      one.claim->tick(server_.now());
      one.store.deliver();
      if (random() % 4 == 0) server_.advance(milliseconds(random() % 100));
    }
  }
  std::vector<int> ranks() {
    std::vector<int> all;
    for (const auto& one : claimers_) all.push_back(one->rank());
    std::sort(all.begin(), all.end());
    return all;
  }
};

// fault: F54
TEST_F(RankClaimTest, EveryRankGoesToOneClaimerInAnyOrder) {
  for (unsigned seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    server_ = MemoryServer();
    claimers_.clear();
    for (int i = 0; i < 8; ++i) add(8);
    run_mixed(random, 600, seed % 2 == 0 ? 5 : 0);
    run(seconds(30));
    ASSERT_TRUE(all_are(State::kStarted));
    EXPECT_THAT(ranks(), testing::ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
    for (const auto& one : claimers_) {
      EXPECT_EQ(one->claim->view().master_address, claimers_[0]->claim->view().master_address);
    }
  }
}

TEST_F(RankClaimTest, WaitsForAllAndSaysWhoIsHere) {
  Claimer& first = add(3);
  Claimer& second = add(3);
  run(seconds(60));
  EXPECT_TRUE(all_are(State::kWaiting));
  EXPECT_EQ(first.claim->view().holders.size(), 2u);
  EXPECT_EQ(second.claim->view().holders.at(first.rank()), "on-t1");
  add(3);
  run(seconds(5));
  EXPECT_TRUE(all_are(State::kStarted));
}

// fault: F54
TEST_F(RankClaimTest, RankOfOneThatDiesBeforeTheStartIsFreeAgain) {
  Claimer& first = add(3);
  run(seconds(2));
  Claimer& second = add(3);
  run(seconds(2));
  EXPECT_EQ(first.rank(), 0);
  EXPECT_EQ(second.rank(), 1);
  kill(second);
  run(seconds(15));
  EXPECT_EQ(first.claim->view().holders.size(), 1u);
  EXPECT_EQ(add(3).rank(), -1);
  add(3);
  run(seconds(5));
  EXPECT_TRUE(all_are(State::kStarted));
  EXPECT_THAT(ranks(), testing::ElementsAre(0, 1, 2));
}

// fault: F54
TEST_F(RankClaimTest, RankZeroThatDiesBeforeTheStartIsReplaced) {
  Claimer& first = add(3);
  run(seconds(2));
  add(3);
  run(seconds(2));
  kill(first);
  run(seconds(20));
  EXPECT_EQ(ranks(), std::vector<int>{0});  // who had rank 1
  add(3);
  add(3);
  run(seconds(5));
  EXPECT_TRUE(all_are(State::kStarted));
  EXPECT_THAT(ranks(), testing::ElementsAre(0, 1, 2));
  for (const auto& one : claimers_) EXPECT_EQ(one->claim->view().master_address, "at-t2");
}

// fault: F54
TEST_F(RankClaimTest, ClaimersThatDieAtAnyMomentLeaveNoRankBehind) {
  for (unsigned seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    server_ = MemoryServer();
    claimers_.clear();
    for (int i = 0; i < 4; ++i) add(4);
    for (int deaths = 0; deaths < 3; ++deaths) {
      run_mixed(random, static_cast<int>(random() % 60), 6);
      if (std::any_of(claimers_.begin(), claimers_.end(),
                      [](const auto& one) { return one->state() == State::kStarted; })) {
        break;
      }
      kill(*claimers_[random() % claimers_.size()]);
      add(4);
    }
    run(seconds(60));
    // Either all that are left have begun, or a dead one was part of the start.
    std::vector<int> started;
    for (const auto& one : claimers_) {
      if (one->state() == State::kStarted) started.push_back(one->rank());
    }
    std::sort(started.begin(), started.end());
    EXPECT_EQ(std::adjacent_find(started.begin(), started.end()), started.end());
  }
}

TEST_F(RankClaimTest, OtherNumberOfNodesIsRefused) {
  add(3);
  run(seconds(2));
  const Claimer& other = add(2);
  run(seconds(2));
  EXPECT_EQ(other.state(), State::kRefused);
  EXPECT_THAT(other.claim->view().message, HasSubstr("begun with --nodes 3 on on-t1"));
}

// It has a rank already, and would start with a number of ranks that nobody else knows of.
TEST_F(RankClaimTest, OtherNumberOfNodesIsRefusedBehindRankZeroThatIsGone) {
  Claimer& first = add(3);
  run(seconds(2));
  Claimer& second = add(3);
  run(seconds(2));
  ASSERT_EQ(second.state(), State::kWaiting);
  leave(first);
  Claimer& third = add(2);
  while (third.rank() != 0) {
    third.claim->tick(server_.now());
    ASSERT_TRUE(third.store.deliver());
  }
  run(seconds(5));
  EXPECT_EQ(second.state(), State::kRefused);
  EXPECT_THAT(second.claim->view().message, HasSubstr("begun with --nodes 2"));
  EXPECT_EQ(third.state(), State::kWaiting);
  leave(second);
  add(2);
  run(seconds(5));
  EXPECT_TRUE(all_are(State::kStarted));
}

// It was stopped while the others began: what it has in the store ends with its lease of before.
TEST_F(RankClaimTest, StartUnderLeaseOfBeforeIsTold) {
  add(3);
  add(3);
  run(seconds(2));
  const std::unique_ptr<Claimer> stopped = std::move(claimers_.back());
  claimers_.pop_back();
  const ClusterLease before = stopped->claim->lease();
  run(milliseconds(5500));
  add(3);
  run(seconds(2));
  EXPECT_TRUE(all_are(State::kStarted));
  ASSERT_TRUE(server_.keep_alive(before).ok());  // it sent that when it was stopped
  while (stopped->state() != State::kStarted) {
    stopped->claim->tick(server_.now());
    ASSERT_TRUE(stopped->store.deliver());
  }
  EXPECT_NE(stopped->claim->lease(), before);
  EXPECT_TRUE(stopped->claim->view().lease_lost);
  EXPECT_FALSE(claimers_[0]->claim->view().lease_lost);
}

TEST_F(RankClaimTest, NameServesForNextJobAndNothingStaysBehind) {
  for (int job = 0; job < 3; ++job) {
    Claimer& first = add(2);
    Claimer& second = add(2);
    run(seconds(5));
    ASSERT_TRUE(all_are(State::kStarted));
    // Typed again before the last has ended: waits for its end.
    Claimer& early = add(2);
    run(seconds(3));
    EXPECT_EQ(early.state(), State::kClaiming);
    EXPECT_THAT(early.claim->view().message, HasSubstr("job train runs on"));
    const bool first_is_master = first.rank() == 0;
    leave(first_is_master ? first : second);
    run(seconds(3));
    EXPECT_EQ(early.state(), State::kWaiting);
    EXPECT_EQ(early.rank(), 0);
    // The former rank 1 is still there, and is none of the new job's.
    EXPECT_EQ(early.claim->view().holders.size(), 1u);
    leave(first_is_master ? second : first);
    leave(early);
    EXPECT_THAT(server_.get("").entries, IsEmpty());
  }
}

// A program may be over on one node before another has looked.
TEST_F(RankClaimTest, StartIsSeenThoughRankZeroHasEnded) {
  Claimer& first = add(2);
  run(seconds(2));
  Claimer& second = add(2);
  run(seconds(1));
  EXPECT_EQ(second.rank(), 1);
  while (first.state() != State::kStarted) {
    server_.advance(kClaimStep);
    first.claim->tick(server_.now());
    first.store.deliver();
  }
  leave(first);
  run(seconds(5));
  EXPECT_EQ(second.state(), State::kStarted);
  EXPECT_EQ(second.rank(), 1);
  EXPECT_EQ(second.claim->view().master_address, "at-t1");
  leave(second);
  EXPECT_THAT(server_.get("").entries, IsEmpty());
}

// fault: F54
TEST_F(RankClaimTest, JobThatBeganRunsOnWithoutStore) {
  Claimer& first = add(2);
  add(2);
  run(seconds(5));
  ASSERT_TRUE(all_are(State::kStarted));
  run(seconds(60));
  EXPECT_FALSE(first.claim->view().lease_lost);  // kept alive as long as the program runs
  first.store.cut_off(true);
  run(seconds(60));
  EXPECT_TRUE(first.claim->view().lease_lost);
  EXPECT_EQ(first.state(), State::kStarted);
}

// fault: F52
TEST_F(RankClaimTest, ClaimsAgainAfterStoreWasGone) {
  Claimer& first = add(2);
  run(seconds(5));
  first.store.cut_off(true);
  run(seconds(60));
  EXPECT_THAT(first.claim->view().message, HasSubstr("nobody answers"));
  first.store.cut_off(false);
  add(2);
  run(seconds(20));
  EXPECT_TRUE(all_are(State::kStarted));
}

}  // namespace
}  // namespace optile::daemon
