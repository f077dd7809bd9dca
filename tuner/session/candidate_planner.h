// What a session compares with the program's default widths: plans of the whole step, made from
// what is known of its ops under the client's environment. Pure.
#pragma once

#include "tuner/plan/candidate.h"
#include "tuner/session/client_environment.h"
#include "tuner/steps/step_model.h"

namespace optile::tuner {

PlannerProblem planner_problem(const ClientEnvironment& environment, const StepModel& step,
                               perfmodel::Binding binding);
// Every op at the program's default width.
Candidate own_candidate(const ClientEnvironment& environment, const StepModel& step);
// The best single width, under the best binding; default widths where none promises more.
Candidate uniform_candidate(const ClientEnvironment& environment, const StepModel& step);
// A width per op, by the strategy of the options.
Candidate planned_candidate(const ClientEnvironment& environment, const StepModel& step);

}  // namespace optile::tuner
