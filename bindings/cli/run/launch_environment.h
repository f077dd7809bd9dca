// The environment that a program is started with. Pure: what is there now and what was decided go
// in, the variables to set come out. A variable that the user set is never replaced, unless the
// user wants it ignored.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "bindings/cli/options.h"
#include "perfmodel/profile/launch_plan.h"

namespace optile::cli {

using Variables = std::map<std::string, std::string>;

struct LaunchDecision {
  perfmodel::LaunchPlan plan;
  std::string shim;    // path; empty: the program cannot be seen, nothing is preloaded
  std::string unseen;  // why there is none, or empty
  std::string bridge_dir;
  std::string itt_collector;  // path; empty: it is not beside the shim
  std::string libomp;
  std::string socket;
  bool daemon_starts = false;    // for this run, and did not listen yet when the program began
  bool socket_is_named = false;  // by the user; else the shim may find another one later
  std::string run_id;
  int budget_cores = 1;
  std::string host;  // this machine's name, where the number of threads holds
  int width = 0;     // to start with beside other programs; 0 = the whole budget
  bool baseline = false;
  bool torch_wheel = false;  // a Python that would import PyTorch of a wheel, with a bridge wanted
};

// This process's own.
Variables environment_now();
// Empty where it is not set.
std::string value_of(const Variables& now, const std::string& name);

// The variables of `now` that limit or place threads, and so bind us.
Variables thread_limits(const Variables& now);

// Whether one of those bounds the program's default width.
bool sets_width(const Variables& limits);

// Whether the user sets up glibc's malloc, or preloads another one.
bool sets_up_malloc(const Variables& now);

// The variables of `now` about who collects ITT's tasks, or that nobody does: with one of them we
// do not.
Variables task_variables(const Variables& now);

// The numbers of threads that the user set and wants ignored (--respect ignore), and that of a
// launcher around this one: to be taken out of the environment before anything is decided. Nothing
// of the user's in modes that change nothing.
std::vector<std::string> ignored_variables(const Options& options, const Variables& now);

// Variables to set; LD_PRELOAD keeps what was in it. Order: the shim, then libomp, then the user's
// own. The shim must come before any OpenMP runtime, or it sees nothing; the user's come last in
// search order but are all loaded.
Variables launch_environment(const Options& options, const LaunchDecision& decision,
                             const Variables& now);

}  // namespace optile::cli
