// What is known of a session's client, whatever the phase. Plain record; owned by the session.
#pragma once

#include <cstdint>
#include <string>

#include "tuner/session/client_environment.h"
#include "tuner/session/op_sampler.h"
#include "tuner/session/plan_pages.h"
#include "tuner/session/session_view.h"
#include "tuner/session/step_times.h"
#include "tuner/statistics/concurrency_detector.h"
#include "tuner/steps/step_counter.h"
#include "tuner/steps/step_tracker.h"

namespace optile::tuner {

struct ClientRecord {
  ClientEnvironment environment;
  StepTracker step;
  StepCounter steps{};
  StepTimes times{};
  OpSampler sampler{};
  ConcurrencyDetector concurrency{};
  PlanPages pages{};
  Phase phase = Phase::kRecognising;
  std::string decision{};      // how it came to it, for people
  uint64_t unsteered_ops = 0;  // told while nothing had a width that can be set
};

}  // namespace optile::tuner
