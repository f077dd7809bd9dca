#include "daemon/cluster/generation_claim.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <utility>

#include "tests/daemon/cluster/claimers.h"

namespace optile::daemon {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using State = GenerationClaim::State;

class GenerationClaimTest : public ClaimersTest<GenerationClaim> {
 protected:
  Claimer& add(int least, int most, bool grows = false) {
    GenerationClaim::Settings settings;
    settings.least = least;
    settings.most = most;
    settings.grows = grows;
    return add_claimer(std::move(settings));
  }
  // Whose generation is broken has ended its program, and takes part in the next one.
  void run_with_programs(milliseconds time) {
    for (milliseconds passed{0}; passed < time; passed += kClaimStep) {
      run(kClaimStep);
      for (const auto& one : claimers_) {
        if (one->state() == State::kBroken) one->claim->join_next(8);
      }
    }
  }
  std::vector<int> ranks() {
    std::vector<int> all;
    for (const auto& one : claimers_) {
      if (one->state() == State::kStarted) all.push_back(one->view().rank);
    }
    std::sort(all.begin(), all.end());
    return all;
  }
};

TEST_F(GenerationClaimTest, BeginsAtOnceWhereAllHaveComeAndElseBehindLastCall) {
  Claimer& first = add(2, 3);
  run(seconds(60));
  EXPECT_EQ(first.state(), State::kGathering);
  EXPECT_TRUE(first.view().waits);
  EXPECT_EQ(first.view().holders.size(), 1u);
  Claimer& second = add(2, 3);
  run(seconds(20));
  EXPECT_TRUE(all_are(State::kGathering));
  run(seconds(15));
  ASSERT_TRUE(all_are(State::kStarted));
  EXPECT_EQ(first.view().nodes, 2);
  EXPECT_EQ(first.view().rank, 0);
  EXPECT_EQ(second.view().rank, 1);
  EXPECT_EQ(second.view().generation, 1);
  EXPECT_EQ(second.view().master_address, "at-t1");
  EXPECT_EQ(second.view().master_port, 7);
  leave(first);
  leave(second);
  for (int i = 0; i < 3; ++i) add(2, 3);
  run(seconds(3));
  EXPECT_THAT(ranks(), ElementsAre(0, 1, 2));
}

// Under the former one a generation may have begun that this node never heard of.
// fault: F62
TEST_F(GenerationClaimTest, EachLeaseHasAPortOfItsOwn) {
  int port = 100;
  GenerationClaim::Settings settings;
  settings.least = settings.most = 2;
  settings.next_port = [&port] { return ++port; };
  const Claimer& first = add_claimer(std::move(settings));
  run(seconds(1));
  EXPECT_TRUE(server_.revoke_lease(first.claim->lease()).ok());
  run(seconds(10));
  const Claimer& second = add(2, 2);
  run(seconds(5));
  ASSERT_TRUE(all_are(State::kStarted));
  EXPECT_EQ(second.view().master_address, "at-t1");
  EXPECT_EQ(second.view().master_port, 102);
}

// fault: F60
TEST_F(GenerationClaimTest, NextGenerationIsOfThoseThatAreLeft) {
  Claimer& first = add(2, 3);
  Claimer& second = add(2, 3);
  Claimer& third = add(2, 3);
  run(seconds(3));
  ASSERT_THAT(ranks(), ElementsAre(0, 1, 2));
  kill(first);
  run(seconds(16));
  ASSERT_EQ(second.state(), State::kBroken);
  ASSERT_EQ(third.state(), State::kBroken);
  EXPECT_EQ(second.view().message, "on-t1 is gone");
  second.claim->join_next(9);
  run(seconds(20));
  EXPECT_EQ(third.view().message, "on-t1 is gone");
  EXPECT_EQ(second.state(), State::kGathering);  // the third one's program has not ended yet
  EXPECT_THAT(second.view().message, HasSubstr("runs on on-t3 as generation 1"));
  third.claim->join_next(9);
  run(seconds(3));
  ASSERT_TRUE(all_are(State::kStarted));
  EXPECT_EQ(second.view().generation, 2);
  EXPECT_EQ(second.view().nodes, 2);
  EXPECT_EQ(third.view().rank, 1);
  EXPECT_EQ(third.view().master_address, "at-t2");
  EXPECT_EQ(third.view().master_port, 9);
}

// fault: F61
TEST_F(GenerationClaimTest, FewerThanLeastWaitForAnother) {
  add(2, 3);
  Claimer& second = add(2, 3);
  Claimer& third = add(2, 3);
  run(seconds(3));
  kill(second);
  kill(third);
  run_with_programs(seconds(60));
  ASSERT_TRUE(all_are(State::kGathering));
  EXPECT_TRUE(claimers_[0]->view().waits);
  EXPECT_EQ(claimers_[0]->view().holders.size(), 1u);
  add(2, 3);
  run_with_programs(seconds(3));
  EXPECT_THAT(ranks(), ElementsAre(0, 1));
  EXPECT_EQ(claimers_[0]->view().generation, 2);
}

// fault: F62
TEST_F(GenerationClaimTest, LaterNodeWaitsForNextGeneration) {
  Claimer& first = add(1, 2);
  Claimer& second = add(1, 2);
  run(seconds(3));
  ASSERT_TRUE(all_are(State::kStarted));
  Claimer& later = add(1, 2);
  run_with_programs(seconds(60));
  EXPECT_EQ(later.state(), State::kGathering);
  EXPECT_FALSE(later.view().waits);
  EXPECT_THAT(later.view().message, HasSubstr("runs on on-t1, on-t2 as generation 1"));
  EXPECT_EQ(second.view().generation, 1);
  kill(second);
  run_with_programs(seconds(16));
  ASSERT_TRUE(all_are(State::kStarted));
  EXPECT_EQ(first.view().nodes, 2);
  EXPECT_EQ(later.view().rank, 1);
  EXPECT_EQ(later.view().generation, 2);
}

// fault: F62
TEST_F(GenerationClaimTest, LaterNodeIsTakenInAtOnceWhereThatIsWanted) {
  Claimer& first = add(1, 3, true);
  run(seconds(35));
  ASSERT_EQ(first.state(), State::kStarted);
  Claimer& later = add(1, 3, true);
  run(seconds(3));
  EXPECT_EQ(first.state(), State::kStarted);  // it has to stay
  run(seconds(10));
  EXPECT_EQ(first.state(), State::kBroken);
  EXPECT_EQ(first.view().message, "on-t2 has come");
  run_with_programs(seconds(3));
  EXPECT_EQ(later.view().nodes, 2);
  EXPECT_EQ(later.view().generation, 2);
}

// fault: F60
TEST_F(GenerationClaimTest, NodeThatWasStoppedMayNotStartRankOfFormerGeneration) {
  add(1, 2);
  add(1, 2);
  while (server_.get("optile/u/jobs/train/members/t2").entries.empty()) {
    server_.advance(kClaimStep);
    for (const auto& one : claimers_) {
      one->claim->tick(server_.now());
      one->store.deliver();
    }
  }
  // Its look at the first generation is answered much later.
  std::unique_ptr<Claimer> stopped = std::move(claimers_.back());
  claimers_.pop_back();
  while (claimers_[0]->state() != State::kStarted) run(kClaimStep);
  const auto before = server_.now();
  while (stopped->state() != State::kStarted) {
    stopped->claim->tick(before);
    ASSERT_TRUE(stopped->store.deliver());
  }
  EXPECT_TRUE(stopped->claim->may_start(before));
  run_with_programs(seconds(16));
  EXPECT_EQ(claimers_[0]->view().generation, 2);
  EXPECT_FALSE(stopped->claim->may_start(server_.now()));
  claimers_.push_back(std::move(stopped));
  run(seconds(2));
  EXPECT_EQ(claimers_[1]->state(), State::kBroken);
  EXPECT_THAT(claimers_[1]->view().message, HasSubstr("has not heard of this node"));
  run_with_programs(seconds(5));
  EXPECT_EQ(claimers_[1]->state(), State::kGathering);
  EXPECT_THAT(claimers_[1]->view().message, HasSubstr("as generation 2"));
}

TEST_F(GenerationClaimTest, EndIsTheOthersEndAndOfThoseThatWait) {
  Claimer& first = add(2, 2);
  Claimer& second = add(2, 2);
  run(seconds(3));
  Claimer& later = add(2, 2);
  run(seconds(3));
  first.claim->end_job(0);
  run(seconds(2));
  EXPECT_EQ(first.state(), State::kOver);
  leave(first);
  run(seconds(5));
  EXPECT_EQ(second.state(), State::kOver);
  EXPECT_EQ(later.state(), State::kOver);
  EXPECT_EQ(later.view().code, 0);
  leave(second);
  leave(later);
  EXPECT_THAT(server_.get("").entries, IsEmpty());
}

// It has been cut off meanwhile: the others have gone on, and their job does not end.
TEST_F(GenerationClaimTest, EndOfFormerGenerationIsNotTheNextOnes) {
  Claimer& first = add(1, 2);
  Claimer& second = add(1, 2);
  run(seconds(3));
  second.store.cut_off(true);
  run_with_programs(seconds(16));
  EXPECT_EQ(first.view().generation, 2);
  EXPECT_TRUE(second.view().unreachable);
  EXPECT_EQ(second.state(), State::kStarted);  // its program runs on
  second.claim->end_job(0);
  second.store.cut_off(false);
  run_with_programs(seconds(16));
  EXPECT_EQ(second.state(), State::kOver);
  EXPECT_EQ(first.state(), State::kStarted);
}

// fault: F52
TEST_F(GenerationClaimTest, ProgramsRunOnWhereEtcdIsAway) {
  add(1, 2);
  add(1, 2);
  run(seconds(3));
  // No lease ends meanwhile: it is etcd that is away.
  for (int i = 0; i < 400; ++i) {
    for (const auto& one : claimers_) {
      one->store.cut_off(true);
      one->claim->tick(server_.now() + kClaimStep * i);
      one->store.deliver();
    }
  }
  EXPECT_TRUE(all_are(State::kStarted));
  EXPECT_TRUE(claimers_[0]->view().unreachable);
  EXPECT_FALSE(claimers_[0]->claim->may_start(server_.now() + kClaimStep * 400));
}

TEST_F(GenerationClaimTest, OtherBoundsAreRefused) {
  add(2, 3);
  run(seconds(2));
  const Claimer& other = add(1, 3);
  run(seconds(2));
  EXPECT_EQ(other.state(), State::kRefused);
  EXPECT_THAT(other.view().message, HasSubstr("begun with --nodes 2:3 on on-t1, here with --nodes "
                                              "1:3"));
  RankClaim::Settings fixed;
  fixed.keys.user = "u";
  fixed.job = "train";
  fixed.nodes = 2;
  fixed.token = "fixed";
  MemoryStore store(server_);
  RankClaim claim(store, fixed);
  claim.tick(server_.now());
  while (store.deliver()) claim.tick(server_.now());
  EXPECT_EQ(claim.view().state, RankClaim::State::kRefused);
  EXPECT_THAT(claim.view().message, HasSubstr("--nodes MIN:MAX on on-t1"));
}

TEST_F(GenerationClaimTest, FixedJobOfThatNameIsRefused) {
  RankClaim::Settings fixed;
  fixed.keys.user = "u";
  fixed.job = "train";
  fixed.nodes = 2;
  fixed.node = "fixed";
  fixed.token = "fixed";
  MemoryStore store(server_);
  RankClaim claim(store, fixed);
  claim.tick(server_.now());
  while (store.deliver()) claim.tick(server_.now());
  ASSERT_EQ(claim.view().state, RankClaim::State::kWaiting);
  const Claimer& other = add(1, 3);
  run(seconds(2));
  EXPECT_EQ(other.state(), State::kRefused);
  EXPECT_THAT(other.view().message, HasSubstr("with a fixed --nodes on fixed"));
}

}  // namespace
}  // namespace optile::daemon
