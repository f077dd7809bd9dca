// Two simulated programs with sessions of their own, whose speeds beside each other differ from
// what their curves say, under a controller that may divide the cores otherwise to find out.
#include "daemon/divisions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <random>

#include "daemon/lease_json.h"
#include "tests/daemon/company_fixture.h"
#include "tests/sanitized.h"

namespace optile::daemon {
namespace {

constexpr int kCores = 4;

// A step of so many milliseconds on one thread, of which a part is serial; with one, two, … cores
// beside another it takes so many times as long as its curve says.
struct Scaling {
  double ms = 0;
  double serial = 0;
  std::array<double, kCores> beside = {1, 1, 1, 1};

  double seconds(int cores) const { return ms * 1e-3 * (serial + (1 - serial) / cores); }
  double alone() const { return seconds(kCores); }  // at its best
  double progress(int cores) const {
    return alone() / (seconds(cores) * beside[static_cast<std::size_t>(cores) - 1]);
  }
};

class DivisionsTest : public CompanyTest {
 protected:
  DivisionsTest() { begin({.divisions = true}); }

  int cores(std::size_t place) const {
    const auto mask = masks_.find(id(place));
    const bool all = mask == masks_.end() || mask->second.empty();
    return all ? kCores : static_cast<int>(mask->second.size());
  }
  void add(const std::string& name, const Scaling& scaling) {
    const std::size_t place = programs_.size();
    CompanyTest::add(name, [this, place, scaling](int width) {
      const int mine = cores(place);
      double seconds = scaling.seconds(std::min(width, mine));
      if (width > mine) seconds *= 1.5;
      if (programs_.size() > 1) seconds *= scaling.beside[static_cast<std::size_t>(mine) - 1];
      return static_cast<uint64_t>(1e9 * seconds);
    });
  }
  // By curves 2 + 2 and 3 + 1 are equal; side by side 3 + 1 is better by a tenth.
  void add_misjudged() {
    add("large", {30, 0.15, {1, 1, 0.85, 1}});
    add("small", {20, 0.5});
  }
  // Of both, in so many seconds: work done a second, in what each does alone at its best.
  double progress(const std::array<Scaling, 2>& scaling, uint64_t seconds) {
    const std::array<uint64_t, 2> before = {programs_[0]->steps, programs_[1]->steps};
    run(seconds);
    double sum = 0;
    for (std::size_t i = 0; i < 2; ++i) {
      const auto steps = static_cast<double>(programs_[i]->steps - before[i]);
      sum += steps * scaling[i].alone() / static_cast<double>(seconds);
    }
    return sum;
  }
  void forget_everything() {
    controller_.reset();
    store_ = Store::open(":memory:");
  }
  const sched::DivisionCounters& counters() const { return controller_->divisions().counters(); }
};

TEST_F(DivisionsTest, WhatCurvesMisjudgeIsFoundKeptSaidAndShown) {
  add_misjudged();
  run(15);
  ASSERT_EQ(cores(0), 2) << said_;
  ASSERT_EQ(counters().trials, 0u) << said_;
  run(60, [this] { return controller_->divisions().tries(); });
  const Json tried = leases_json(*controller_)["divisions"];
  EXPECT_EQ(tried["now"]["cores"], 1) << tried;
  run(120);
  EXPECT_EQ(cores(0), 3) << said_;
  EXPECT_EQ(cores(1), 1);
  EXPECT_EQ(counters().kept, 1u) << said_;
  EXPECT_EQ(leases_json(*controller_)["divisions"]["kept"], 1);
  EXPECT_EQ(lines_with("is tried with 3 cores, client 2 with 1"), 1u) << said_;
  EXPECT_EQ(lines_with("keeps 3 cores"), 1u) << said_;
  EXPECT_EQ(lines_with("from 2 cores to 3 cores"), 0u) << "each arm is not news: " << said_;
  run(600);
  EXPECT_EQ(cores(0), 3) << said_;
}

TEST_F(DivisionsTest, UnlessItIsOff) {
  begin({.divisions = false});
  add_misjudged();
  run(300);
  EXPECT_EQ(cores(0), 2) << said_;
  EXPECT_EQ(counters().trials, 0u);
  EXPECT_EQ(leases_json(*controller_)["divisions"]["enabled"], false);
}

// The next daemon has it from the store.
TEST_F(DivisionsTest, WhatWasFoundIsTakenUpWhenTheTwoMeetAgain) {
  add_misjudged();
  run(300, [this] { return counters().kept > 0; });
  ASSERT_EQ(counters().kept, 1u) << said_;
  controller_->flush(true);
  StoreBatch only;
  only.divisions =
      store_->find_divisions(machine_.fingerprint, "/usr/bin/python3\nlarge\npython3 train.py");
  ASSERT_EQ(only.divisions.size(), 1u);
  forget_everything();
  ASSERT_TRUE(store_->write(only).ok());
  said_.clear();
  begin({.divisions = true});
  add_misjudged();
  run(12);
  EXPECT_EQ(cores(0), 3) << said_;
  EXPECT_EQ(lines_with("from 2 cores to 3 cores: that division was measured to be better, earlier"),
            1u)
      << said_;
  EXPECT_EQ(counters().trials, 0u);
}

TEST_F(DivisionsTest, AWordEndsWhatIsTriedAndWhatIsHeld) {
  add_misjudged();
  run(60, [this] { return controller_->divisions().tries(); });
  ASSERT_TRUE(controller_->divisions().tries());
  LeaseWord word;
  word.client = id(1);
  word.kind = LeaseWord::Kind::kPin;
  word.cores = {0, 1};
  ASSERT_TRUE(controller_->change_lease(word).ok());
  run(1);
  EXPECT_FALSE(controller_->divisions().tries());
  run(120);
  EXPECT_EQ(cores(1), 2) << said_;
  word.kind = LeaseWord::Kind::kUnpin;
  ASSERT_TRUE(controller_->change_lease(word).ok());
  run(300, [this] { return counters().kept > 0; });
  run(1);
  ASSERT_EQ(cores(0), 3) << said_;
  word.kind = LeaseWord::Kind::kPin;
  ASSERT_TRUE(controller_->change_lease(word).ok());
  EXPECT_EQ(cores(1), 2) << said_;
}

TEST_F(DivisionsTest, WhoComesOrGoesEndsIt) {
  add_misjudged();
  run(300, [this] { return counters().kept > 0; });
  run(1);
  ASSERT_EQ(cores(0), 3) << said_;
  controller_->depart(id(1));
  masks_.erase(id(1));
  programs_.pop_back();
  run(1);
  EXPECT_TRUE(masks_[id(0)].empty()) << "alone: all cores, without a mask";
}

// Programs whose speeds beside each other differ by up to a tenth from what their curves say, and
// some for which curves are right: what they get done, trials included.
TEST_F(DivisionsTest, ProgramsGetMoreDoneWhereCurvesAreWrongAndHardlyLessWhereTheyAreRight) {
  constexpr int kSeeds = ::optile::test::kSanitized ? 3 : 20;
  for (const double wrong : {0.0, 0.1}) {
    std::array<double, 2> first{};  // 120 seconds, without and with trials
    std::array<double, 2> then{};
    for (unsigned seed = 1; seed <= kSeeds; ++seed) {
      for (const bool tries : {false, true}) {
        forget_everything();
        begin({.divisions = tries});
        std::mt19937 random(seed);
        const auto uniform = [&random](double low, double high) {
          return low + (high - low) * static_cast<double>(random()) / 4294967296.0;
        };
        std::array<Scaling, 2> scaling;
        for (Scaling& one : scaling) {
          one = {uniform(10, 60), uniform(0.02, 0.5)};
          for (double& factor : one.beside) factor = uniform(1 - wrong, 1 + wrong);
          add(&one == scaling.data() ? "one" : "other", one);
        }
        double best = 0;
        for (int n = 1; n < kCores; ++n) {
          best = std::max(best, scaling[0].progress(n) + scaling[1].progress(kCores - n));
        }
        const std::size_t way = tries ? 1 : 0;
        first[way] += progress(scaling, 120) / best / kSeeds;
        then[way] += progress(scaling, 120) / best / kSeeds;
      }
    }
    const std::string seen = "wrong by " + std::to_string(wrong) + ": " + std::to_string(first[0]) +
                             " and " + std::to_string(first[1]) + ", then " +
                             std::to_string(then[0]) + " and " + std::to_string(then[1]);
    EXPECT_GT(first[1], first[0] - 0.005) << seen;
    EXPECT_GT(then[1], then[0] - 0.002) << seen;
    if (!::optile::test::kSanitized) {
      EXPECT_GT(then[1], then[0] + (wrong > 0 ? 0.004 : -0.001)) << seen;
    }
    RecordProperty("progress_" + std::to_string(wrong), seen);
  }
}

}  // namespace
}  // namespace optile::daemon
