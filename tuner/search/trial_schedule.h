// One plan page of scheduled steps out of what the searches wish. A scheduled step runs one case:
// every op that wishes it, and those it costs next to nothing, so that neighbours share a width and
// a sample does not contain a change of width; ops that would lose stay at their best. Long ops,
// for which a change is nothing, may run another wish of theirs in the same step. Repetitions of a
// case are spread over the page, with steps at the program's default widths between them as
// controls. Pure.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <vector>

#include "perfmodel/profile/configuration.h"
#include "tuner/plan/op_samples.h"
#include "tuner/search/search.h"

namespace optile::tuner {

struct TrialOp {
  const Search* search = nullptr;  // null: runs at the program's default width throughout
  double own_ns = 0;               // per execution, 0 = not known
  int per_step = 1;
  const OpSamples* samples = nullptr;  // for what a trial may lose
};

struct TrialOptions {
  perfmodel::Configuration own;
  bool controls = true;        // steps at default widths between the trials
  bool narrow_first = false;   // the paper's order: widths grow
  double switching_ns = 0;     // of one change of width
  double least_share = 0.005;  // of the step's time: cases that only shorter ops wish are dropped
  double credit_ns = std::numeric_limits<double>::infinity();  // that the page may lose
};

struct TrialPage {
  std::vector<perfmodel::Binding> bindings;  // per scheduled step
  std::vector<bool> control;                 // per scheduled step: all at default widths
  std::vector<std::vector<int>> widths;      // [op][scheduled step]; 0 = own
  // What the next step would lose, at worst, where the credit is not enough for it.
  std::optional<double> unaffordable_ns;
  bool empty() const { return bindings.empty(); }
};

// Empty when no search wishes anything that matters, or the credit is not enough for one of them.
TrialPage make_trial_page(const std::vector<TrialOp>& ops, const TrialOptions& options);

// So many steps at the program's default widths.
TrialPage make_control_page(std::size_t ops, int steps);

}  // namespace optile::tuner
