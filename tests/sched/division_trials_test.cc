// Clients whose speeds beside each other are set by the test, whatever their curves say, a clock
// that it moves, and what the division trials make of them. The seeded part checks what is held in
// the end against every division, and how much the trials cost.
#include "sched/division_trials.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tests/sched/curves.h"

namespace optile::sched {
namespace {

using curves::Random;

constexpr uint64_t kLook = 20;  // ticks
constexpr uint64_t kHour = 3'600'000;

class World {
 public:
  using Speed = std::function<double(int cores)>;  // of that alone at its own best

  explicit World(uint64_t seed = 1) : random_(seed) {}

  void add(ClientId id, int cores, const Speed& curve, const Speed& truth) {
    DivisionClient made;
    made.id = id;
    made.program = std::string(1, static_cast<char>('a' + id));
    made.fit = true;
    made.cores = cores;
    for (int n = 1; n <= kCores; ++n) made.progress.push_back(curve(n));
    clients_.push_back(std::move(made));
    plan_[id] = cores;
    truth_[id] = truth;
  }

  void look() {
    tick_ += kLook;
    for (DivisionClient& one : clients_) {
      const double speed = truth_.at(one.id)(one.cores);
      const double noise = 1 + noise_ * curves::uniform(random_, -1, 1);
      done_[one.id] += kLook * steps_per_tick_ * speed * noise;
      one.steps = static_cast<uint64_t>(done_[one.id]);
      progress_ += kLook * one.weight * speed;
      if (one.searches && tick_ >= settled_at_[one.id]) {
        one.searches = false;
        one.fit = true;
      }
    }
    const std::optional<CoreCounts>& held = trials_.look(tick_, clients_);
    for (DivisionClient& one : clients_) {
      const bool named = held && held->contains(one.id) && obeyed_;
      const int cores = named ? held->at(one.id) : plan_.at(one.id);
      if (cores == one.cores) continue;
      one.cores = cores;
      one.fit = false;
      one.searches = true;
      settled_at_[one.id] = tick_ + search_;
      ++moves_;
    }
    for (DivisionNote& one : trials_.take_notes()) notes_ += one.text + "\n";
  }
  void run(uint64_t ticks) {
    for (const uint64_t end = tick_ + ticks; tick_ < end;) look();
  }
  double worth(const CoreCounts& counts) const {
    double sum = 0;
    for (const DivisionClient& one : clients_) {
      sum += one.weight * truth_.at(one.id)(counts.at(one.id));
    }
    return sum;
  }
  double worth_now() const {
    CoreCounts counts;
    for (const DivisionClient& one : clients_) counts[one.id] = one.cores;
    return worth(counts);
  }
  int cores(ClientId id) const {
    return std::find_if(clients_.begin(), clients_.end(),
                        [id](const auto& one) { return one.id == id; })
        ->cores;
  }

  static constexpr int kCores = 4;
  DivisionTrials trials_;
  Random random_;
  std::vector<DivisionClient> clients_;
  CoreCounts plan_;
  std::map<ClientId, Speed> truth_;
  std::map<ClientId, double> done_;
  std::map<ClientId, uint64_t> settled_at_;
  double noise_ = 0.05;
  double steps_per_tick_ = 0.02;  // 50 ms a step at its best
  uint64_t search_ = 2000;
  bool obeyed_ = true;  // whether what is to be held is
  std::string notes_;
  uint64_t tick_ = 0;
  double progress_ = 0;  // of all, by ticks
  int moves_ = 0;
};

// Amdahl's law, as a part of the speed with all four cores.
World::Speed law(double serial) {
  const double best = 1 / (serial + (1 - serial) / World::kCores);
  return [serial, best](int cores) { return 1 / (serial + (1 - serial) / cores) / best; };
}
World::Speed times(const World::Speed& speed, std::vector<double> by_cores) {
  return [speed, by_cores](int cores) {
    return speed(cores) * by_cores[static_cast<std::size_t>(cores - 1)];
  };
}

// A larger network beside a small one: by curves from each alone 3 + 1 is ahead by a little, and
// beside the other 2 + 2 is better by a tenth.
void add_misjudged(World& world) {
  const World::Speed large = law(0.15);
  const World::Speed small = law(0.3);
  world.add(1, 3, large, times(large, {1, 1.05, 0.95, 1}));
  world.add(2, 1, small, times(small, {1, 1.15, 1, 1}));
}

TEST(DivisionTrials, WhatCurvesMisjudgeIsFoundAndKept) {
  World world;
  add_misjudged(world);
  ASSERT_GT(world.worth({{1, 2}, {2, 2}}), 1.05 * world.worth({{1, 3}, {2, 1}}));
  world.run(120000);
  EXPECT_EQ(world.cores(1), 2) << world.notes_;
  EXPECT_EQ(world.cores(2), 2);
  EXPECT_EQ(world.trials_.counters().kept, 1u);
  EXPECT_NE(world.notes_.find("client 2 is tried with 2 cores"), std::string::npos);
  EXPECT_NE(world.notes_.find("client 2 keeps 2 cores"), std::string::npos) << world.notes_;
  world.run(kHour / 2);
  EXPECT_EQ(world.cores(2), 2) << world.notes_;
}

TEST(DivisionTrials, WhereCurvesAreRightTheirDivisionStaysAndTrialsCostLittle) {
  World world;
  world.add(1, 3, law(0.05), law(0.05));
  world.add(2, 1, law(0.8), law(0.8));
  ASSERT_GT(world.worth({{1, 3}, {2, 1}}), 1.02 * world.worth({{1, 2}, {2, 2}}));
  world.run(kHour / 4);
  EXPECT_EQ(world.cores(1), 3) << world.notes_;
  EXPECT_EQ(world.trials_.counters().kept, 0u) << world.notes_;
  EXPECT_LE(world.trials_.counters().trials, 2u) << world.notes_;
  const double unmoved = world.worth({{1, 3}, {2, 1}}) * static_cast<double>(world.tick_);
  EXPECT_GT(world.progress_, 0.995 * unmoved);
}

TEST(DivisionTrials, NothingIsTriedThatLosesFarMoreThanCurvesAreWrongBy) {
  World world;
  world.add(1, 3, law(0.0), law(0.0));
  world.add(
      2, 1, [](int) { return 1.0; }, law(0.9));
  world.run(kHour / 4);
  EXPECT_EQ(world.trials_.counters().trials, 0u) << world.notes_;
  EXPECT_EQ(world.moves_, 0);
}

TEST(DivisionTrials, WhoMakesFarFewerStepsThanItsCurveSaysEndsItAtOnce) {
  World world;
  world.add(1, 2, law(0.3), times(law(0.3), {0.4, 1, 1, 1}));
  world.add(2, 2, law(0.1), law(0.1));
  world.run(120000);
  EXPECT_EQ(world.cores(1), 2);
  EXPECT_NE(world.notes_.find("client 1 made far fewer steps"), std::string::npos) << world.notes_;
  EXPECT_EQ(world.trials_.counters().kept, 0u) << world.notes_;
}

TEST(DivisionTrials, WhateverComesBetweenEndsWhatIsTried) {
  const std::vector<std::function<void(World&)>> events = {
      [](World& world) { world.clients_.pop_back(); },
      [](World& world) { world.clients_[0].weight = 3; },
      [](World& world) { world.clients_[0].fit = false; },
      [](World& world) { world.trials_.end(world.tick_, "a word of the user"); }};
  for (const auto& event : events) {
    World world;
    add_misjudged(world);
    while (world.cores(2) != 2) world.look();
    world.run(3000);
    event(world);
    world.look();
    EXPECT_FALSE(world.trials_.tries());
    EXPECT_EQ(world.trials_.counters().interrupted, 1u) << world.notes_;
    EXPECT_EQ(world.cores(1), 3) << world.notes_;
    EXPECT_EQ(world.trials_.counters().kept, 0u);
  }
}

TEST(DivisionTrials, ATrialThatIsAlwaysInterruptedIsGivenUp) {
  World world;
  add_misjudged(world);
  for (int round = 0; round < 400; ++round) {
    while (world.tick_ % 5000 != 0) world.look();
    world.clients_[0].fit = false;  // waits for data every five seconds
    world.look();
    world.clients_[0].fit = true;
    world.look();
  }
  EXPECT_EQ(world.trials_.counters().trials, 3u) << world.notes_;
  EXPECT_EQ(world.trials_.counters().interrupted, 3u);
}

TEST(DivisionTrials, ASearchThatFindsNoPlanEndsIt) {
  World world;
  add_misjudged(world);
  world.search_ = kHour;
  world.run(150000);
  EXPECT_EQ(world.cores(1), 3) << world.notes_;
  EXPECT_NE(world.notes_.find("no plan is found"), std::string::npos) << world.notes_;
}

TEST(DivisionTrials, WhatIsHeldEndsWhenCurvesSeeFarMore) {
  World world;
  add_misjudged(world);
  world.run(120000);
  ASSERT_EQ(world.cores(1), 2) << world.notes_;
  // The small one has become serial.
  for (double& one : world.clients_[1].progress) one = 1;
  world.clients_[0].progress = {0.1, 0.2, 0.6, 1};
  world.run(1000);
  EXPECT_EQ(world.cores(1), 3) << world.notes_;
}

TEST(DivisionTrials, WhoTakesNoPartIsNotHeldToItsCores) {
  World world;
  add_misjudged(world);
  world.add(3, 1, law(0.5), law(0.5));
  world.clients_.back().fit = false;
  world.run(120000);
  EXPECT_EQ(world.trials_.counters().kept, 1u) << world.notes_;
  const auto& held = world.trials_.look(world.tick_, world.clients_);
  ASSERT_TRUE(held);
  EXPECT_EQ(*held, (CoreCounts{{1, 2}, {2, 2}}));
}

TEST(DivisionTrials, NothingIsTriedWhileSomebodySearches) {
  World world;
  add_misjudged(world);
  world.add(3, 1, law(0.5), law(0.5));
  world.clients_.back().fit = false;
  world.clients_.back().searches = true;
  world.settled_at_[3] = 60000;
  world.run(59000);
  EXPECT_EQ(world.trials_.counters().trials, 0u) << world.notes_;
  world.run(30000);
  EXPECT_EQ(world.trials_.counters().trials, 1u) << world.notes_;
}

TEST(DivisionTrials, WhatWasKeptAndHadToEndIsTakenUpAgain) {
  World world;
  add_misjudged(world);
  world.run(120000);
  ASSERT_EQ(world.trials_.counters().kept, 1u) << world.notes_;
  world.trials_.end(world.tick_, "a word of the user");
  world.run(5000);
  EXPECT_EQ(world.cores(1), 2) << world.notes_;
  world.run(kHour / 2);
  EXPECT_EQ(world.trials_.counters().kept, 1u) << world.notes_;
  EXPECT_EQ(world.cores(1), 2) << world.notes_;
}

// What one daemon found, in another one's hands.
std::vector<DivisionFinding> found_by(const std::function<void(World&)>& add, uint64_t ticks) {
  World world;
  add(world);
  world.run(ticks);
  return world.trials_.take_findings();
}

TEST(DivisionTrials, WhatAnEarlierRunFoundIsTakenUpWithoutATrial) {
  const std::vector<DivisionFinding> found = found_by(add_misjudged, 120000);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].taker, 2u);
  EXPECT_TRUE(found[0].verdict.pays);
  EXPECT_GT(found[0].verdict.gain, 0.02);
  World world;
  add_misjudged(world);
  world.trials_.remember(found[0].verdict, 0, kHour);
  world.run(10000);
  EXPECT_EQ(world.cores(1), 2) << world.notes_;
  world.run(kHour / 2);
  EXPECT_EQ(world.cores(1), 2) << world.notes_;
  EXPECT_EQ(world.notes_.find("tried with 2 cores"), std::string::npos) << world.notes_;
}

TEST(DivisionTrials, WhatLostEarlierIsNotTriedWhileThatIsBelieved) {
  const auto add = [](World& world) {
    world.add(1, 3, law(0.1), law(0.1));
    world.add(2, 1, law(0.3), law(0.3));
  };
  const std::vector<DivisionFinding> found = found_by(add, 120000);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_FALSE(found[0].verdict.pays);
  World world;
  add(world);
  world.trials_.remember(found[0].verdict, 0, kHour / 4);
  world.run(kHour / 4);
  EXPECT_EQ(world.trials_.counters().trials, 0u) << world.notes_;
  world.run(60000);
  EXPECT_EQ(world.trials_.counters().trials, 1u) << world.notes_;
}

TEST(DivisionTrials, AVerdictIsAboutTheseSharesAndTheseCores) {
  const std::vector<DivisionFinding> found = found_by(add_misjudged, 120000);
  ASSERT_EQ(found.size(), 1u);
  for (const auto& change : std::vector<std::function<void(DivisionVerdict&)>>{
           [](DivisionVerdict& one) { one.key.weights = 2; },
           [](DivisionVerdict& one) { one.key.giver_cores = 4; },
           [](DivisionVerdict& one) { one.key.taker = "another"; }}) {
    DivisionVerdict verdict = found[0].verdict;
    change(verdict);
    World world;
    add_misjudged(world);
    world.trials_.remember(verdict, 0, kHour);
    world.run(10000);
    EXPECT_EQ(world.cores(1), 3) << world.notes_;
  }
}

TEST(DivisionTrials, AVerdictAboutAnotherProgramOfThatNameIsLeftAlone) {
  const std::vector<DivisionFinding> found = found_by(add_misjudged, 120000);
  ASSERT_EQ(found.size(), 1u);
  World world;
  world.add(1, 3, law(0.0), law(0.0));
  world.add(
      2, 1, [](int) { return 1.0; }, law(0.9));
  world.trials_.remember(found[0].verdict, 0, kHour);
  world.run(kHour / 4);
  EXPECT_EQ(world.cores(1), 3) << world.notes_;
}

TEST(DivisionTrials, AVerdictThatCurvesHaveOvertakenIsTriedAnew) {
  const std::vector<DivisionFinding> found = found_by(add_misjudged, 120000);
  ASSERT_EQ(found.size(), 1u);
  World world;
  add_misjudged(world);
  world.trials_.remember(found[0].verdict, 0, 10 * kHour);
  world.run(10000);
  ASSERT_EQ(world.cores(1), 2) << world.notes_;
  for (double& one : world.clients_[1].progress) one *= 0.8;
  world.run(1000);
  EXPECT_EQ(world.cores(1), 3) << world.notes_;
  world.run(120000);
  EXPECT_GE(world.trials_.counters().trials, 1u) << world.notes_;
}

// Cores passed twice, one by one: both verdicts are needed to get there again.
TEST(DivisionTrials, VerdictsThatFollowFromEachOtherAreTakenUpOneAfterTheOther) {
  World world;
  add_misjudged(world);
  world.trials_.remember({{"b", "c", 3, 1, 1}, true}, 0, kHour);
  world.trials_.remember({{"b", "c", 2, 2, 1}, true}, 0, kHour);
  world.run(10000);
  EXPECT_EQ(world.cores(1), 1) << world.notes_;
  EXPECT_EQ(world.cores(2), 3) << world.notes_;
}

TEST(DivisionTrials, CoresThatDoNotPassEndIt) {
  World world;
  add_misjudged(world);
  world.obeyed_ = false;
  while (!world.trials_.tries()) world.look();
  const uint64_t begun = world.tick_;
  while (world.trials_.tries()) world.look();
  EXPECT_LT(world.tick_ - begun, 10000u);
  EXPECT_EQ(world.moves_, 0);
  EXPECT_NE(world.notes_.find("others take part"), std::string::npos) << world.notes_;
}

TEST(DivisionTrials, WhoIsAloneAfterwardsIsNotInATrial) {
  World world;
  add_misjudged(world);
  while (world.cores(2) != 2) world.look();
  world.clients_.pop_back();
  world.tick_ += 10 * kHour;
  world.look();
  EXPECT_FALSE(world.trials_.tries());
  EXPECT_LT(world.trials_.counters().trial_ticks, 60000u);
}

TEST(DivisionTrials, ATakerThatHasNothingToGainGetsNoTrial) {
  World world;
  world.add(1, 2, law(0.1), law(0.1));
  const World::Speed flat = [](int cores) { return cores == 1 ? 0.995 : 0.9999 + cores * 1e-5; };
  world.add(2, 2, flat, flat);
  world.run(kHour / 4);
  for (const char* tried : {"client 2 is tried", "client 2 keeps"}) {
    EXPECT_EQ(world.notes_.find(tried), std::string::npos) << world.notes_;
  }
}

// On more cores than a person counts, an eighth of the giver's passes at a time.
TEST(DivisionTrials, OnManyCoresAnEighthPassesAtATime) {
  DivisionTrials trials;
  std::vector<DivisionClient> clients(2);
  for (std::size_t i = 0; i < 2; ++i) {
    clients[i].id = i + 1;
    clients[i].program = i == 0 ? "a" : "b";
    clients[i].fit = true;
    clients[i].cores = 192;
    for (int n = 1; n <= 384; ++n) {
      clients[i].progress.push_back(std::log2(1 + n) / std::log2(385));
    }
  }
  for (uint64_t tick = 0; tick < 20000 && !trials.tries(); tick += kLook) {
    trials.look(tick, clients);
  }
  ASSERT_TRUE(trials.view());
  EXPECT_EQ(trials.view()->cores, 24);
}

// Curves of random programs, wrong by up to a tenth at each number of cores; the plan divides by
// them, as the allocation would.
TEST(DivisionTrials, InTheEndDivisionsAreNearerToTheBestThanCurvesAre) {
  double by_curves = 0;
  double with_trials = 0;
  int worse = 0;
  constexpr int kSeeds = 60;
  for (int seed = 1; seed <= kSeeds; ++seed) {
    World world(static_cast<uint64_t>(seed));
    Random random(static_cast<uint64_t>(seed) + 1000);
    std::array<World::Speed, 2> curve;
    std::array<World::Speed, 2> truth;
    for (std::size_t i = 0; i < 2; ++i) {
      curve[i] = law(curves::uniform(random, 0.02, 0.6));
      std::vector<double> wrong;
      for (int n = 1; n <= World::kCores; ++n) wrong.push_back(curves::uniform(random, 0.9, 1.1));
      truth[i] = times(curve[i], wrong);
    }
    int planned = 1;
    double best = 0;
    for (int n = 1; n < World::kCores; ++n) {
      best = std::max(best, truth[0](n) + truth[1](World::kCores - n));
      if (curve[0](n) + curve[1](World::kCores - n) >
          curve[0](planned) + curve[1](World::kCores - planned)) {
        planned = n;
      }
    }
    world.add(1, planned, curve[0], truth[0]);
    world.add(2, World::kCores - planned, curve[1], truth[1]);
    const double before = world.worth_now() / best;
    world.run(kHour / 4);
    const double after = world.worth_now() / best;
    by_curves += before / kSeeds;
    with_trials += after / kSeeds;
    worse += after < before - 0.005 ? 1 : 0;
  }
  EXPECT_GT(with_trials, 0.99) << "by curves alone " << by_curves;
  EXPECT_GT(with_trials, by_curves + 0.005) << by_curves;
  EXPECT_LE(worse, kSeeds / 50) << "a wrong verdict is rare";
}

}  // namespace
}  // namespace optile::sched
