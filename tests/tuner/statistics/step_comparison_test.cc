#include "tuner/statistics/step_comparison.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

namespace optile::tuner {
namespace {

using perfmodel::Nanoseconds;

struct Result {
  int winner = 0;
  int steps = 0;
};

// Runs a comparison to its end; `time` gives the seconds of the n-th step at a candidate.
Result compare(ComparisonOptions options, const std::function<double(int, int)>& time) {
  StepComparison comparison(options);
  Result run;
  for (int page = 0; page < 20 && !comparison.decided(); ++page) {
    const std::vector<int> columns = comparison.next_page();
    EXPECT_LE(columns.size(), 16u);
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const double seconds = time(columns[i], run.steps++);
      if (seconds > 0) {
        comparison.record(static_cast<int>(i), Nanoseconds(std::llround(seconds * 1e9)));
      }
    }
    comparison.close_page();
  }
  EXPECT_TRUE(comparison.decided());
  run.winner = comparison.winner();
  return run;
}

TEST(SignedRank, SignFollowsHeavierSide) {
  EXPECT_EQ(signed_rank_z({}), 0);
  EXPECT_EQ(signed_rank_z({0, 0}), 0);
  EXPECT_GT(signed_rank_z({1, 2, 3, 4, 5}), 2.0);
  EXPECT_LT(signed_rank_z({-1, -2, -3, -4, -5}), -2.0);
  EXPECT_LT(signed_rank_z({1, 2, 3, 4}), 2.0) << "four alike settle nothing";
  EXPECT_DOUBLE_EQ(signed_rank_z({1, -1}), 0);
}

TEST(StepComparison, SettlesClearGainInOnePage) {
  const Result run = compare({.candidates = 3}, [](int candidate, int) {
    return candidate == 2 ? 0.8 : candidate == 1 ? 0.9 : 1.0;
  });
  EXPECT_EQ(run.winner, 2);
  EXPECT_LE(run.steps, 16);
}

TEST(StepComparison, CreditsSavedTimeToCandidate) {
  const auto gains_three_percent = [](int candidate, int) { return candidate == 1 ? 0.97 : 1.0; };
  EXPECT_EQ(compare({.candidates = 2}, gains_three_percent).winner, 1);
  const Nanoseconds saved(40'000'000);
  EXPECT_EQ(compare({.candidates = 2, .saves = {saved}}, gains_three_percent).winner, 0);
  EXPECT_EQ(compare({.candidates = 2, .saves = {saved, saved}}, gains_three_percent).winner, 1);
}

TEST(StepComparison, PrefersSimplerAmongEqualCandidates) {
  int moved = 0;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    std::mt19937_64 random(seed);
    std::normal_distribution<double> normal(0, 1);
    const Result run = compare({.candidates = 2, .seed = seed},
                               [&](int, int) { return std::exp(0.05 * normal(random)); });
    moved += run.winner;
  }
  EXPECT_LT(moved, 25);
}

TEST(StepComparison, RejectsSlowerCandidateUnderHeavyNoise) {
  int harmed = 0;
  for (uint64_t seed = 1; seed <= 500; ++seed) {
    std::mt19937_64 random(seed);
    std::normal_distribution<double> normal(0, 1);
    std::uniform_real_distribution<double> uniform(0, 1);
    const Result run = compare({.candidates = 2, .seed = seed}, [&](int candidate, int) {
      const double hit = uniform(random) < 0.1 ? 3.0 : 1.0;
      return hit * (candidate == 1 ? 1.05 : 1.0) * std::exp(0.05 * normal(random));
    });
    harmed += run.winner;
  }
  EXPECT_LE(harmed, 5);
}

TEST(StepComparison, LimitsNumberOfSteps) {
  const Result run = compare({.candidates = 3, .most_steps = 48}, [](int candidate, int step) {
    return 1.0 + 0.1 * ((step * 7 + candidate) % 5);
  });
  EXPECT_LE(run.steps, 48 + 4) << "and one uncounted step a page";
}

TEST(StepComparison, FindsFasterCandidateDespiteDrift) {
  const Result run = compare({.candidates = 2}, [](int candidate, int step) {
    return (1.0 + 0.05 * step) * (candidate == 1 ? 0.97 : 1.0);
  });
  EXPECT_EQ(run.winner, 1);
}

TEST(StepComparison, ToleratesLostSteps) {
  const Result run = compare({.candidates = 2}, [](int candidate, int step) {
    return step % 7 == 3 ? 0.0 : candidate == 1 ? 0.9 : 1.0;
  });
  EXPECT_EQ(run.winner, 1);
  EXPECT_EQ(compare({.candidates = 2}, [](int, int) { return 0.0; }).winner, 0)
      << "nothing arrived: the simplest stays";
}

TEST(StepComparison, KeepsForcedPlanUnlessItIsSlower) {
  const auto times = [](double last) {
    return [last](int candidate, int step) {
      return (candidate == 1 ? last : 1.0) + 0.02 * ((step * 5) % 7);
    };
  };
  EXPECT_EQ(compare({.candidates = 2, .keep_last = true}, times(1.0)).winner, 1);
  EXPECT_EQ(compare({.candidates = 2, .keep_last = true}, times(1.3)).winner, 0);
}

}  // namespace
}  // namespace optile::tuner
