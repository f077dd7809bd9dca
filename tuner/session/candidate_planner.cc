#include "tuner/session/candidate_planner.h"

#include <algorithm>
#include <map>
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

std::string op_name(const ClientEnvironment& environment, uint64_t key) {
  const perfmodel::OpDescription* known = environment.find_op(key);
  return known == nullptr ? std::to_string(key) : known->name;
}

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
    op.name = op_name(environment, site.place.key);
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

Candidate capped_candidate(const ClientEnvironment& environment, const StepModel& step, int width) {
  const PlannerProblem problem = planner_problem(environment, step, Binding::kNone);
  return {Candidate::Kind::kUniform,
          Binding::kNone,
          evaluate(problem, std::vector<int>(problem.ops.size(), width), Rule::kUniform),
          width,
          {OpFlow::Kind::kFree, width}};
}

namespace {

// Of one width below the program's own for all, where the framework runs as many ops side by side
// as it has: no shorter than the work on all cores, nor than what one after the other takes over
// how many it runs at once.
double side_by_side_ns(const WidthPlan& uniform, int width, int cores, double at_once) {
  return uniform.run_ns * std::max(static_cast<double>(width) / cores, 1 / std::max(1.0, at_once));
}

// How many ops run at once by themselves, by their times alone over those of whole steps.
double ops_at_once(const PlannerProblem& problem, double step_ns) {
  return step_ns > 0 ? plan_own(problem).run_ns / step_ns : 1;
}

// The cap under which the framework's own executor is the fastest, by prediction.
Candidate best_capped_candidate(const ClientEnvironment& environment, const StepModel& step,
                                double step_ns) {
  int best = environment.default_width();
  const PlannerProblem problem = planner_problem(environment, step, Binding::kNone);
  const double at_once = ops_at_once(problem, step_ns);
  double least = 0;
  for (const Configuration& admitted : environment.usable_cases()) {
    if (admitted.binding != Binding::kNone) continue;
    const WidthPlan plan =
        evaluate(problem, std::vector<int>(problem.ops.size(), admitted.width), Rule::kUniform);
    const double ns = side_by_side_ns(plan, admitted.width, environment.options().cores, at_once);
    if (least != 0 && ns >= least) continue;
    least = ns;
    best = admitted.width;
  }
  return best == environment.default_width() ? own_candidate(environment, step)
                                             : capped_candidate(environment, step, best);
}

}  // namespace

Candidate uniform_candidate(const ClientEnvironment& environment, const StepModel& step,
                            double step_ns) {
  if (environment.has_unordered_op()) return best_capped_candidate(environment, step, step_ns);
  Candidate best = own_candidate(environment, step);
  for (Binding binding : bindings_of(environment.cases())) {
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
  for (Binding binding : bindings_of(environment.cases())) {
    WidthPlan plan =
        plan_widths(planner_problem(environment, step, binding), environment.options().strategy);
    if (best && plan.total_ns() >= best->plan.total_ns()) continue;
    best = {Candidate::Kind::kPlanned, binding, std::move(plan), 0};
  }
  if (!best) return own_candidate(environment, step);
  if (environment.has_unordered_op()) best->flow.kind = OpFlow::Kind::kSerial;
  return *best;
}

std::vector<OpFlow> admitted_flows(const ClientEnvironment& environment) {
  const SessionOptions& options = environment.options();
  if (!environment.has_unordered_op() || options.cores < 2) return {};
  const OpFlow packed{OpFlow::Kind::kPacked};
  const OpFlow filled{options.hardware_threads > 1 ? OpFlow::Kind::kFilled : OpFlow::Kind::kPacked};
  const OpFlow ahead{OpFlow::Kind::kAhead};
  switch (options.strategy) {
    case Strategy::kAuto:
      return {filled, ahead};
    case Strategy::kThree:
      return {packed};
    case Strategy::kFour:
      return {filled};
    case Strategy::kLookAhead:
      return {ahead};
    default:
      return {};
  }
}

std::vector<Candidate> side_by_side_candidates(const ClientEnvironment& environment,
                                               const StepModel& step) {
  const std::vector<OpFlow> flows = admitted_flows(environment);
  if (flows.empty()) return {};
  Candidate candidate;
  candidate.kind = Candidate::Kind::kSideBySide;
  candidate.plan = plan_each_best(planner_problem(environment, step, Binding::kNone));
  std::vector<Candidate> candidates(flows.size(), candidate);
  for (std::size_t i = 0; i < flows.size(); ++i) candidates[i].flow = flows[i];
  return candidates;
}

namespace {

// Ascending, of those from the fastest one down: it, about a half of its width, a quarter and so
// on, and the narrowest. Neighbours of the fastest one would fit where it fits, and nowhere else.
std::vector<WidthEstimate> spread_choices(const std::vector<WidthEstimate>& widths) {
  const auto fastest =
      std::min_element(widths.begin(), widths.end(),
                       [](const WidthEstimate& a, const WidthEstimate& b) { return a.ns < b.ns; });
  const WidthEstimate& narrowest = widths.front();
  std::vector<WidthEstimate> spread = {*fastest};
  while (spread.size() + 1 < OpMenu::kMostWidths && spread.back().width > narrowest.width) {
    const int half = std::max(spread.back().width / 2, narrowest.width);
    const auto wider = std::find_if(widths.begin(), widths.end(),
                                    [half](const WidthEstimate& one) { return one.width >= half; });
    // Where none is near a half, the next narrower one.
    spread.push_back(wider->width < spread.back().width ? *wider : *std::prev(wider));
  }
  if (spread.back().width > narrowest.width) spread.push_back(narrowest);
  std::reverse(spread.begin(), spread.end());
  return spread;
}

// Halves below the narrowest that was measured, as if the op scaled fully until there: it is seldom
// slower, and beside others only narrow ops fit. The search measures around the fastest width.
void add_narrower(const std::set<int>& usable, std::vector<WidthEstimate>& widths) {
  while (!widths.empty() && widths.size() < OpMenu::kMostWidths) {
    const WidthEstimate narrowest = widths.front();
    const auto above = usable.upper_bound(narrowest.width / 2);
    if (above == usable.begin()) return;
    const int width = *std::prev(above);
    widths.insert(widths.begin(), {width, narrowest.ns * narrowest.width / width});
  }
}

// The fastest first. `usable`: narrower ones that may be tried unmeasured.
std::vector<OpMenu::Choice> choices_of(std::vector<WidthEstimate> widths, int cores,
                                       const std::set<int>& usable) {
  std::erase_if(widths, [&](const WidthEstimate& one) {
    return one.width < 1 || one.width > cores || one.ns <= 0;
  });
  std::sort(widths.begin(), widths.end(),
            [](const WidthEstimate& a, const WidthEstimate& b) { return a.width < b.width; });
  if (widths.size() > OpMenu::kMostWidths) widths = spread_choices(widths);
  add_narrower(usable, widths);
  std::stable_sort(widths.begin(), widths.end(),
                   [](const WidthEstimate& a, const WidthEstimate& b) { return a.ns < b.ns; });
  std::vector<OpMenu::Choice> choices;
  choices.reserve(widths.size());
  for (const WidthEstimate& one : widths) choices.push_back({one.width, one.ns * 1e-9});
  return choices;
}

// `widths`: of each site of the step.
void add_menus(const ClientEnvironment& environment, const StepModel& step,
               std::vector<std::vector<WidthEstimate>> widths_of_site, PlanDraft& draft) {
  draft.cores = environment.options().cores;
  std::map<perfmodel::OpPlace, std::size_t> entry_of;
  for (std::size_t i = 0; i < draft.entries.size(); ++i) entry_of[draft.entries[i].place] = i;
  std::map<std::string, int> op_of;
  std::set<int> usable;
  for (const Configuration& admitted : environment.usable_cases()) {
    if (admitted.binding == Binding::kNone) usable.insert(admitted.width);
  }
  for (std::size_t i = 0; i < step.sites().size(); ++i) {
    const Site& site = step.sites()[i];
    const std::string name = op_name(environment, site.place.key);
    OpMenu menu;
    menu.op = op_of.try_emplace(name, static_cast<int>(op_of.size())).first->second;
    menu.per_step = site.per_step;
    std::vector<WidthEstimate>& widths = widths_of_site[i];
    if (site.leave) {
      std::erase_if(widths, [&](const WidthEstimate& one) {
        return one.width != environment.default_width();
      });
    }
    menu.choices =
        choices_of(std::move(widths), draft.cores, site.leave ? std::set<int>() : usable);
    if (menu.choices.empty()) continue;
    const auto [found, is_new] = entry_of.try_emplace(site.place, draft.entries.size());
    if (is_new) {
      PlanEntry entry;
      entry.place = site.place;
      entry.schedule.assign(draft.schedule_flow.size(), 0);
      draft.entries.push_back(std::move(entry));
    }
    draft.entries[found->second].menu = std::move(menu);
  }
}

}  // namespace

void add_menus(const ClientEnvironment& environment, const StepModel& step, PlanDraft& draft) {
  PlannerProblem problem = planner_problem(environment, step, Binding::kNone);
  std::vector<std::vector<WidthEstimate>> widths;
  for (PlannedOp& op : problem.ops) widths.push_back(std::move(op.widths));
  add_menus(environment, step, std::move(widths), draft);
}

void add_menus(const ClientEnvironment& environment, const StepModel& step,
               const std::vector<StoredTime>& times, PlanDraft& draft) {
  std::map<uint64_t, std::vector<WidthEstimate>> of_key;
  for (const StoredTime& time : times) of_key[time.key].push_back({time.width, time.ns});
  std::vector<std::vector<WidthEstimate>> widths;
  for (const Site& site : step.sites()) widths.push_back(of_key[site.place.key]);
  add_menus(environment, step, std::move(widths), draft);
}

}  // namespace optile::tuner
