#include "tuner/session/candidate_comparison.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "base/at.h"
#include "tuner/session/candidate_planner.h"
#include "tuner/session/session_view.h"
#include "tuner/session/site_entries.h"

namespace optile::tuner {

using base::at;
using perfmodel::Nanoseconds;

namespace {

constexpr double kLeastPlannedGain = 0.003;  // of a step: a smaller promise is not compared
constexpr double kUnproven = 0.25;           // of a step: what a candidate may lose by surprise

bool same_plan(const Candidate& one, const Candidate& other) {
  return one.plan.widths == other.plan.widths && one.binding == other.binding &&
         one.flow == other.flow;
}

// The strategies of the paper compare their plan with the default widths alone, and keep it.
bool by_paper(const SessionOptions& options) {
  return options.strategy != Strategy::kAuto && options.strategy != Strategy::kUniform;
}

// Of a framework that runs several ops at once, a step under a cap costs no op its neighbours, as
// a step that measures each by itself does.
bool compares_caps(const ClientEnvironment& environment) {
  return environment.has_unordered_op() && !by_paper(environment.options()) &&
         environment.options().search != SearchKind::kPaper;
}

// The fastest of those compared: whole steps know better than a prediction.
Candidate candidate_of(const CapClimb& caps, const ClientEnvironment& environment,
                       const StepModel& step) {
  return caps.best() == caps.default_width() ? own_candidate(environment, step)
                                             : capped_candidate(environment, step, caps.best());
}

}  // namespace

bool CandidateComparison::begin_caps(const StepModel& step) {
  const int own = environment_.default_width();
  if (!compares_caps(environment_) || (caps_ && caps_->default_width() == own)) return false;
  std::vector<int> widths;
  for (const perfmodel::Configuration& admitted : environment_.usable_cases()) {
    if (admitted.binding == perfmodel::Binding::kNone) widths.push_back(admitted.width);
  }
  caps_.emplace(own, widths);
  climbs_ = caps_->next() != 0;
  if (climbs_) compare_next_cap(step);
  return climbs_;
}

void CandidateComparison::compare_next_cap(const StepModel& step) {
  std::vector<Candidate> candidates = {own_candidate(environment_, step)};
  for (const int width : {caps_->best(), caps_->next()}) {
    if (width == caps_->default_width()) continue;
    candidates.push_back(capped_candidate(environment_, step, width));
  }
  compare(std::move(candidates), step);
}

// The last candidate is the next cap, the one before it what was the fastest so far.
std::optional<CandidateComparison::Verdict> CandidateComparison::close_cap(const StepModel& step) {
  const int next = static_cast<int>(candidates_.size()) - 1;
  if (next == 2 && comparison_->winner() == 0) caps_->drop_best();
  caps_->on_compared(comparison_->gain(next - 1, next), comparison_->winner() == next);
  if (caps_->next() != 0) {
    compare_next_cap(step);
    return std::nullopt;
  }
  climbs_ = false;
  return Verdict{candidates_[at(comparison_->winner())], decision(), true};
}

std::optional<CandidateComparison::Verdict> CandidateComparison::begin(const StepModel& step) {
  const Candidate own = own_candidate(environment_, step);
  const bool knows_caps = caps_ && caps_->default_width() == environment_.default_width();
  const double own_ns = static_cast<double>(times_.own.median().count());
  const Candidate uniform = knows_caps ? candidate_of(*caps_, environment_, step)
                                       : uniform_candidate(environment_, step, own_ns);
  const Candidate planned = planned_candidate(environment_, step);
  uniform_width_ = uniform.kind == Candidate::Kind::kUniform ? uniform.uniform_width
                                                             : environment_.default_width();
  const bool paper_rule = by_paper(environment_.options());
  std::vector<Candidate> candidates = {own};
  if (!paper_rule && !same_plan(uniform, own)) candidates.push_back(uniform);
  if (paper_rule && !same_plan(planned, own)) candidates.push_back(planned);
  if (environment_.options().strategy == Strategy::kAuto && !same_plan(planned, own) &&
      !same_plan(planned, uniform) &&
      planned.plan.total_ns() < candidates.back().plan.total_ns() * (1 - kLeastPlannedGain)) {
    candidates.push_back(planned);
  }
  const std::vector<Candidate> side_by_side = side_by_side_candidates(environment_, step);
  if (!side_by_side.empty()) {
    // One after the other they would have to be faster than several at once are now.
    std::erase_if(candidates, [&](const Candidate& one) {
      return one.flow.kind == OpFlow::Kind::kSerial &&
             (paper_rule || (own_ns > 0 && one.plan.total_ns() > own_ns));
    });
    candidates.insert(candidates.end(), side_by_side.begin(), side_by_side.end());
  }
  if (candidates.size() == 1) {
    return Verdict{own,
                   "no other width promised a settled gain, so the program's default widths stay"};
  }
  compare(std::move(candidates), step);
  return std::nullopt;
}

void CandidateComparison::stop() {
  comparison_.reset();
  if (climbs_) caps_.reset();
  climbs_ = false;
}

void CandidateComparison::restart() {
  stop();
  replanned_ = false;
}

void CandidateComparison::compare(std::vector<Candidate> candidates, const StepModel& step) {
  candidates_ = std::move(candidates);
  candidate_steps_.assign(candidates_.size(), {});
  ComparisonOptions options;
  options.candidates = static_cast<int>(candidates_.size());
  options.keep_last = by_paper(environment_.options());
  options.seed = environment_.options().seed + (replanned_ ? 1 : 0);
  const Nanoseconds listening = listening_of_a_step(step);
  for (const Candidate& candidate : candidates_) {
    const bool pauses = !changes_something(candidate, environment_.default_width()) ||
                        common_width(candidate, environment_.default_width()) != 0;
    options.saves.push_back(pauses ? listening : Nanoseconds(0));
  }
  comparison_ = std::make_unique<StepComparison>(options);
  make_page();
}

// Where no op has a width of its own, most steps pass without anybody listening; any other plan is
// paid for in every step, and has to earn that too.
Nanoseconds CandidateComparison::listening_of_a_step(const StepModel& step) const {
  Nanoseconds sum{0};
  for (const Site& site : step.sites()) {
    const perfmodel::OpDescription* op = environment_.find_op(site.place.key);
    if (op != nullptr) sum += op->listening * site.per_step;
  }
  return sum;
}

// Of the comparison's next page; 0 = the program runs at its default widths until there is credit
// again. The first page has one: what was promised of single ops may be far off.
int CandidateComparison::affordable_blocks() const {
  const TrialBudget::Seconds credit = times_.budget.credit();
  if (comparison_->blocks() == 0) return credit < kUnproven * times_.own_step() ? 0 : 1;
  TrialBudget::Seconds loss{0};
  for (const perfmodel::SampleSet& steps : candidate_steps_) {
    if (steps.count() > 0)
      loss += std::max<TrialBudget::Seconds>(TrialBudget::Seconds(0),
                                             steps.median() - times_.own_step());
  }
  if (loss * kPageSteps <= credit) return kPageSteps;
  return std::max(0, static_cast<int>(credit / loss));
}

void CandidateComparison::make_page() {
  const bool bounded = environment_.options().search != SearchKind::kPaper;
  const int blocks = bounded ? affordable_blocks() : kPageSteps;
  if (blocks > 0) {
    page_ = comparison_->next_page(blocks);
  } else {
    const TrialBudget::Seconds own = times_.own_step();
    page_.assign(at(times_.budget.steps_to_earn(kUnproven * own, own, kPageSteps)), 0);
  }
}

void CandidateComparison::record(int column, Nanoseconds duration) {
  if (comparison_ == nullptr) return;
  comparison_->record(column, duration);
  if (column < 1 || column >= static_cast<int>(page_.size())) return;
  const int candidate = page_[at(column)];
  candidate_steps_[at(candidate)].add(duration);
  if (candidate == 0) times_.control.add(duration);
}

std::optional<CandidateComparison::Verdict> CandidateComparison::close_page(const StepModel& step) {
  comparison_->close_page();
  if (!comparison_->decided()) {
    make_page();
    return std::nullopt;
  }
  if (climbs_) return close_cap(step);
  if (replan(step)) return std::nullopt;
  return Verdict{candidates_[at(comparison_->winner())], decision()};
}

std::string CandidateComparison::decision() const {
  const int winner = comparison_->winner();
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
                  describe(candidates_[at(winner)]).c_str(), 100 * comparison_->gain(0, winner),
                  comparison_->blocks());
  }
  return text;
}

// What a step of the planned candidate took beyond what its ops explain is the changes' doing.
void CandidateComparison::learn_switching_cost(std::size_t planned) {
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
  const double typical = static_cast<double>(environment_.switching_cost().typical().count());
  if (std::abs(excess) < error && error > 0.5 * typical * plan.changes) return;
  environment_.learn_switching_cost(Nanoseconds(std::llround(excess)), plan.changes);
}

// Once per exploration: plan again with what the comparison said about changes of width.
bool CandidateComparison::replan(const StepModel& step) {
  if (replanned_ || environment_.options().strategy != Strategy::kAuto) return false;
  if (candidates_.back().kind != Candidate::Kind::kPlanned) return false;
  const Nanoseconds before = environment_.switching_cost().typical();
  learn_switching_cost(candidates_.size() - 1);
  if (environment_.switching_cost().typical() == before) return false;
  const Candidate again = planned_candidate(environment_, step);
  for (const Candidate& known : candidates_) {
    if (same_plan(known, again)) return false;
  }
  const Candidate winner = candidates_[at(comparison_->winner())];
  const PlannerProblem problem = planner_problem(environment_, step, winner.binding);
  if (again.plan.total_ns() >
      evaluate(problem, winner.plan.widths, Rule::kPlanned).total_ns() * (1 - kLeastPlannedGain)) {
    return false;
  }
  replanned_ = true;
  std::vector<Candidate> candidates = {candidates_[0]};
  if (winner.kind != Candidate::Kind::kOwn) candidates.push_back(winner);
  candidates.push_back(again);
  compare(std::move(candidates), step);
  return true;
}

void CandidateComparison::add_to(PlanDraft& draft, const StepModel& step) const {
  bool admits = false;
  for (int index : page_) {
    const Candidate& candidate = candidates_[at(index)];
    draft.schedule_binding.push_back(candidate.binding);
    draft.schedule_flow.push_back(candidate.flow);
    admits = admits || candidate.flow.admits();
  }
  add_site_entries(step, draft, [&](std::size_t i, PlanEntry& entry) {
    for (int index : page_) {
      const int width = candidates_[at(index)].plan.widths[i];
      entry.schedule.push_back(fits(width, environment_.default_width()) ? width : 0);
    }
  });
  if (admits) add_menus(environment_, step, draft);
}

std::vector<PageColumn> CandidateComparison::columns() const {
  std::vector<PageColumn> columns;
  for (int index : page_) {
    const auto kind = candidates_[at(index)].kind;
    columns.push_back(kind == Candidate::Kind::kOwn       ? PageColumn::kControl
                      : kind == Candidate::Kind::kUniform ? PageColumn::kUniform
                                                          : PageColumn::kCandidate);
  }
  return columns;
}

std::optional<double> CandidateComparison::seconds_of(const Candidate& candidate) const {
  for (std::size_t i = candidates_.size(); i-- > 0;) {
    if (candidates_[i].kind == candidate.kind &&
        candidates_[i].plan.widths == candidate.plan.widths) {
      return seconds(candidate_steps_[i].median());
    }
  }
  return std::nullopt;
}

double CandidateComparison::own_seconds() const {
  return candidate_steps_.empty() ? 0 : seconds(candidate_steps_[0].median());
}

}  // namespace optile::tuner
