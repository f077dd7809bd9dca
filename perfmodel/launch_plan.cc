#include "perfmodel/launch_plan.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

namespace optile::perfmodel {
namespace {

// How long a team of LLVM's runtime spins before it sleeps, in milliseconds.
constexpr const char* kBlockTimeMs = "1";

class Chooser {
 public:
  explicit Chooser(const LaunchFacts& facts) : facts_(facts) {}

  LaunchPlan choose() {
    choose_runtime();
    choose_wait();
    choose_blas();
    plan_.text = "openmp=" + openmp_ + " wait=" + wait_ + " blas=" + blas_;
    return plan_;
  }

 private:
  bool user_set(const char* name) const { return facts_.user_environment.contains(name); }

  bool two_spinning_pools() const {
    return facts_.uses_openmp && facts_.blas_provider == "openblas-pthread";
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
    if (!asked && !two_spinning_pools() && !facts_.resizes_teams) {
      because("kept libgomp: nothing is known of this program that makes libomp certain to pay");
      return;
    }
    // A user who tuned libgomp by hand keeps it.
    if (!asked && (user_set("GOMP_SPINCOUNT") || user_set("GOMP_CPU_AFFINITY"))) {
      because("kept libgomp: you set it up yourself (GOMP_SPINCOUNT or GOMP_CPU_AFFINITY)");
      return;
    }
    plan_.preload_libomp = true;
    openmp_ = "llvm";
    because(
        "libomp runs the program's OpenMP: it parks surplus threads instead of destroying them");
  }

  void choose_wait() {
    if (user_set("OMP_WAIT_POLICY") || user_set("GOMP_SPINCOUNT") || user_set("KMP_BLOCKTIME")) {
      because("wait policy kept: you set it");
      return;
    }
    switch (facts_.wait) {
      case WaitChoice::kKeep:
        return;
      case WaitChoice::kActive:
        set("OMP_WAIT_POLICY", "active");
        wait_ = "active";
        return;
      case WaitChoice::kPassive:
        set("OMP_WAIT_POLICY", "passive");
        wait_ = "passive";
        return;
      case WaitChoice::kAuto:
        break;
    }
    if (plan_.preload_libomp) {
      set("KMP_BLOCKTIME", kBlockTimeMs);
      wait_ = "1ms";
      because("idle OpenMP threads sleep after 1 ms instead of 200 ms");
    }
  }

  void choose_blas() {
    if (facts_.blas == BlasChoice::kKeep || !two_spinning_pools()) return;
    if (user_set("OPENBLAS_NUM_THREADS") || user_set("GOTO_NUM_THREADS")) {
      because("BLAS pool kept: you set its size");
      return;
    }
    // Nothing to set before the start: the shim gives the pool the width of the op around it.
    plan_.blas_follows = true;
    blas_ = "follow";
    because("OpenBLAS's own pool gets the width of the op that calls it");
  }

  void set(const char* name, const char* value) { plan_.environment[name] = value; }

  const LaunchFacts& facts_;
  LaunchPlan plan_;
  std::string openmp_ = "keep";
  std::string wait_ = "keep";
  std::string blas_ = "keep";
};

// Fastest run of a plan, if any; the newest spread is as good as another.
std::optional<MeasuredLaunchPlan> best_run(const std::vector<MeasuredLaunchPlan>& measured,
                                           const std::string& text) {
  std::optional<MeasuredLaunchPlan> best;
  for (const MeasuredLaunchPlan& run : measured) {
    if (run.text != text || run.steps < 3 || run.step_seconds <= 0) continue;
    if (!best || run.step_seconds < best->step_seconds) best = run;
  }
  return best;
}

// The untouched run was faster than this plan by more than both spreads explain.
bool lost_against(const MeasuredLaunchPlan& plan, const MeasuredLaunchPlan& untouched) {
  return untouched.step_seconds * (1 + untouched.spread) <
         plan.step_seconds * (1 - std::min(plan.spread, 0.5));
}

}  // namespace

LaunchPlan choose_launch_plan(const LaunchFacts& facts,
                              const std::vector<MeasuredLaunchPlan>& measured) {
  LaunchPlan plan = Chooser(facts).choose();
  const std::optional<MeasuredLaunchPlan> untouched = best_run(measured, "");
  const std::optional<MeasuredLaunchPlan> ours = best_run(measured, plan.text);
  if (!untouched || !ours || !lost_against(*ours, *untouched)) return plan;

  LaunchFacts keep = facts;
  if (keep.openmp == OpenmpChoice::kAuto) keep.openmp = OpenmpChoice::kKeep;
  if (keep.wait == WaitChoice::kAuto) keep.wait = WaitChoice::kKeep;
  if (keep.blas == BlasChoice::kAuto) keep.blas = BlasChoice::kKeep;
  LaunchPlan kept = Chooser(keep).choose();
  kept.reasons.push_back("taken back: \"" + plan.text + "\" was slower than the untouched run (" +
                         std::to_string(ours->step_seconds) + " s against " +
                         std::to_string(untouched->step_seconds) + " s a step)");
  return kept;
}

}  // namespace optile::perfmodel
