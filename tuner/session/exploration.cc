#include "tuner/session/exploration.h"

#include <algorithm>
#include <utility>

#include "tuner/plan/candidate.h"
#include "tuner/search/hill_climb.h"
#include "tuner/search/statistical_search.h"
#include "tuner/session/site_entries.h"

namespace optile::tuner {

using perfmodel::Configuration;

namespace {

constexpr int kMostTrials = 48;  // scheduled trial steps of one round (`auto`)
constexpr double kLongOps = 20;  // changes of width worth refining an op for

}  // namespace

void Exploration::begin(StepModel& step) {
  leave_alone(step);
  for (Site& site : step.sites()) {
    if (!site.leave) site.search = make_search(site);
  }
  make_page(step);
}

void Exploration::leave_alone(StepModel& step) const {
  for (Site& site : step.sites()) {
    site.leave = environment_.observes_only(site.place.key) || cannot_be_set(site);
    if (site.leave) site.search.reset();
  }
}

std::unique_ptr<Search> Exploration::make_search(const Site& site) const {
  const SessionOptions& options = environment_.options();
  const Configuration own = environment_.own_case();
  const int cores = std::min(options.cores, environment_.default_width());
  if (options.search == SearchKind::kPaper) {
    std::vector<Configuration> admitted = environment_.usable_cases();
    const bool unbound = std::all_of(
        admitted.begin(), admitted.end(),
        [](const Configuration& one) { return one.binding == perfmodel::Binding::kNone; });
    if (unbound) admitted.push_back(own);
    return make_hill_climb(site.samples, hill_climb_grid(admitted, cores, options.interval), own);
  }
  StatisticalOptions search;
  search.own = own;
  search.admitted = environment_.usable_cases();
  search.cores = cores;
  search.refine_from_ns =
      kLongOps * static_cast<double>(environment_.switching_cost().typical().count());
  return std::make_unique<StatisticalSearch>(site.samples, std::move(search));
}

TrialOptions Exploration::trial_options() const {
  TrialOptions trial;
  trial.own = environment_.own_case();
  trial.switching_ns = static_cast<double>(environment_.switching_cost().typical().count());
  if (environment_.options().search == SearchKind::kPaper) {
    trial.controls = false;
    trial.narrow_first = true;
    trial.least_share = 0;
  } else {
    // Before the first step at default widths nothing can be said of a loss.
    trial.credit_ns = times_.own_step().count() > 0 ? times_.budget.credit().count() * 1e9 : -1;
  }
  return trial;
}

void Exploration::make_page(const StepModel& step) {
  const Configuration own = environment_.own_case();
  std::vector<TrialOp> ops;
  ops.reserve(step.sites().size());
  for (const Site& site : step.sites()) {
    const auto time = measured(site.samples, own, own);
    ops.push_back({site.search.get(), time ? time->ns : 0, site.per_step, &site.samples});
  }
  page_ = is_spent() ? TrialPage{} : make_trial_page(ops, trial_options());
  if (page_.empty() && page_.unaffordable_ns) {
    const TrialBudget::Seconds loss(*page_.unaffordable_ns * 1e-9);
    page_ = make_control_page(ops.size(),
                              times_.budget.steps_to_earn(loss, times_.own_step(), kPageSteps));
  }
}

void Exploration::close_page(StepModel& step) {
  for (std::size_t i = 0; i < step.sites().size(); ++i) {
    Site& site = step.sites()[i];
    for (std::size_t column = 0; column < page_.bindings.size(); ++column) {
      const int width = page_.widths[i][column];
      if (!page_.control[column] && width > 0) {
        ++site.samples.asked[{width, page_.bindings[column]}];
      }
    }
    sampler_.accept_changes(site.samples, environment_.switching_cost());
    if (site.search) site.search->review();
  }
  trials_ += static_cast<int>(std::count(page_.control.begin(), page_.control.end(), false));
  leave_alone(step);
  make_page(step);
}

// The paper's climb is bounded by its grid; `auto` by steps and by the time it may lose.
bool Exploration::is_spent() const {
  if (environment_.options().search == SearchKind::kPaper) return false;
  if (trials_ >= kMostTrials) return true;
  if (times_.own.count() == 0) return false;
  const TrialBudget::Seconds steps =
      times_.own_step() * std::max(8.0, 2.0 * environment_.options().cores);
  return times_.budget.lost() > std::max(TrialBudget::kFree, steps) * rounds_;
}

void Exploration::add_to(PlanDraft& draft, const StepModel& step) const {
  draft.schedule_binding = page_.bindings;
  // Each op is measured by itself, also at the program's default width. A page without a trial
  // waits for credit: its steps are untouched ones.
  const bool measures =
      std::any_of(page_.control.begin(), page_.control.end(), [](bool is) { return !is; });
  if (environment_.has_unordered_op() && measures) {
    draft.schedule_flow.assign(page_.bindings.size(), {OpFlow::Kind::kSerial});
  }
  add_site_entries(step, draft, [&](std::size_t i, PlanEntry& entry) {
    if (page_.empty()) return;
    for (int width : page_.widths[i]) {
      entry.schedule.push_back(fits(width, environment_.default_width()) ? width : 0);
    }
  });
}

std::vector<PageColumn> Exploration::columns() const {
  std::vector<PageColumn> columns;
  for (bool control : page_.control) {
    columns.push_back(control ? PageColumn::kControl : PageColumn::kTrial);
  }
  return columns;
}

}  // namespace optile::tuner
