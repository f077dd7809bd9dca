// What a session compares with the program's default widths: plans of the whole step, made from
// what is known of its ops under the client's environment. Pure.
#pragma once

#include <optional>

#include "tuner/plan/candidate.h"
#include "tuner/session/client_environment.h"
#include "tuner/steps/step_model.h"

namespace optile::tuner {

PlannerProblem planner_problem(const ClientEnvironment& environment, const StepModel& step,
                               perfmodel::Binding binding);
// Every op at the program's default width.
Candidate own_candidate(const ClientEnvironment& environment, const StepModel& step);
// The best single width, under the best binding; default widths where none promises more.
// Of a framework that runs several ops at once: a cap of all, while it does. `step_ns`: its steps
// by themselves; 0 = not known.
Candidate uniform_candidate(const ClientEnvironment& environment, const StepModel& step,
                            double step_ns);
// No op wider than that, while the framework runs several at once.
Candidate capped_candidate(const ClientEnvironment& environment, const StepModel& step, int width);
// A width per op, by the strategy of the options.
Candidate planned_candidate(const ClientEnvironment& environment, const StepModel& step);
// How strategies would admit the ops of a framework that runs several at once; none: it is no such
// framework, or has one core, or the user chose a strategy that admits none.
std::vector<OpFlow> admitted_flows(const ClientEnvironment& environment);
// One for each of those flows.
std::vector<Candidate> side_by_side_candidates(const ClientEnvironment& environment,
                                               const StepModel& step);
// For a draft with such a flow: what each place of the step costs, and entries that hold it.
void add_menus(const ClientEnvironment& environment, const StepModel& step, PlanDraft& draft);
// The same from what an earlier run measured.
void add_menus(const ClientEnvironment& environment, const StepModel& step,
               const std::vector<StoredTime>& times, PlanDraft& draft);

}  // namespace optile::tuner
