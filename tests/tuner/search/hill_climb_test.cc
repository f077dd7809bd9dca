#include "tuner/search/hill_climb.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

namespace optile::tuner {
namespace {

using perfmodel::Binding;
using perfmodel::Configuration;
using perfmodel::Nanoseconds;
using perfmodel::unbound_cases;

// Knights Landing as the paper has it: 34 tiles of two cores.
std::vector<Configuration> knights_landing() {
  std::vector<Configuration> cases;
  for (int width = 1; width <= 34; ++width) cases.push_back({width, Binding::kSpread});
  for (int width = 2; width <= 68; width += 2) cases.push_back({width, Binding::kCompact});
  return cases;
}

// Runs what the climb wishes until it wishes nothing; returns the cases that counted.
std::vector<Configuration> climb_through(Search& climb, OpSamples& samples,
                                         const std::function<double(Configuration)>& ns) {
  std::vector<Configuration> run;
  for (int round = 0; round < 200; ++round) {
    const std::vector<Wish> wishes = climb.wishes();
    if (wishes.empty()) break;
    for (const Wish& wish : wishes) {
      samples.profile.record(wish.at, Nanoseconds(static_cast<int64_t>(ns(wish.at))));
      run.push_back(wish.at);
    }
    climb.review();
  }
  return run;
}

TEST(HillClimbGrid, IntervalIsOneUpToEightCoresAndFourAbove) {
  EXPECT_EQ(hill_climb_interval(0, 8), 1);
  EXPECT_EQ(hill_climb_interval(0, 9), 4);
  EXPECT_EQ(hill_climb_interval(2, 68), 2);
}

TEST(HillClimbGrid, KnightsLandingInStepsOfFourHas26Configurations) {
  const std::vector<Configuration> grid = hill_climb_grid(knights_landing(), 68, 4);
  EXPECT_EQ(grid.size(), 26u);
  EXPECT_EQ(grid.front(), (Configuration{1, Binding::kSpread}));
  EXPECT_EQ(grid[1], (Configuration{4, Binding::kSpread}));
  EXPECT_EQ(grid[2], (Configuration{4, Binding::kCompact}));
  EXPECT_EQ(grid.back(), (Configuration{68, Binding::kCompact}));
  EXPECT_EQ(std::count_if(grid.begin(), grid.end(),
                          [](const Configuration& at) { return at.binding == Binding::kSpread; }),
            9);
}

TEST(HillClimbGrid, ClampsLastWidthToAllCores) {
  const std::vector<Configuration> grid = hill_climb_grid(unbound_cases(10), 10, 4);
  EXPECT_EQ(
      grid,
      (std::vector<Configuration>{
          {1, Binding::kNone}, {4, Binding::kNone}, {8, Binding::kNone}, {10, Binding::kNone}}));
}

TEST(HillClimb, StopsWhenTimeRises) {
  OpSamples samples;
  const auto climb =
      make_hill_climb(samples, hill_climb_grid(unbound_cases(8), 8, 0), {8, Binding::kNone});
  const auto run = climb_through(*climb, samples, [](Configuration at) {
    return 1e6 * (10.0 / at.width + at.width);  // least at 3
  });
  EXPECT_EQ(run.back(), (Configuration{4, Binding::kNone}));
  EXPECT_EQ(run.size(), 4u);
  EXPECT_EQ(climb->best(), (Configuration{3, Binding::kNone}));
  EXPECT_EQ(climb->rule(), Rule::kHillClimb);
}

TEST(HillClimb, PicksWidestWhenTimeNeverRises) {
  OpSamples samples;
  const auto climb =
      make_hill_climb(samples, hill_climb_grid(unbound_cases(4), 4, 0), {4, Binding::kNone});
  climb_through(*climb, samples, [](Configuration at) { return 8e6 / at.width; });
  EXPECT_EQ(climb->best(), (Configuration{4, Binding::kNone}));
  EXPECT_EQ(climb->rule(), Rule::kDefaultWidth);
}

TEST(HillClimb, ClimbsBothBindingsAndPicksFasterPeak) {
  OpSamples samples;
  const auto climb =
      make_hill_climb(samples, hill_climb_grid(knights_landing(), 68, 4), {68, Binding::kNone});
  const auto run = climb_through(*climb, samples, [](Configuration at) {
    const double least = at.binding == Binding::kSpread ? 24 : 48;
    const double base = at.binding == Binding::kSpread ? 2e6 : 1.5e6;
    return base + 1e4 * std::abs(at.width - least);
  });
  EXPECT_EQ(climb->best(), (Configuration{48, Binding::kCompact}));
  EXPECT_LE(run.size(), 26u);
  EXPECT_FALSE(std::any_of(run.begin(), run.end(), [](const Configuration& at) {
    return at.binding == Binding::kSpread && at.width > 28;
  }));
}

TEST(HillClimb, RequestsNewWidthTwiceToDiscardFirstRun) {
  OpSamples samples;
  const Configuration one{1, Binding::kNone};
  const auto climb =
      make_hill_climb(samples, hill_climb_grid(unbound_cases(4), 4, 0), {4, Binding::kNone});
  EXPECT_EQ(climb->wishes(), (std::vector<Wish>{{one, 2}}));
  samples.touched[one] = Nanoseconds(5);
  EXPECT_EQ(climb->wishes(), (std::vector<Wish>{{one, 1}}));
}

TEST(HillClimb, RejectsOtherWidthsAfterStopping) {
  OpSamples samples;
  const auto climb =
      make_hill_climb(samples, hill_climb_grid(unbound_cases(4), 4, 0), {4, Binding::kNone});
  climb_through(*climb, samples, [](Configuration at) { return 1e6 * at.width; });
  EXPECT_EQ(climb->best().width, 1);
  EXPECT_FALSE(climb->tolerates({3, Binding::kNone}, 1e9));
}

TEST(HillClimb, SkipsUnavailableConfiguration) {
  OpSamples samples;
  samples.asked[{1, Binding::kNone}] = kAskedInVain;
  const auto climb =
      make_hill_climb(samples, hill_climb_grid(unbound_cases(3), 3, 0), {3, Binding::kNone});
  ASSERT_EQ(climb->wishes().size(), 1u);
  EXPECT_EQ(climb->wishes()[0].at.width, 2);
}

// One sweep on a busy machine whose quiet times are 223, 124, 93 and 68: the climb believes the
// rise at 3 and ends nearly twice as slow as it could be.
TEST(HillClimb, OneNoisySampleStopsFarFromOptimum) {
  const double loaded[] = {250, 215, 307, 252};
  const double quiet[] = {223, 124, 93, 68};
  OpSamples samples;
  const auto climb =
      make_hill_climb(samples, hill_climb_grid(unbound_cases(4), 4, 0), {4, Binding::kNone});
  climb_through(*climb, samples, [&](Configuration at) { return 1e6 * loaded[at.width - 1]; });
  EXPECT_EQ(climb->best().width, 2);
  EXPECT_GT(quiet[climb->best().width - 1] / quiet[3], 1.8);
}

}  // namespace
}  // namespace optile::tuner
