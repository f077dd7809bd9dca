// The smallest sum of tables over variables with few values each: dynamic programming that
// minimises out one variable after the other (bucket elimination). One thread.
#pragma once

#include <cstddef>
#include <vector>

namespace optile::placement::tofu {

struct Table {
  std::vector<int> scope;      // variables, ascending, each once
  std::vector<double> values;  // row-major over the scope
};

struct TableSum {
  std::vector<int> sizes;  // how many values each variable has; at least 1
  std::vector<Table> tables;
};

struct SmallestSum {
  double sum = 0;
  std::vector<int> values;  // of each variable
  bool exact = true;        // otherwise some variable was held at a value for want of room
};

// The variable that makes the smallest table goes first. Where even that would have more than
// `table_entries`, the variable with most neighbours is held at the value that looks best by
// itself, and the answer is the best that agrees with it.
SmallestSum smallest_sum(const TableSum& problem, std::size_t table_entries = 1 << 20);

// Of given values, by looking them up.
double sum_at(const TableSum& problem, const std::vector<int>& values);

}  // namespace optile::placement::tofu
