// The phase in which ops run trial widths in scheduled steps: a search per op, pages made from what
// the searches wish, and how much of it all a program is made to pay. Owned by the session; one
// thread.
#pragma once

#include <memory>
#include <vector>

#include "tuner/search/trial_schedule.h"
#include "tuner/session/client_environment.h"
#include "tuner/session/op_sampler.h"
#include "tuner/session/plan_pages.h"
#include "tuner/session/step_times.h"
#include "tuner/steps/step_model.h"

namespace optile::tuner {

class Exploration {
 public:
  Exploration(const ClientEnvironment& environment, const StepTimes& times, OpSampler& sampler)
      : environment_(environment), times_(times), sampler_(sampler) {}

  // Another round of trials begins: fresh searches, and the first page.
  void begin(StepModel& step);
  // The page has run: searches see its samples, and the next page is made.
  void close_page(StepModel& step);
  // Nothing is left to try, or can be afforded.
  bool is_over() const { return page_.empty(); }
  void stop() { page_ = {}; }
  // Sites that are observed only, or cannot be set by most of their executions, have no search.
  void leave_alone(StepModel& step) const;

  void count_round() {
    ++rounds_;
    trials_ = 0;
  }
  void forget_rounds() { rounds_ = 0; }
  int rounds() const { return rounds_; }

  void add_to(PlanDraft& draft, const StepModel& step) const;
  std::vector<PageColumn> columns() const;

 private:
  void make_page(const StepModel& step);
  std::unique_ptr<Search> make_search(const Site& site) const;
  TrialOptions trial_options() const;
  bool is_spent() const;

  const ClientEnvironment& environment_;
  const StepTimes& times_;
  OpSampler& sampler_;
  TrialPage page_;
  int trials_ = 0;  // scheduled in this round
  int rounds_ = 0;
};

}  // namespace optile::tuner
