#include "tuner/session/candidate_planner.h"

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tuner/plan/width_estimates.h"

namespace optile::tuner {

using perfmodel::Binding;
using perfmodel::Configuration;

namespace {

std::vector<Binding> bindings_of(const std::vector<Configuration>& cases) {
  std::set<Binding> all;
  for (const Configuration& admitted : cases) all.insert(admitted.binding);
  return {all.begin(), all.end()};
}

}  // namespace

PlannerProblem planner_problem(const ClientEnvironment& environment, const StepModel& step,
                               Binding binding) {
  PlannerProblem problem;
  problem.default_width = environment.default_width();
  problem.cost = environment.switching_cost();
  problem.one_team = environment.runtime() != perfmodel::Runtime::kLlvm;
  problem.order = step.order();
  EstimateOptions estimate;
  estimate.own = environment.own_case();
  estimate.binding = binding;
  std::set<int> widths;
  for (const Configuration& admitted : environment.usable_cases()) {
    if (admitted.binding == binding) widths.insert(admitted.width);
  }
  estimate.widths.assign(widths.begin(), widths.end());
  std::vector<EstimateSource> sources;
  for (const Site& site : step.sites()) sources.push_back({site.place.key, &site.samples});
  std::vector<std::vector<WidthEstimate>> estimates = estimate_widths(sources, estimate);
  for (std::size_t i = 0; i < step.sites().size(); ++i) {
    const Site& site = step.sites()[i];
    PlannedOp op;
    const perfmodel::OpDescription* known = environment.find_op(site.place.key);
    op.name = known == nullptr ? std::to_string(site.place.key) : known->name;
    op.widths = std::move(estimates[i]);
    op.leave = site.leave;
    if (site.search && site.search->best().binding == binding &&
        !(site.search->best() == environment.own_case())) {
      op.best_width = site.search->best().width;
      op.best_rule = site.search->rule();
    }
    problem.ops.push_back(std::move(op));
  }
  return problem;
}

Candidate own_candidate(const ClientEnvironment& environment, const StepModel& step) {
  Candidate own;
  own.plan = plan_own(planner_problem(environment, step, Binding::kNone));
  return own;
}

Candidate uniform_candidate(const ClientEnvironment& environment, const StepModel& step) {
  Candidate best = own_candidate(environment, step);
  for (Binding binding : bindings_of(environment.options().cases)) {
    WidthPlan plan = plan_uniform(planner_problem(environment, step, binding));
    if (plan.total_ns() >= best.plan.total_ns()) continue;
    int width = environment.default_width();
    for (int one : plan.widths) {
      if (one != environment.default_width()) width = one;
    }
    best = {Candidate::Kind::kUniform, binding, std::move(plan), width};
  }
  return best;
}

Candidate planned_candidate(const ClientEnvironment& environment, const StepModel& step) {
  std::optional<Candidate> best;
  for (Binding binding : bindings_of(environment.options().cases)) {
    WidthPlan plan =
        plan_widths(planner_problem(environment, step, binding), environment.options().strategy);
    if (best && plan.total_ns() >= best->plan.total_ns()) continue;
    best = {Candidate::Kind::kPlanned, binding, std::move(plan), 0};
  }
  return best ? *best : own_candidate(environment, step);
}

}  // namespace optile::tuner
