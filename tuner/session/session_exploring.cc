#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>
#include <utility>

#include "base/at.h"
#include "tuner/plan/width_estimates.h"
#include "tuner/search/hill_climb.h"
#include "tuner/search/statistical_search.h"
#include "tuner/session/session_state.h"

namespace optile::tuner {

using perfmodel::Binding;
using perfmodel::Configuration;
using perfmodel::Nanoseconds;

namespace {

using base::at;

constexpr int kMostTrials = 48;              // scheduled trial steps of one exploration (`auto`)
constexpr int kAskedForClean = 3;            // then samples with a change of width in them count
constexpr double kLeastPlannedGain = 0.003;  // of a step: a smaller promise is not compared
constexpr double kUnproven = 0.25;           // of a step: what a candidate may lose by surprise
constexpr double kLongOps = 20;              // changes of width worth refining an op for

std::vector<Binding> bindings_of(const std::vector<Configuration>& cases) {
  std::set<Binding> all;
  for (const Configuration& admitted : cases) all.insert(admitted.binding);
  return {all.begin(), all.end()};
}

}  // namespace

// ---- exploring ---------------------------------------------------------------------------------

// Cases below the program's default width. The full width is tried only under another binding.
std::vector<Configuration> Session::State::usable_cases() const {
  std::vector<Configuration> usable;
  for (const Configuration& admitted : options_.cases) {
    if (admitted.width < default_width_ ||
        (admitted.width == default_width_ && admitted.binding != Binding::kNone)) {
      usable.push_back(admitted);
    }
  }
  return usable;
}

std::unique_ptr<Search> Session::State::make_search(const Site& site) const {
  const int cores = std::min(options_.cores, default_width_);
  if (options_.search == SearchKind::kPaper) {
    std::vector<Configuration> admitted = usable_cases();
    const bool unbound =
        std::all_of(admitted.begin(), admitted.end(),
                    [](const Configuration& one) { return one.binding == Binding::kNone; });
    if (unbound) admitted.push_back(own_case());
    return std::make_unique<HillClimb>(
        site.samples, hill_climb_grid(admitted, cores, options_.interval), own_case());
  }
  StatisticalOptions search;
  search.own = own_case();
  search.admitted = usable_cases();
  search.cores = cores;
  search.refine_from_ns = kLongOps * static_cast<double>(cost_.typical().count());
  return std::make_unique<StatisticalSearch>(site.samples, std::move(search));
}

void Session::State::explore() {
  if (usable_cases().empty()) {
    settle(own_candidate(), "there is no narrower width to try");
    return;
  }
  phase_ = Phase::kExploring;
  mark_left_alone();
  for (Site& site : model_->sites()) {
    site.search = site.leave ? nullptr : make_search(site);
  }
  next_trial_page();
}

TrialOptions Session::State::trial_options() const {
  TrialOptions trial;
  trial.own = own_case();
  trial.switching_ns = static_cast<double>(cost_.typical().count());
  if (options_.search == SearchKind::kPaper) {
    trial.controls = false;
    trial.narrow_first = true;
    trial.least_share = 0;
  } else {
    // Before the first step at default widths nothing can be said of a loss.
    trial.credit_ns = own_step().count() > 0 ? budget_.credit().count() * 1e9 : -1;
  }
  return trial;
}

void Session::State::next_trial_page() {
  std::vector<TrialOp> trial_ops;
  trial_ops.reserve(model_->sites().size());
  for (const Site& site : model_->sites()) {
    const auto own = measured(site.samples, own_case(), own_case());
    trial_ops.push_back({site.search.get(), own ? own->ns : 0, site.per_step, &site.samples});
  }
  trial_ = trials_spent() ? TrialPage{} : make_trial_page(trial_ops, trial_options());
  if (trial_.empty() && trial_.unaffordable_ns) {
    const TrialBudget::Seconds loss(*trial_.unaffordable_ns * 1e-9);
    trial_ =
        make_control_page(trial_ops.size(), budget_.steps_to_earn(loss, own_step(), kPageSteps));
  }
  page_due_ = true;
  changed();
  if (trial_.empty()) plan_and_compare();
}

void Session::State::close_trial_page() {
  for (std::size_t i = 0; i < model_->sites().size(); ++i) {
    std::set<Configuration> asked;
    Site& site = model_->sites()[i];
    for (std::size_t column = 0; column < trial_.bindings.size(); ++column) {
      const int width = trial_.widths[i][column];
      if (!trial_.control[column] && width > 0) {
        ++site.samples.asked[{width, trial_.bindings[column]}];
      }
    }
    accept_changes(site);
    if (site.search) site.search->review();
  }
  trials_ += static_cast<int>(std::count(trial_.control.begin(), trial_.control.end(), false));
  mark_left_alone();
  for (Site& site : model_->sites()) {
    if (site.leave) site.search.reset();
  }
  next_trial_page();
}

// An op whose neighbours never run at its trial width has no other samples than those with a change
// of width in them; without the price of one they are better than none.
void Session::State::accept_changes(Site& site) {
  for (const auto& [at, asked] : site.samples.asked) {
    const auto dirty = site.samples.with_change.find(at);
    if (asked < kAskedForClean || dirty == site.samples.with_change.end()) continue;
    if (site.samples.profile.find(at) == nullptr) {
      for (Nanoseconds duration : dirty->second.kept()) {
        site.samples.profile.record(at, std::max(duration - cost_.typical(), Nanoseconds(1)));
        ++samples_;
      }
    }
    site.samples.with_change.erase(dirty);
  }
}

// The paper's climb is bounded by its grid; `auto` by steps and by the time it may lose.
bool Session::State::trials_spent() const {
  if (options_.search == SearchKind::kPaper) return false;
  if (trials_ >= kMostTrials) return true;
  if (own_steps_.count() == 0) return false;
  const TrialBudget::Seconds steps = own_step() * std::max(8.0, 2.0 * options_.cores);
  return budget_.lost() > std::max(TrialBudget::kFree, steps) * explorations_;
}

// At the program's default widths; 0 = not known yet.
TrialBudget::Seconds Session::State::own_step() const {
  return own_steps_.count() == 0 ? TrialBudget::Seconds(0) : own_steps_.median();
}

// ---- planning ----------------------------------------------------------------------------------

PlannerProblem Session::State::problem_for(Binding binding) const {
  PlannerProblem problem;
  problem.default_width = default_width_;
  problem.cost = cost_;
  problem.one_team = runtime_ != perfmodel::Runtime::kLlvm;
  problem.order = model_->order();
  EstimateOptions estimate;
  estimate.own = own_case();
  estimate.binding = binding;
  std::set<int> widths;
  for (const Configuration& admitted : usable_cases()) {
    if (admitted.binding == binding) widths.insert(admitted.width);
  }
  estimate.widths.assign(widths.begin(), widths.end());
  std::vector<EstimateSource> sources;
  for (const Site& site : model_->sites()) sources.push_back({site.place.key, &site.samples});
  std::vector<std::vector<WidthEstimate>> estimates = estimate_widths(sources, estimate);
  for (std::size_t i = 0; i < model_->sites().size(); ++i) {
    const Site& site = model_->sites()[i];
    PlannedOp op;
    const auto known = ops_.find(site.place.key);
    op.name = known == ops_.end() ? std::to_string(site.place.key) : known->second.name;
    op.widths = std::move(estimates[i]);
    op.leave = site.leave;
    if (site.search && site.search->best().binding == binding &&
        !(site.search->best() == own_case())) {
      op.best_width = site.search->best().width;
      op.best_rule = site.search->rule();
    }
    problem.ops.push_back(std::move(op));
  }
  return problem;
}

Candidate Session::State::own_candidate() const {
  Candidate own;
  if (model_ == nullptr) return own;
  own.plan = plan_own(problem_for(Binding::kNone));
  return own;
}

Candidate Session::State::uniform_candidate() const {
  Candidate best = own_candidate();
  for (Binding binding : bindings_of(options_.cases)) {
    WidthPlan plan = plan_uniform(problem_for(binding));
    if (plan.total_ns() >= best.plan.total_ns()) continue;
    int width = default_width_;
    for (int one : plan.widths) {
      if (one != default_width_) width = one;
    }
    best = {Candidate::Kind::kUniform, binding, std::move(plan), width};
  }
  return best;
}

Candidate Session::State::planned_candidate() const {
  std::optional<Candidate> best;
  for (Binding binding : bindings_of(options_.cases)) {
    WidthPlan plan = plan_widths(problem_for(binding), options_.strategy);
    if (best && plan.total_ns() >= best->plan.total_ns()) continue;
    best = {Candidate::Kind::kPlanned, binding, std::move(plan), 0};
  }
  return best ? *best : own_candidate();
}

void Session::State::plan_and_compare() {
  trial_ = {};
  const Candidate own = own_candidate();
  const Candidate uniform = uniform_candidate();
  const Candidate planned = planned_candidate();
  uniform_width_ =
      uniform.kind == Candidate::Kind::kUniform ? uniform.uniform_width : default_width_;
  const auto same = [](const Candidate& a, const Candidate& b) {
    return a.plan.widths == b.plan.widths && a.binding == b.binding;
  };
  const auto worth = [&](const Candidate& candidate, const Candidate& than) {
    return candidate.plan.total_ns() < than.plan.total_ns() * (1 - kLeastPlannedGain);
  };
  std::vector<Candidate> candidates = {own};
  const bool paper_rule =
      options_.strategy == Strategy::kOne || options_.strategy == Strategy::kTwo;
  if (!paper_rule && !same(uniform, own)) candidates.push_back(uniform);
  if (paper_rule && !same(planned, own)) candidates.push_back(planned);
  if (options_.strategy == Strategy::kAuto && !same(planned, own) && !same(planned, uniform) &&
      worth(planned, candidates.back())) {
    candidates.push_back(planned);
  }
  if (candidates.size() == 1) {
    settle(own, "no other width promised a settled gain, so the program's default widths stay");
    return;
  }
  begin_comparison(std::move(candidates));
}

// ---- comparing whole steps ---------------------------------------------------------------------

void Session::State::begin_comparison(std::vector<Candidate> candidates) {
  phase_ = Phase::kComparing;
  candidates_ = std::move(candidates);
  candidate_steps_.assign(candidates_.size(), {});
  ComparisonOptions comparison;
  comparison.candidates = static_cast<int>(candidates_.size());
  comparison.keep_last = options_.strategy == Strategy::kOne || options_.strategy == Strategy::kTwo;
  comparison.seed = options_.seed + (replanned_ ? 1 : 0);
  const Nanoseconds listening = listening_of_a_step();
  for (const Candidate& candidate : candidates_) {
    const bool rests = !changes_something(candidate, default_width_) ||
                       common_width(candidate, default_width_) != 0;
    comparison.saves.push_back(rests ? listening : Nanoseconds(0));
  }
  comparison_ = std::make_unique<StepComparison>(comparison);
  next_comparison_page();
}

// Where no op has a width of its own, most steps pass without anybody listening; any other plan is
// paid for in every step, and has to earn that too.
Nanoseconds Session::State::listening_of_a_step() const {
  Nanoseconds sum{0};
  for (const Site& site : model_->sites()) {
    const auto known = ops_.find(site.place.key);
    if (known != ops_.end()) sum += known->second.listening * site.per_step;
  }
  return sum;
}

// Of the comparison's next page; 0 = the program runs at its default widths until there is credit
// again. The first page has one: what was promised of single ops may be far off.
int Session::State::affordable_blocks() const {
  if (comparison_->blocks() == 0) return budget_.credit() < kUnproven * own_step() ? 0 : 1;
  TrialBudget::Seconds loss{0};
  for (const perfmodel::SampleSet& steps : candidate_steps_) {
    if (steps.count() > 0)
      loss += std::max<TrialBudget::Seconds>(TrialBudget::Seconds(0), steps.median() - own_step());
  }
  if (loss * kPageSteps <= budget_.credit()) return kPageSteps;
  return std::max(0, static_cast<int>(budget_.credit() / loss));
}

void Session::State::next_comparison_page() {
  const bool bounded = options_.search != SearchKind::kPaper;
  const int blocks = bounded ? affordable_blocks() : kPageSteps;
  if (blocks > 0) {
    comparison_page_ = comparison_->next_page(blocks);
  } else {
    comparison_page_.assign(
        at(budget_.steps_to_earn(kUnproven * own_step(), own_step(), kPageSteps)), 0);
  }
  page_due_ = true;
  changed();
}

void Session::State::close_comparison_page() {
  comparison_->close_page();
  if (!comparison_->decided()) {
    next_comparison_page();
    return;
  }
  if (replan()) return;
  const int winner = comparison_->winner();
  const Candidate chosen = candidates_[at(winner)];
  char text[200];
  if (winner == 0) {
    const int last = static_cast<int>(candidates_.size()) - 1;
    std::snprintf(
        text, sizeof text,
        "the program's default widths stay: %s was %+.1f %% and not settled as faster in %zu "
        "comparisons",
        describe(candidates_[at(last)]).c_str(), 100 * comparison_->gain(0, last),
        comparison_->blocks());
  } else {
    std::snprintf(text, sizeof text,
                  "%s won: %+.1f %% against the program's default widths in %zu comparisons",
                  describe(chosen).c_str(), 100 * comparison_->gain(0, winner),
                  comparison_->blocks());
  }
  settle(chosen, text);
}

// What a step of the planned candidate took beyond what its ops explain is the changes' doing.
void Session::State::learn_switching_cost(std::size_t planned) {
  const perfmodel::SampleSet& with = candidate_steps_[planned];
  const perfmodel::SampleSet& without = candidate_steps_[0];
  const WidthPlan& plan = candidates_[planned].plan;
  if (plan.changes == 0 || with.count() < 3 || without.count() < 3) return;
  const double expected =
      static_cast<double>(without.median().count()) - candidates_[0].plan.run_ns + plan.run_ns;
  const double excess = static_cast<double>(with.median().count()) - expected;
  const double error = std::hypot(static_cast<double>(with.median_error().count()),
                                  static_cast<double>(without.median_error().count()));
  // An excess that drowns in the noise of whole steps says nothing about one change.
  const double typical = static_cast<double>(cost_.typical().count());
  if (std::abs(excess) < error && error > 0.5 * typical * plan.changes) return;
  cost_.learn(Nanoseconds(std::llround(excess)), plan.changes);
}

// Once per exploration: plan again with what the comparison said about changes of width.
bool Session::State::replan() {
  if (replanned_ || options_.strategy != Strategy::kAuto) return false;
  if (candidates_.back().kind != Candidate::Kind::kPlanned) return false;
  const Nanoseconds before = cost_.typical();
  learn_switching_cost(candidates_.size() - 1);
  if (cost_.typical() == before) return false;
  const Candidate again = planned_candidate();
  for (const Candidate& known : candidates_) {
    if (known.plan.widths == again.plan.widths && known.binding == again.binding) return false;
  }
  const Candidate winner = candidates_[at(comparison_->winner())];
  if (again.plan.total_ns() >
      evaluate(problem_for(winner.binding), winner.plan.widths, Rule::kPlanned).total_ns() *
          (1 - kLeastPlannedGain)) {
    return false;
  }
  replanned_ = true;
  std::vector<Candidate> candidates = {candidates_[0]};
  if (winner.kind != Candidate::Kind::kOwn) candidates.push_back(winner);
  candidates.push_back(again);
  begin_comparison(std::move(candidates));
  return true;
}

}  // namespace optile::tuner
