#include "sched/leases/core_knapsack.h"

#include <gtest/gtest.h>

#include "tests/sched/leases/curves.h"

namespace optile::sched {
namespace {

constexpr uint64_t kPlenty = 1'000'000'000;

// Plain dynamic programming, as slow as it is simple.
double by_the_book(const std::vector<KnapsackRow>& rows, int cores) {
  for (const KnapsackRow& row : rows) cores -= row.least;
  std::vector<double> best(static_cast<std::size_t>(cores) + 1, 0.0);
  for (const KnapsackRow& row : rows) {
    std::vector<double> next(best.size(), -1e300);
    for (std::size_t c = 0; c < best.size(); ++c) {
      for (std::size_t k = 0; k < row.worth.size() && k <= c; ++k) {
        next[c] = std::max(next[c], best[c - k] + row.worth[k]);
      }
    }
    best = next;
  }
  return best.back();
}

std::vector<KnapsackRow> random_rows(curves::Random& random, int rows, int cores) {
  std::vector<KnapsackRow> made;
  for (int i = 0; i < rows; ++i) {
    made.push_back({curves::integer(random, 0, 1), curves::any(random, cores)});
  }
  return made;
}

double worth_of(const std::vector<KnapsackRow>& rows, const std::vector<int>& cores) {
  double sum = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    sum += rows[i].worth.at(static_cast<std::size_t>(cores[i] - rows[i].least));
  }
  return sum;
}

TEST(CoreKnapsack, IsExactOnRandomCurves) {
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE(seed);
    curves::Random random(seed);
    const int cores = curves::integer(random, 4, 40);
    const std::vector<KnapsackRow> rows = random_rows(random, curves::integer(random, 1, 4), cores);
    const KnapsackChoice choice = choose_cores(rows, cores, kPlenty);
    EXPECT_TRUE(choice.exact);
    EXPECT_NEAR(choice.worth, by_the_book(rows, cores), 1e-9);
    EXPECT_NEAR(choice.worth, worth_of(rows, choice.cores), 1e-9);
    int sum = 0;
    for (int n : choice.cores) sum += n;
    EXPECT_LE(sum, cores);
  }
}

struct Shortfall {
  double worst = 1.0;  // worth over the greatest
  int inexact = 0;
};

Shortfall with_operations(uint64_t most_operations) {
  Shortfall shortfall;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    curves::Random random(seed);
    const int cores = curves::integer(random, 16, 96);
    const std::vector<KnapsackRow> rows =
        random_rows(random, curves::integer(random, 4, 12), cores);
    const KnapsackChoice choice = choose_cores(rows, cores, most_operations);
    const double best = by_the_book(rows, cores);
    EXPECT_LE(choice.worth, best + 1e-9);
    EXPECT_GE(choice.bound, best - 1e-9);
    EXPECT_NEAR(choice.worth, worth_of(rows, choice.cores), 1e-9);
    shortfall.worst = std::min(shortfall.worst, choice.worth / best);
    if (!choice.exact) ++shortfall.inexact;
  }
  return shortfall;
}

TEST(CoreKnapsack, StaysNearOptimumWithFewOperations) {
  const Shortfall none = with_operations(0);
  EXPECT_GT(none.inexact, 50);
  EXPECT_GE(none.worst, 0.85);
  const Shortfall few = with_operations(3'000);
  EXPECT_GT(few.inexact, 10);
  EXPECT_GE(few.worst, 0.9);
}

TEST(CoreKnapsack, LargeProblemsStayWithinOnePercentOfBound) {
  constexpr uint64_t kMost = 2'000'000;
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(seed);
    curves::Random random(seed);
    const int clients = curves::integer(random, 64, 384);
    std::vector<KnapsackRow> rows;
    for (int i = 0; i < clients; ++i) rows.push_back({1, curves::any(random, 384)});
    const KnapsackChoice choice = choose_cores(rows, 384, kMost);
    EXPECT_GE(choice.worth, 0.99 * choice.bound);
    EXPECT_LE(choice.operations, 2 * kMost);
  }
}

TEST(CoreKnapsack, HandlesNoRowsAndNoSpareCores) {
  EXPECT_TRUE(choose_cores({}, 4, kPlenty).cores.empty());
  const KnapsackChoice choice = choose_cores({{2, {0.5}}, {1, {0.1, 0.2}}}, 3, kPlenty);
  EXPECT_EQ(choice.cores, (std::vector<int>{2, 1}));
}

TEST(CoreKnapsack, GivesEachRowItsBestWhenCoresAbound) {
  const KnapsackChoice choice = choose_cores({{1, {0.1, 0.5, 0.4}}, {1, {0.2, 0.3}}}, 100, kPlenty);
  EXPECT_EQ(choice.cores, (std::vector<int>{2, 2}));
  EXPECT_TRUE(choice.exact);
}

}  // namespace
}  // namespace optile::sched
