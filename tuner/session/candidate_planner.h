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
// How strategies 3 and 4 would have the ops of a framework that runs several at once pass; nullopt:
// it is none, or has one core, or the user chose another strategy.
std::optional<OpFlow> admitted_flow(const ClientEnvironment& environment);
// Nullopt as above.
std::optional<Candidate> side_by_side_candidate(const ClientEnvironment& environment,
                                                const StepModel& step);
// For a draft with such a flow: what each place of the step costs, and entries that hold it.
void add_menus(const ClientEnvironment& environment, const StepModel& step, PlanDraft& draft);
// The same from what an earlier run measured.
void add_menus(const ClientEnvironment& environment, const StepModel& step,
               const std::vector<StoredTime>& times, PlanDraft& draft);

}  // namespace optile::tuner
