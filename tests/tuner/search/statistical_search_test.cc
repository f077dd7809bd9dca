#include "tuner/search/statistical_search.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

#include "tests/tuner/cases.h"

namespace optile::tuner {
namespace {

using perfmodel::Binding;
using perfmodel::Configuration;
using perfmodel::Nanoseconds;

Nanoseconds ns(double value) {
  return Nanoseconds(std::llround(value));
}

struct Bench {
  OpSamples samples;
  StatisticalOptions options;
  std::function<double(Configuration)> time;
  double noise = 0;
  std::mt19937_64 random{1};
  std::map<Configuration, int> runs;

  explicit Bench(int cores, std::function<double(Configuration)> curve) : time(std::move(curve)) {
    options.own = threads(cores);
    options.cores = cores;
    for (int width = 1; width < cores; ++width) options.admitted.push_back(threads(width));
  }

  void run(Configuration at) {
    std::normal_distribution<double> normal(0, 1);
    const Nanoseconds took = ns(time(at) * std::exp(noise * normal(random)));
    if (runs[at]++ == 0) {
      samples.touched[at] = took;
    } else {
      samples.profile.record(at, took);
    }
    ++samples.asked[at];
  }

  // As the schedule does it: what is wished, interleaved with controls.
  Configuration search() {
    StatisticalSearch search(samples, options);
    for (int page = 0; page < 60; ++page) {
      const std::vector<Wish> wishes = search.wishes();
      if (wishes.empty()) break;
      for (int control = 0; control < 4; ++control) run(options.own);
      for (const Wish& wish : wishes) {
        for (int i = 0; i < wish.runs; ++i) run(wish.at);
      }
      search.review();
    }
    EXPECT_TRUE(search.wishes().empty()) << "the search ends";
    return search.best();
  }
};

std::function<double(Configuration)> table(std::vector<double> ms) {
  return [ms](Configuration at) { return 1e6 * ms[static_cast<std::size_t>(at.width - 1)]; };
}

TEST(StatisticalSearch, FindsBestWidthOfEachCurveShape) {
  EXPECT_EQ(Bench(4, table({20, 12, 9, 11})).search(), threads(3));
  EXPECT_EQ(Bench(4, table({30, 15, 19, 16})).search(), threads(2));
  EXPECT_EQ(Bench(4, table({10, 16, 17, 12})).search(), threads(1));
  EXPECT_EQ(Bench(4, table({40, 20, 13.4, 10})).search(), threads(4));
  EXPECT_EQ(Bench(8, table({9, 8, 7, 6, 7, 8, 7, 5})).search(), threads(8));
}

TEST(StatisticalSearch, KeepsDefaultWidthOnFlatCurve) {
  EXPECT_EQ(Bench(4, table({10, 10, 10, 10})).search(), threads(4));
}

TEST(StatisticalSearch, RarelyLeavesDefaultWidthUnderNoise) {
  int wrong = 0;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    Bench bench(4, table({13, 11, 10.3, 10}));
    bench.noise = 0.10;
    bench.random.seed(seed);
    const Configuration found = bench.search();
    EXPECT_NE(found, threads(1)) << "seed " << seed;
    wrong += found == threads(4) ? 0 : 1;
  }
  EXPECT_LE(wrong, 20);
}

TEST(StatisticalSearch, FindsTwentyPercentGainUnderTenPercentNoise) {
  int found = 0;
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    Bench bench(4, table({14, 8, 9.5, 10}));
    bench.noise = 0.10;
    bench.random.seed(seed);
    found += bench.search() == threads(2) ? 1 : 0;
  }
  EXPECT_GE(found, 80);
}

TEST(StatisticalSearch, RejectsFarSlowerWidthAfterFirstRun) {
  Bench bench(4, table({40, 20, 13.4, 10}));
  EXPECT_EQ(bench.search(), threads(4));
  EXPECT_EQ(bench.runs[threads(1)], 1);
  EXPECT_EQ(bench.runs[threads(2)], 1);
  EXPECT_GT(bench.runs[threads(3)], 1);
}

TEST(StatisticalSearch, IgnoresSlowFirstRunOfShortOp) {
  Bench bench(4, table({0.05, 0.08, 0.09, 0.1}));
  const auto curve = bench.time;
  bench.time = [&](Configuration at) { return curve(at) + (bench.runs[at] == 0 ? 0.7e6 : 0); };
  EXPECT_EQ(bench.search(), threads(1));
}

TEST(StatisticalSearch, GivesUpUnavailableConfiguration) {
  OpSamples samples;
  StatisticalOptions options;
  options.own = threads(4);
  options.cores = 4;
  options.admitted = {threads(2)};
  for (int i = 0; i < 5; ++i) samples.profile.record(threads(4), ns(1e6));
  StatisticalSearch search(samples, options);
  EXPECT_EQ(search.wishes().size(), 1u);
  samples.asked[threads(2)] = kAskedInVain;
  search.review();
  EXPECT_TRUE(search.wishes().empty());
  EXPECT_EQ(search.rule(), Rule::kDefaultWidth);
}

TEST(StatisticalSearch, HalvesThenRefinesOnManyCores) {
  Bench bench(
      64, [](Configuration at) { return 1e6 * (64.0 / at.width + 0.25 * at.width); });  // least: 16
  EXPECT_NEAR(bench.search().width, 16, 3);
  EXPECT_LT(bench.runs.size(), 16u);
}

TEST(StatisticalSearch, FindsKneeBetweenHalvingsOnManyCores) {
  Bench bench(64,
              [](Configuration at) { return 1e6 * (100.0 / at.width + 0.05 * at.width); });  // 45
  const int found = bench.search().width;
  const double best = 100.0 / 45 + 0.05 * 45;
  EXPECT_LT(100.0 / found + 0.05 * found, 1.02 * best);
}

TEST(StatisticalSearch, SkipsWidthsBelowHopelessOneOnManyCores) {
  Bench bench(64, [](Configuration at) { return 640e6 / at.width; });
  EXPECT_EQ(bench.search(), threads(64));
  EXPECT_EQ(bench.runs.count(threads(1)), 0u);
  EXPECT_EQ(bench.runs.count(threads(8)), 0u);
}

TEST(StatisticalSearch, TriesBothBindings) {
  Bench bench(68, [](Configuration at) {
    return at.binding == Binding::kCompact ? 1e6 * (10 + std::abs(at.width - 34.0))
                                           : 1e6 * (30 + std::abs(at.width - 68.0));
  });
  bench.options.admitted.clear();
  for (int width = 1; width <= 34; ++width) {
    bench.options.admitted.push_back({width, Binding::kSpread});
  }
  for (int width = 2; width <= 68; width += 2) {
    bench.options.admitted.push_back({width, Binding::kCompact});
  }
  EXPECT_EQ(bench.search(), (Configuration{34, Binding::kCompact}));
}

}  // namespace
}  // namespace optile::tuner
