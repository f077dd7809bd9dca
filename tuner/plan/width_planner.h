// Which width every op of a step gets, from what is known of their times: strategies 1 and 2 of the
// concurrency control paper (III-D), one width for the whole step, and the shortest path over the
// step's sequence that minimises run time plus the cost of changing width. Strategy 1 is that
// path's limit for free changes, one width for all its limit for dear ones.
//
// A change of width is one between teams: width 1 needs no team and is free on the way in and out.
// Never wider than the default width; a width other than the base is kept only where its gain is
// settled. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "perfmodel/profile/switching_cost.h"
#include "tuner/plan/plan.h"

namespace optile::tuner {

// kThree, kFour, kLookAhead: of ops that run side by side; elsewhere they are kTwo.
enum class Strategy : uint8_t { kAuto, kOne, kTwo, kUniform, kThree, kFour, kLookAhead };

struct WidthEstimate {
  int width = 0;
  double ns = 0;        // per execution
  double error_ns = 0;  // standard error
};

struct PlannedOp {
  std::string name;                   // the op, for strategy 2
  std::vector<WidthEstimate> widths;  // ascending; the default width is among them unless unknown
  bool leave = false;                 // stays at the default width
  int best_width = 0;                 // what its search found; 0 = the default width
  Rule best_rule = Rule::kDefaultWidth;
};

struct PlannerProblem {
  std::vector<PlannedOp> ops;
  std::vector<int> order;  // the step: indices into ops
  int default_width = 1;
  perfmodel::SwitchingCost cost;
  bool one_team = false;  // a runtime that destroys surplus threads: 1 and one other width
};

struct WidthPlan {
  std::vector<int> widths;  // per op, real widths
  std::vector<Rule> rules;
  double run_ns = 0;  // of a step, inside its ops
  double switching_ns = 0;
  int changes = 0;  // between teams, in a step

  double total_ns() const { return run_ns + switching_ns; }
};

// Time of a step when op i runs at widths[i], with the changes it needs (the step repeats, so the
// last op is followed by the first).
WidthPlan evaluate(const PlannerProblem& problem, std::vector<int> widths, Rule rule);

WidthPlan plan_own(const PlannerProblem& problem);
// The best single width; the default width unless another is more than half a percent better.
WidthPlan plan_uniform(const PlannerProblem& problem);
WidthPlan plan_each_best(const PlannerProblem& problem);     // strategy 1
WidthPlan plan_one_per_name(const PlannerProblem& problem);  // strategy 2
WidthPlan plan_shortest_path(const PlannerProblem& problem);
WidthPlan plan_widths(const PlannerProblem& problem, Strategy strategy);

}  // namespace optile::tuner
