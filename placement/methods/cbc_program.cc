#include "placement/methods/cbc_program.h"

#include <algorithm>
#include <cmath>
#include <coin/CbcEventHandler.hpp>
#include <coin/CbcHeuristic.hpp>
#include <coin/CbcModel.hpp>
#include <coin/CglGomory.hpp>
#include <coin/CglMixedIntegerRounding2.hpp>
#include <coin/CoinPackedMatrix.hpp>
#include <coin/OsiClpSolverInterface.hpp>

namespace optile::placement {
namespace {

constexpr double kWholeTolerance = 1e-7;
constexpr int kStrong = 8;              // candidates of which branches are tried
constexpr int kRootRounds = 20;         // of cuts
constexpr double kUnknownBound = 1e40;  // beyond it CBC means that nothing is known

// CBC asks it at each node of the tree.
class Ender : public CbcEventHandler {
 public:
  explicit Ender(Budget& budget) : budget_(&budget) {}
  CbcAction event(CbcEvent event) override {
    if (event == node) budget_->count();
    return budget_->spent_now() ? stop : noAction;
  }
  CbcEventHandler* clone() const override { return new Ender(*this); }

 private:
  Budget* budget_;
};

double limit(double value, double infinite) {
  if (std::isfinite(value)) return value;
  return value > 0 ? infinite : -infinite;
}

void load(const Program& program, OsiClpSolverInterface& solver) {
  const double infinite = solver.getInfinity();
  std::vector<double> lower, upper, cost, row_lower, row_upper, factors;
  std::vector<int> rows, columns;
  for (const Program::Column& column : program.columns) {
    lower.push_back(limit(column.lower, infinite));
    upper.push_back(limit(column.upper, infinite));
    cost.push_back(column.cost);
  }
  for (const Program::Row& row : program.rows) {
    for (const auto& [column, factor] : row.entries) {
      rows.push_back(static_cast<int>(row_lower.size()));
      columns.push_back(column);
      factors.push_back(factor);
    }
    row_lower.push_back(limit(row.lower, infinite));
    row_upper.push_back(limit(row.upper, infinite));
  }
  CoinPackedMatrix matrix(false, rows.data(), columns.data(), factors.data(),
                          static_cast<CoinBigIndex>(factors.size()));
  matrix.setDimensions(static_cast<int>(program.rows.size()),
                       static_cast<int>(program.columns.size()));
  solver.loadProblem(matrix, lower.data(), upper.data(), cost.data(), row_lower.data(),
                     row_upper.data());
  for (std::size_t i = 0; i < program.columns.size(); ++i) {
    if (program.columns[i].whole) solver.setInteger(static_cast<int>(i));
  }
}

void be_silent(OsiClpSolverInterface& solver) {
  solver.messageHandler()->setLogLevel(0);
  solver.getModelPtr()->setLogLevel(0);
  solver.setHintParam(OsiDoReducePrint, true, OsiHintTry);
}

}  // namespace

ProgramAnswer solve_program(const Program& program, double cutoff, Budget& budget) {
  ProgramAnswer answer;
  if (budget.spent_now()) return answer;
  OsiClpSolverInterface solver;
  be_silent(solver);
  load(program, solver);
  CbcModel model(solver);
  model.setLogLevel(0);
  model.messageHandler()->setLogLevel(0);
  model.setUseElapsedTime(true);
  if (budget.limits_time()) model.setMaximumSeconds(budget.seconds_left());
  model.setDblParam(CbcModel::CbcIntegerTolerance, kWholeTolerance);
  model.setDblParam(CbcModel::CbcAllowableGap, 0);
  model.setDblParam(CbcModel::CbcAllowableFractionGap, 0);
  model.setCutoff(cutoff);
  std::vector<int> priorities;  // of the whole columns, in their order
  for (const Program::Column& column : program.columns) {
    if (column.whole) priorities.push_back(column.priority);
  }
  model.findIntegers(false);
  if (!priorities.empty()) model.passInPriorities(priorities.data(), false);
  CglGomory gomory;
  CglMixedIntegerRounding2 rounding;
  model.addCutGenerator(&gomory, -1, "gomory");
  model.addCutGenerator(&rounding, -1, "rounding");
  CbcRounding nearest(model);
  model.addHeuristic(&nearest);
  model.setMaximumCutPassesAtRoot(kRootRounds);
  model.setNumberStrong(kStrong);
  Ender ender(budget);
  model.passInEventHandler(&ender);
  model.branchAndBound();
  const double* found = model.bestSolution();
  if (found != nullptr) answer.solution.assign(found, found + program.columns.size());
  answer.complete = model.status() == 0;
  if (answer.complete) {
    answer.bound = found != nullptr ? std::min(cutoff, model.getObjValue()) : cutoff;
  } else if (std::abs(model.getBestPossibleObjValue()) < kUnknownBound) {
    answer.bound = std::min(cutoff, model.getBestPossibleObjValue());
  }
  return answer;
}

}  // namespace optile::placement
