// What `--mode advise` says after the program has ended: what optile would do, as lines that can be
// pasted. Pure.
#pragma once

#include <string>
#include <vector>

#include "bindings/cli/options.h"
#include "perfmodel/profile/launch_plan.h"

namespace optile::cli {

// What earlier tuned runs of the program found, as far as a line can say it.
struct StoredAdvice {
  int uniform_width = 0;  // 0 = no single one
  int changed_ops = 0;
  double own_step_seconds = 0;
  double tuned_step_seconds = 0;
};

struct AdviceFacts {
  std::vector<std::string> command;
  std::string program;      // as the report names it
  double step_seconds = 0;  // of this run, 0 = no step was seen
  std::string libomp_path;
  bool omp_num_threads_set = false;  // by the user: their word binds
  bool as_untuned = false;           // nothing that changes results is advised
  int budget_cores = 1;
  LaunchChoices typed;
  perfmodel::LaunchPlan plan;
  bool has_stored = false;
  StoredAdvice stored;
};

std::string advice_text(const AdviceFacts& facts);

}  // namespace optile::cli
