// Linear programs with whole-number columns, solved by CBC. What CBC is, is known behind this
// header alone.
#pragma once

#include <limits>
#include <utility>
#include <vector>

#include "placement/budget.h"

namespace optile::placement {

// Minimise the sum of cost * column. One row: lower <= sum of its entries <= upper.
struct Program {
  static constexpr double kFree = std::numeric_limits<double>::infinity();

  struct Column {
    double lower = 0;
    double upper = kFree;
    double cost = 0;
    bool whole = false;
    int priority = 1;  // of whole columns: smaller ones are branched on first
  };
  struct Row {
    double lower = -kFree;
    double upper = kFree;
    std::vector<std::pair<int, double>> entries;  // column, factor; no column twice
  };

  std::vector<Column> columns;
  std::vector<Row> rows;

  int add(const Column& column) {
    columns.push_back(column);
    return static_cast<int>(columns.size()) - 1;
  }
};

struct ProgramAnswer {
  // No solution below `cutoff` costs less than this; the cutoff itself where there is none.
  // -infinity where the time ended before anything was known.
  double bound = -std::numeric_limits<double>::infinity();
  bool complete = false;         // the search came to its end
  std::vector<double> solution;  // of each column; empty where none below the cutoff was found
};

// Looks for a solution that costs less than `cutoff`, one thread, until the budget is spent; the
// budget counts each node of the tree. Prints nothing and leaves signals alone: a cancelled budget
// ends it at the next node. `bound` holds up to the solver's tolerances, which are about 1e-6 of
// the largest factor: who needs a proof leaves room for them.
ProgramAnswer solve_program(const Program& program, double cutoff, Budget& budget);

}  // namespace optile::placement
