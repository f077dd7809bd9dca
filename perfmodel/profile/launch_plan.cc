#include "perfmodel/profile/launch_plan.h"

#include <strings.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <optional>
#include <utility>

namespace optile::perfmodel {
namespace {

// How long a team of LLVM's runtime spins before it sleeps, in milliseconds.
constexpr const char* kBlockTimeMs = "1";

// The same for libgomp, in turns of its waiting loop, which are of no fixed length: tens of
// microseconds, where its default is milliseconds. On four cores, teams of four that were left two
// or three of them got up to twice as much done; alone it costs up to 4 % where regions are short.
constexpr const char* kShortSpinCount = "3000";

// In bytes. Blocks of up to the first come from the heap; that is the most that glibc takes. Its
// own bounds move while a program runs, with the largest block that was given back, and are so low
// for PyTorch that the heap's end goes back to the kernel in a step and comes anew, page by page.
// More than the second made no step faster, a quarter of it half as much (docs/design/0002).
constexpr const char* kMmapThreshold = "33554432";
constexpr const char* kTrimThreshold = "268435456";
constexpr const char* kHeapKept = "256MiB";

bool sizes_blas_pool(const LaunchFacts& facts) {
  return facts.user_environment.contains("OPENBLAS_NUM_THREADS") ||
         facts.user_environment.contains("GOTO_NUM_THREADS");
}

class Chooser {
 public:
  explicit Chooser(const LaunchFacts& facts) : facts_(facts) {}

  LaunchPlan choose() {
    choose_runtime();
    choose_wait();
    choose_blas();
    choose_heap();
    plan_.text = "openmp=" + openmp_ + " wait=" + wait_ + " blas=" + blas_;
    if (!heap_.empty()) plan_.text += " heap=" + heap_;
    return plan_;
  }

 private:
  bool user_set(const char* name) const { return facts_.user_environment.contains(name); }

  bool two_spinning_pools() const {
    return facts_.uses_openmp && facts_.blas_provider == "openblas-pthread";
  }

  // Its team stays as wide as it started, so how long it may spin has to follow its lease.
  bool fixed_team_beside_others() const {
    return facts_.beside_others && facts_.uses_openmp && !facts_.resizes_teams;
  }

  void because(std::string reason) { plan_.reasons.push_back(std::move(reason)); }

  void choose_runtime() {
    if (facts_.openmp == OpenmpChoice::kKeep) return;
    const bool asked = facts_.openmp == OpenmpChoice::kLlvm;
    if (facts_.libomp_path.empty()) {
      because(asked ? "libomp was asked for but is not installed (Debian: libomp5): kept libgomp"
                    : "kept libgomp: libomp is not installed (Debian: libomp5)");
      return;
    }
    if (!facts_.libomp_suitable) {
      because("kept libgomp: " + facts_.libomp_obstacle);
      return;
    }
    if (!asked && !two_spinning_pools() && !facts_.resizes_teams && !fixed_team_beside_others()) {
      because("kept libgomp: nothing is known of this program that makes libomp certain to pay");
      return;
    }
    // A user who tuned libgomp by hand keeps it.
    if (!asked && user_set("GOMP_SPINCOUNT")) {
      because("kept libgomp: you set it up yourself (GOMP_SPINCOUNT)");
      return;
    }
    if (!asked && binds_threads(facts_.user_environment)) {
      because("kept libgomp: you say where threads run (OMP_PROC_BIND, OMP_PLACES or the like)");
      return;
    }
    plan_.preload_libomp = true;
    openmp_ = "llvm";
    if (fixed_team_beside_others() && !two_spinning_pools() && !asked) {
      because(
          "libomp runs the program's OpenMP: other programs are here, and it can be told while it "
          "runs how long idle threads may spin");
      return;
    }
    because(
        "libomp runs the program's OpenMP: it parks surplus threads instead of destroying them");
  }

  void choose_wait() {
    if (user_set("OMP_WAIT_POLICY") || user_set("GOMP_SPINCOUNT") || user_set("KMP_BLOCKTIME")) {
      because("wait policy kept: you set it");
      return;
    }
    if (facts_.wait == WaitChoice::kKeep) return;
    plan_.wait_follows = true;
    if (plan_.preload_libomp && fixed_team_beside_others() && !two_spinning_pools()) {
      because("idle OpenMP threads spin as they do untouched while its cores are its own");
    } else if (plan_.preload_libomp) {
      set("KMP_BLOCKTIME", kBlockTimeMs);
      wait_ = "1ms";
      because("idle OpenMP threads sleep after 1 ms instead of 200 ms");
    } else if (fixed_team_beside_others()) {
      set("GOMP_SPINCOUNT", kShortSpinCount);
      wait_ = "short";
      because(
          "idle OpenMP threads sleep soon: other programs are here, and libgomp cannot be told "
          "later");
    }
  }

  void choose_blas() {
    // Also without OpenMP beside it: matrix products are ops of their own then.
    const bool own_threads = facts_.blas_provider == "openblas-pthread";
    if (facts_.blas == BlasChoice::kKeep || !own_threads) return;
    if (sizes_blas_pool(facts_)) {
      because("BLAS pool kept: you set its size");
      return;
    }
    // Nothing to set before the start: the shim gives the pool the width of the op around it.
    plan_.blas_follows = true;
    blas_ = "follow";
    because("OpenBLAS's own pool gets the width of the op that calls it");
  }

  void choose_heap() {
    if (facts_.heap == HeapChoice::kKeep || !facts_.renews_blocks) return;
    if (facts_.sets_up_malloc) {
      because("heap kept: you set up malloc yourself");
      return;
    }
    set("MALLOC_MMAP_THRESHOLD_", kMmapThreshold);
    set("MALLOC_TRIM_THRESHOLD_", kTrimThreshold);
    heap_ = kHeapKept;
    because(
        "malloc keeps up to 256 MiB at the heap's end for the next step instead of giving them "
        "back to the kernel");
  }

  void set(const char* name, const char* value) { plan_.environment[name] = value; }

  const LaunchFacts& facts_;
  LaunchPlan plan_;
  std::string openmp_ = "keep";
  std::string wait_ = "keep";
  std::string blas_ = "keep";
  std::string heap_;  // empty: kept
};

constexpr int kLeastSteps = 3;
constexpr double kLeastGain = 0.05;  // beyond both spreads: less is not worth a change of plan

const std::string kKeepAll = "openmp=keep wait=keep blas=keep";

// An untouched run is what keeping everything gives.
const std::string& text_of(const MeasuredLaunchPlan& run) {
  return run.text.empty() ? kKeepAll : run.text;
}

bool usable(const MeasuredLaunchPlan& run) {
  return run.steps >= kLeastSteps && run.step_seconds > 0;
}

const MeasuredLaunchPlan* latest_run(const std::vector<MeasuredLaunchPlan>& measured,
                                     const std::string& text) {
  for (const MeasuredLaunchPlan& run : measured) {
    if (usable(run) && text_of(run) == text) return &run;
  }
  return nullptr;
}

// By more than both spreads explain.
bool settled_faster(const MeasuredLaunchPlan& than, const MeasuredLaunchPlan& run) {
  if (than.disturbed != run.disturbed) return false;
  return run.step_seconds * (1 + std::min(run.spread, 0.5)) * (1 + kLeastGain) <
         than.step_seconds * (1 - std::min(than.spread, 0.5));
}

// The plan with that text, where facts and the user's words still allow it.
std::optional<LaunchPlan> plan_named(LaunchFacts facts, const std::string& text) {
  const bool any_runtime = facts.openmp == OpenmpChoice::kAuto;
  if (any_runtime) {
    facts.openmp =
        launch_option(text, "openmp") == "llvm" ? OpenmpChoice::kLlvm : OpenmpChoice::kKeep;
  }
  if (launch_option(text, "wait") == "keep") facts.wait = WaitChoice::kKeep;
  if (facts.blas == BlasChoice::kAuto && launch_option(text, "blas") == "keep") {
    facts.blas = BlasChoice::kKeep;
  }
  if (launch_option(text, "heap").empty()) facts.heap = HeapChoice::kKeep;
  LaunchPlan plan = Chooser(facts).choose();
  if (plan.text != text) return std::nullopt;
  return plan;
}

std::string percent(double share) {
  return std::to_string(static_cast<int>(std::lround(100 * share))) + " %";
}

// Says so where the latest run had another plan, and a slower one.
void note_what_was_taken_back(LaunchPlan& plan, const std::vector<MeasuredLaunchPlan>& measured) {
  const MeasuredLaunchPlan* ours = latest_run(measured, plan.text);
  for (const MeasuredLaunchPlan& run : measured) {
    if (!usable(run) || run.text.empty()) continue;
    if (ours == nullptr || run.text == plan.text || !settled_faster(run, *ours)) return;
    plan.taken_back = run.text;
    plan.loss_seconds = run.step_seconds - ours->step_seconds;
    plan.reasons.push_back("taken back: \"" + run.text + "\" of the latest run took " +
                           std::to_string(run.step_seconds) + " s a step, " +
                           percent(plan.loss_seconds / ours->step_seconds) + " more than \"" +
                           plan.text + "\" did (" + std::to_string(ours->step_seconds) + " s)");
    return;
  }
}

}  // namespace

std::string launch_option(const std::string& launch_plan, const std::string& name) {
  const std::string wanted = name + "=";
  std::size_t at = 0;
  while (at < launch_plan.size()) {
    std::size_t end = launch_plan.find(' ', at);
    if (end == std::string::npos) end = launch_plan.size();
    if (launch_plan.compare(at, wanted.size(), wanted) == 0) {
      return launch_plan.substr(at + wanted.size(), end - at - wanted.size());
    }
    at = end + 1;
  }
  return "";
}

bool keeps_everything(const std::string& launch_plan) {
  if (launch_plan.empty()) return false;
  const auto is_kept = [&launch_plan](const char* word) {
    const std::string choice = launch_option(launch_plan, word);
    return choice.empty() || choice == "keep";
  };
  return is_kept("openmp") && is_kept("wait") && is_kept("blas") && is_kept("heap");
}

bool binds_threads(const std::map<std::string, std::string>& user_environment) {
  const auto says = [&](const char* name, std::initializer_list<const char*> of_none) {
    const auto word = user_environment.find(name);
    if (word == user_environment.end() || word->second.empty()) return false;
    return std::none_of(of_none.begin(), of_none.end(), [&](const char* none) {
      return strcasecmp(word->second.c_str(), none) == 0;
    });
  };
  return says("OMP_PROC_BIND", {"false"}) || says("OMP_PLACES", {}) ||
         says("GOMP_CPU_AFFINITY", {}) || says("KMP_AFFINITY", {"none", "disabled"});
}

bool scale_alike(const std::string& one, const std::string& other) {
  return launch_option(one, "wait") == launch_option(other, "wait") &&
         launch_option(one, "blas") == launch_option(other, "blas");
}

LaunchPlan choose_launch_plan(const LaunchFacts& facts,
                              const std::vector<MeasuredLaunchPlan>& measured) {
  LaunchPlan plan = Chooser(facts).choose();
  const MeasuredLaunchPlan* best = latest_run(measured, plan.text);
  const std::string by_rule = plan.text;
  // Without a run of its own the rule's plan is tried first.
  if (best != nullptr) {
    for (const MeasuredLaunchPlan& other : measured) {
      if (latest_run(measured, text_of(other)) != &other || !settled_faster(*best, other)) continue;
      std::optional<LaunchPlan> instead = plan_named(facts, text_of(other));
      if (!instead) continue;
      best = &other;
      plan = std::move(*instead);
    }
  }
  if (plan.text != by_rule) {
    plan.reasons.push_back("measured: faster than \"" + by_rule +
                           "\", which the rules would choose");
  }
  note_what_was_taken_back(plan, measured);
  return plan;
}

LaunchPlan launch_plan_left_alone() {
  LaunchPlan plan;
  plan.text = kKeepAll;
  plan.reasons.emplace_back("undone by hand; optile undo --revoke takes that back");
  return plan;
}

bool blas_pools_follow(const LaunchFacts& facts, const LaunchPlan& plan) {
  if (plan.blas_follows) return true;
  // Of that one was decided above.
  if (facts.blas_provider == "openblas-pthread" || !plan.taken_back.empty()) return false;
  return facts.blas != BlasChoice::kKeep && !sizes_blas_pool(facts);
}

}  // namespace optile::perfmodel
