#include "placement/tofu/table_sum.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace optile::placement::tofu {
namespace {

// Several tables, whose scopes have one to three variables.
TableSum random_sum(std::mt19937_64& random, int variables, int tables) {
  TableSum made;
  for (int i = 0; i < variables; ++i) made.sizes.push_back(1 + static_cast<int>(random() % 4));
  for (int t = 0; t < tables; ++t) {
    Table table;
    std::size_t entries = 1;
    for (int v = 0; v < variables && table.scope.size() < 3; ++v) {
      if (random() % static_cast<std::uint64_t>(variables) > 2) continue;
      table.scope.push_back(v);
      entries *= static_cast<std::size_t>(made.sizes[static_cast<std::size_t>(v)]);
    }
    for (std::size_t i = 0; i < entries; ++i) {
      table.values.push_back(static_cast<double>(random() % 50));
    }
    made.tables.push_back(std::move(table));
  }
  return made;
}

double brute_force(const TableSum& problem) {
  double least = std::numeric_limits<double>::infinity();
  std::vector<int> values(problem.sizes.size(), 0);
  for (;;) {
    least = std::min(least, sum_at(problem, values));
    std::size_t i = 0;
    while (i < values.size() && ++values[i] == problem.sizes[i]) values[i++] = 0;
    if (i == values.size()) return least;
  }
}

TEST(TableSumTest, SmallestSumMatchesBruteForce) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    std::mt19937_64 random(seed);
    const TableSum problem = random_sum(random, 2 + static_cast<int>(seed % 6), 8);
    const SmallestSum found = smallest_sum(problem);
    EXPECT_TRUE(found.exact);
    EXPECT_EQ(found.sum, sum_at(problem, found.values)) << "seed " << seed;
    EXPECT_EQ(found.sum, brute_force(problem)) << "seed " << seed;
  }
}

TEST(TableSumTest, ReportsInexactSumWithoutRoom) {
  int held = 0;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    std::mt19937_64 random(seed);
    const TableSum problem = random_sum(random, 7, 12);
    const SmallestSum found = smallest_sum(problem, 8);
    EXPECT_EQ(found.sum, sum_at(problem, found.values)) << "seed " << seed;
    const double least = brute_force(problem);
    EXPECT_GE(found.sum, least) << "seed " << seed;
    EXPECT_TRUE(!found.exact || found.sum == least) << "seed " << seed;
    held += found.exact ? 0 : 1;
  }
  EXPECT_GT(held, 0);
}

TEST(TableSumTest, FreeVariablesTakeTheirFirstValue) {
  const SmallestSum found = smallest_sum({{3, 2}, {{{1}, {4, 1}}}});
  EXPECT_EQ(found.values, (std::vector<int>{0, 1}));
  EXPECT_EQ(found.sum, 1);
}

}  // namespace
}  // namespace optile::placement::tofu
