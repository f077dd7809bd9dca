// What a plan page says in each phase, and what that means for who listens to the client. Pure
// functions of what is known of the client and of the phase at work.
#pragma once

#include "tuner/session/client_record.h"
#include "tuner/session/width_tuning.h"

namespace optile::tuner {

// Nothing met so far has a width that can be set, and enough of it was heard. An op's
// default width the client tells by itself, as soon as there is one.
inline bool pauses_unsteered(const ClientRecord& client) {
  constexpr uint64_t kMostUnsteered = uint64_t{1} << 16;  // ops heard where none can be steered
  if (client.environment.default_width() != 0 || client.phase != Phase::kRecognising) {
    return false;
  }
  return client.unsteered_ops >= kMostUnsteered ||
         (client.step.model() != nullptr && client.times.own.count() >= kFewestSampledSteps);
}
// Ops with a schedule aside, no op is told.
inline bool is_silent(const ClientRecord& client) {
  return client.phase == Phase::kTuned || client.phase == Phase::kComparing ||
         pauses_unsteered(client);
}
// The present page has a schedule that matters.
inline bool runs_schedule(const ClientRecord& client, const InForce& in_force) {
  return client.phase == Phase::kExploring || client.phase == Phase::kComparing ||
         in_force.guard.has_page();
}
// As many steps as the figures of a run need, whatever comes later.
bool has_enough_steps(const ClientRecord& client);
// Counters would be read now, were it allowed.
bool has_use_for_counts(const ClientRecord& client, const InForce& in_force);

PlanDraft draft_plan(const ClientRecord& client, const InForce& in_force,
                     const WidthTuning& tuning);
PublishedPage describe_page(const ClientRecord& client, const InForce& in_force,
                            const WidthTuning& tuning, const PlanDraft& draft);

}  // namespace optile::tuner
