// What is in force once a client is tuned, and what guards it. Plain record; owned by the session.
#pragma once

#include "tuner/session/client_record.h"
#include "tuner/session/lent_cores.h"
#include "tuner/session/plan_in_force.h"
#include "tuner/session/regression_guard.h"

namespace optile::tuner {

struct InForce {
  PlanInForce plan;
  RegressionGuard guard;
  LentCores lent;
  bool settled = false;          // not told to the store yet
  bool forget = false;           // the stored plan
  const char* undone = nullptr;  // for the rest of the run: why, for people
};

// The step of the candidate in force; null while there is none.
inline const StepModel* step_in_force(const ClientRecord& client) {
  return client.phase == Phase::kTuned ? client.step.model() : nullptr;
}

// Control steps go out where they are due and say something.
inline void make_guard_page(ClientRecord& client, InForce& in_force) {
  const bool any = in_force.plan.replayed() != nullptr || client.phase == Phase::kTuned;
  if (!any || client.step.watching() || in_force.lent.lent() || client.concurrency.usual()) return;
  if (in_force.guard.make_page()) client.pages.on_changed();
}

}  // namespace optile::tuner
