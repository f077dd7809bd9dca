// The phase in which whole steps decide: the program's default widths, the best uniform width and
// the planned widths run in turns until one is settled as the fastest. Once per exploration it
// plans again with what it learned about changes of width. Owned by the session; one thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tuner/plan/candidate.h"
#include "tuner/search/cap_climb.h"
#include "tuner/session/client_environment.h"
#include "tuner/session/plan_pages.h"
#include "tuner/session/step_times.h"
#include "tuner/statistics/step_comparison.h"
#include "tuner/steps/step_model.h"

namespace optile::tuner {

class CandidateComparison {
 public:
  struct Verdict {
    Candidate winner;
    std::string decision;     // for people
    bool among_caps = false;  // which is all that was compared
  };

  CandidateComparison(ClientEnvironment& environment, StepTimes& times)
      : environment_(environment), times_(times) {}

  // Caps on the width of every op are compared before any op is measured by itself. False: there is
  // none to compare, or it is known which one is the fastest.
  bool begin_caps(const StepModel& step);
  // Plans from what the exploration found. A verdict at once where nothing is worth comparing.
  std::optional<Verdict> begin(const StepModel& step);
  // A step of the present page.
  void record(int column, perfmodel::Nanoseconds duration);
  // The page has run: a verdict, or the next page is made.
  std::optional<Verdict> close_page(const StepModel& step);
  void stop();
  // Another exploration: it may plan again.
  void restart();

  void add_to(PlanDraft& draft, const StepModel& step) const;
  std::vector<PageColumn> columns() const;

  int uniform_width() const { return uniform_width_; }
  // Of a step as it was compared, latest; 0 = not measured. nullopt: no such candidate.
  std::optional<double> seconds_of(const Candidate& candidate) const;
  // At the program's default widths; 0 = not measured.
  double own_seconds() const;

 private:
  void compare(std::vector<Candidate> candidates, const StepModel& step);
  void compare_next_cap(const StepModel& step);
  std::optional<Verdict> close_cap(const StepModel& step);
  void make_page();
  int affordable_blocks() const;
  perfmodel::Nanoseconds listening_of_a_step(const StepModel& step) const;
  bool replan(const StepModel& step);
  void learn_switching_cost(std::size_t planned);
  std::string decision() const;

  ClientEnvironment& environment_;
  StepTimes& times_;
  std::unique_ptr<StepComparison> comparison_;
  std::vector<Candidate> candidates_;
  std::vector<perfmodel::SampleSet> candidate_steps_;
  std::vector<int> page_;  // candidate by column
  std::optional<CapClimb> caps_;
  bool climbs_ = false;  // the caps, now
  bool replanned_ = false;
  int uniform_width_ = 0;
};

}  // namespace optile::tuner
