// Two or more clients whose speeds are set by the test, a clock that it moves, and what the overlap
// trials make of them. The seeded part checks verdicts against the truth and bounds on harm.
#include "sched/overlap_trials.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <string>

#include "tests/sanitized.h"
#include "tests/sched/curves.h"

namespace optile::sched {
namespace {

using curves::Random;

constexpr uint64_t kLook = 20;  // ticks

// Programs that make steps at a speed that depends on whether they share.
class World {
 public:
  explicit World(OverlapPolicy policy = {}, uint64_t seed = 1) : trials_(policy), random_(seed) {
    clients_ = {client(1, "a", {0, 1}), client(2, "b", {2, 3})};
  }

  static OverlapClient client(ClientId id, const std::string& program, std::vector<int> cores) {
    OverlapClient made;
    made.id = id;
    made.program = program;
    made.fit = true;
    made.widens = true;
    made.cores = std::move(cores);
    made.progress = {0.25, 0.5, 0.75, 1.0};
    return made;
  }

  void look() {
    tick_ += kLook;
    const bool shared = actual_.has_value();
    for (OverlapClient& one : clients_) {
      const double factor = shared && actual_->has(one.id) ? shared_.at(one.id) : 1.0;
      const double noise = 1 + noise_ * (curves::uniform(random_, -1, 1));
      done_[one.id] += kLook * steps_per_tick_ * factor * noise;
      one.steps = static_cast<uint64_t>(done_[one.id]);
    }
    lost_ticks_ += shared ? kLook : 0;
    actual_ = trials_.look(tick_, clients_, actual_);
    if (actual_) last_ = *actual_;
    for (OverlapNote& one : trials_.take_notes()) notes_ += one.text + "\n";
    for (OverlapVerdict& one : trials_.take_verdicts()) verdicts_.push_back(one);
  }
  void run(uint64_t ticks) {
    for (const uint64_t end = tick_ + ticks; tick_ < end;) look();
  }
  // Until something is decided, or so long.
  void run_to_verdict(uint64_t most = 200000) {
    const std::size_t before = verdicts_.size();
    for (const uint64_t end = tick_ + most; tick_ < end && verdicts_.size() == before;) look();
  }

  OverlapTrials trials_;
  Random random_;
  std::vector<OverlapClient> clients_;
  std::map<ClientId, double> shared_ = {{1, 1.0}, {2, 1.0}, {3, 1.0}};  // speed while sharing
  std::map<ClientId, double> done_;
  double noise_ = 0.02;
  double steps_per_tick_ = 0.02;  // 50 ms a step
  std::optional<Overlap> actual_;
  Overlap last_;
  std::vector<OverlapVerdict> verdicts_;
  std::string notes_;
  uint64_t tick_ = 0;
  uint64_t lost_ticks_ = 0;  // shared
};

TEST(OverlapTrials, WhatPaysIsKeptAndSaidWithItsGain) {
  World world;
  world.shared_ = {{1, 1.4}, {2, 0.97}};
  world.run_to_verdict();
  ASSERT_EQ(world.verdicts_.size(), 1u) << world.notes_;
  EXPECT_TRUE(world.verdicts_[0].pays);
  EXPECT_NEAR(world.verdicts_[0].gain, 0.185, 0.05);
  EXPECT_GT(world.verdicts_[0].low, 0.02);
  world.run(5000);
  ASSERT_TRUE(world.trials_.view());
  EXPECT_TRUE(world.trials_.view()->kept);
  EXPECT_NE(world.notes_.find("go on sharing"), std::string::npos) << world.notes_;
  EXPECT_EQ(std::count(world.notes_.begin(), world.notes_.end(), '\n'), 2) << world.notes_;
}

TEST(OverlapTrials, WhatDoesNotPayIsUndoneAndNotTriedAgain) {
  World world;
  world.shared_ = {{1, 1.0}, {2, 0.95}};
  world.run(1800000);
  EXPECT_FALSE(world.actual_);
  // Half, whole and both of the two, once each.
  EXPECT_EQ(world.trials_.counters().trials, 5u) << world.notes_;
  EXPECT_EQ(world.trials_.counters().kept, 0u);
  std::map<OverlapKey, int> keys;
  for (const OverlapVerdict& one : world.verdicts_) EXPECT_EQ(++keys[one.key], 1);
}

TEST(OverlapTrials, WhoIsHurtEndsItAtOnce) {
  World world;
  world.shared_ = {{1, 1.5}, {2, 0.3}};
  world.run_to_verdict();
  ASSERT_EQ(world.verdicts_.size(), 1u);
  EXPECT_FALSE(world.verdicts_[0].pays);
  EXPECT_EQ(world.trials_.counters().aborted, 1u);
  EXPECT_EQ(world.verdicts_[0].rounds, 0);
  // Three steps of 50 ms should have been over.
  EXPECT_LE(world.lost_ticks_, 200u);
  EXPECT_NE(world.notes_.find("client 2 made far fewer steps"), std::string::npos) << world.notes_;
}

TEST(OverlapTrials, AGainThatOneOfThemPaysForIsNotKept) {
  World world;
  world.shared_ = {{1, 1.5}, {2, 0.82}};
  world.run_to_verdict();
  ASSERT_EQ(world.verdicts_.size(), 1u);
  EXPECT_FALSE(world.verdicts_[0].pays) << world.notes_;
}

TEST(OverlapTrials, AKeptOneThatNoLongerPaysIsUndone) {
  World world;
  world.shared_ = {{1, 1.3}, {2, 1.0}};
  world.run_to_verdict();
  ASSERT_TRUE(world.verdicts_.at(0).pays);
  world.shared_ = {{1, 0.95}, {2, 0.97}};
  world.run_to_verdict(3600000);
  ASSERT_EQ(world.verdicts_.size(), 2u) << world.notes_;
  EXPECT_FALSE(world.verdicts_[1].pays);
  EXPECT_FALSE(world.actual_);
  EXPECT_EQ(world.trials_.counters().undone, 1u);
}

TEST(OverlapTrials, AProgramThatGetsSlowerByItselfKeepsItsSharing) {
  World world;
  world.shared_ = {{1, 1.3}, {2, 1.0}};
  world.run_to_verdict();
  ASSERT_TRUE(world.verdicts_.at(0).pays);
  world.steps_per_tick_ /= 2;
  world.run(60000);
  EXPECT_EQ(world.verdicts_.size(), 1u) << world.notes_;
  EXPECT_TRUE(world.trials_.view() && world.trials_.view()->kept);
}

TEST(OverlapTrials, WhateverComesBetweenEndsIt) {
  const std::vector<std::function<void(World&)>> events = {
      [](World& world) { world.clients_.push_back(World::client(3, "c", {4})); },
      [](World& world) { world.clients_.pop_back(); },
      [](World& world) { world.clients_[0].fit = false; },
      [](World& world) { world.clients_[1].cores = {3}; },
      [](World& world) { world.trials_.never_again(2); },
      [](World& world) { world.actual_.reset(); }};
  for (const auto& event : events) {
    World world;
    while (!world.actual_) world.look();
    event(world);
    world.look();
    EXPECT_FALSE(world.actual_);
    EXPECT_EQ(world.trials_.counters().interrupted, 1u);
    EXPECT_TRUE(world.verdicts_.empty()) << "nothing is known by that";
  }
}

TEST(OverlapTrials, AKeptOneGoesOnWhenAllIsAsItWas) {
  World world;
  world.shared_ = {{1, 1.3}, {2, 1.0}};
  world.run_to_verdict();
  world.clients_[0].fit = false;
  world.run(10000);
  EXPECT_FALSE(world.actual_);
  world.clients_[0].fit = true;
  world.run(4000);
  EXPECT_TRUE(world.actual_);
  EXPECT_EQ(world.trials_.counters().trials, 1u);
}

TEST(OverlapTrials, NothingIsTriedThatCannotPay) {
  World world;
  for (OverlapClient& one : world.clients_) one.progress = {0.9, 1.0, 1.0, 1.0};
  world.run(100000);
  EXPECT_EQ(world.trials_.counters().trials, 0u) << "nobody gains from further cores";
  World narrow;
  for (OverlapClient& one : narrow.clients_) one.widens = false;
  narrow.run(100000);
  EXPECT_EQ(narrow.trials_.counters().trials, 0u);
  World strangers;
  strangers.clients_[0].owner = "somebody else";
  strangers.run(100000);
  EXPECT_EQ(strangers.trials_.counters().trials, 0u);
}

TEST(OverlapTrials, ARememberedVerdictHoldsForTheNextRun) {
  World world;
  world.shared_ = {{1, 1.0}, {2, 0.95}};
  for (const OverlapShape shape :
       {OverlapShape::kHalf, OverlapShape::kWhole, OverlapShape::kBoth}) {
    world.trials_.remember({{"a", "b", shape}}, 0, 1000000);
    world.trials_.remember({{"b", "a", shape}}, 0, 1000000);
  }
  world.run(900000);
  EXPECT_EQ(world.trials_.counters().trials, 0u);
  world.run(900000);
  EXPECT_GT(world.trials_.counters().trials, 0u) << "but not for ever";
}

TEST(OverlapTrials, WhatPaidInAnEarlierRunIsTriedFirst) {
  World world;
  world.trials_.remember({{"b", "a", OverlapShape::kHalf}, true}, 0, 1000000);
  while (!world.actual_) world.look();
  EXPECT_EQ(world.last_, (Overlap{2, 1, {1}}));
}

TEST(OverlapTrials, TooSlowToBeJudgedIsNotJudged) {
  World world;
  world.steps_per_tick_ = 1.0 / 5000;
  world.run(100000);
  EXPECT_EQ(world.trials_.counters().kept, 0u);
  EXPECT_EQ(world.lost_ticks_, 0u) << "seen in the first arm, which is apart";
}

TEST(OverlapTrials, AClientThatStandsStillIsNoVerdictForEver) {
  World world;
  while (!world.actual_) world.look();
  const double before = world.steps_per_tick_;
  world.steps_per_tick_ = 0;
  world.run(20000);
  world.steps_per_tick_ = before;
  EXPECT_FALSE(world.actual_);
  EXPECT_LE(world.lost_ticks_, 400u);
}

// Truth, noise and verdicts: losers are hardly ever kept, clear winners nearly always, and the time
// and the harm of trials are bounded whatever is true.
// 300 seeds of an hour each, in blocks that can run side by side.
class OverlapTrialsOverSeeds : public ::testing::TestWithParam<uint64_t> {
 public:
  static constexpr uint64_t kBlocks = 6;
  static constexpr uint64_t kSeedsOfBlock = test::kSanitized ? 5 : 50;
};

TEST_P(OverlapTrialsOverSeeds, VerdictsAreRightAndTrialsCheap) {
  int losers = 0;
  int losers_kept = 0;
  int winners = 0;
  int winners_kept = 0;
  const uint64_t first = GetParam() * kSeedsOfBlock + 1;
  for (uint64_t seed = first; seed < first + kSeedsOfBlock; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    OverlapPolicy policy;
    World world(policy, seed);
    world.noise_ = curves::uniform(random, 0.0, 0.3);
    world.steps_per_tick_ = 1 / curves::uniform(random, 10, 400);
    world.shared_ = {{1, curves::uniform(random, 0.4, 1.6)},
                     {2, curves::uniform(random, 0.4, 1.2)}};
    const double gain = (world.shared_[1] + world.shared_[2]) / 2 - 1;
    const double worst = std::min(world.shared_[1], world.shared_[2]) - 1;
    const uint64_t hour = 3600000;
    world.run(hour);
    const OverlapCounters& counters = world.trials_.counters();
    EXPECT_LE(counters.trial_ticks, policy.trial_share * hour + 20000);
    const bool kept = counters.kept > 0 && world.trials_.view().has_value();
    if (gain < 0 || worst < -0.2) {
      ++losers;
      losers_kept += kept ? 1 : 0;
    } else if (gain > 0.08 && worst > -0.05) {
      ++winners;
      winners_kept += kept ? 1 : 0;
    }
  }
  if (!test::kSanitized) {
    EXPECT_GT(losers, 8);
    EXPECT_GT(winners, 3);
  }
  EXPECT_EQ(losers_kept, 0) << "of " << losers;
  EXPECT_GE(10 * winners_kept, 9 * winners) << "of " << winners;
  RecordProperty("losers", losers);
  RecordProperty("winners", winners);
}

INSTANTIATE_TEST_SUITE_P(Blocks, OverlapTrialsOverSeeds,
                         ::testing::Range(uint64_t{0}, OverlapTrialsOverSeeds::kBlocks));

}  // namespace
}  // namespace optile::sched
