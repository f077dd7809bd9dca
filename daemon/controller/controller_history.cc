// The controller's part in what earlier runs measured of a program beside others: whether lent
// cores gain it something, and what its steps took by cores.
#include <utility>

#include "daemon/controller/controller.h"

namespace optile::daemon {
namespace {

constexpr std::chrono::seconds kLendingBelieved{7L * 24 * 3600};  // then it is tried again
constexpr std::chrono::seconds kCurveBelieved{7L * 24 * 3600};    // each point of it
constexpr double kMostlySteered = 0.8;                            // of its steps

}  // namespace

// What earlier runs of it gained from lent cores.
void Controller::recall_lending(uint64_t id) {
  if (!leases_ || !leases_->has(id)) return;
  const AttachRequest& attach_request = clients_.at(id).client->attach_request();
  Store* store = store_of(attach_request.uid);
  if (store == nullptr) return;
  const int64_t since = clocks_.unix_seconds() - kLendingBelieved.count();
  for (const LendingRecord& record :
       store->find_lending(machine_.fingerprint, program_text(attach_request), since)) {
    leases_->lending().recall(id, record.own_cores, record.borrows);
  }
}

// What earlier runs of it took with so many cores.
void Controller::recall_curve(uint64_t id) {
  const Client& client = *clients_.at(id).client;
  Store* store = store_of(client.attach_request().uid);
  if (store == nullptr || client.tuning().allotment().keeps_widths()) return;
  const int64_t since = clocks_.unix_seconds() - kCurveBelieved.count();
  std::optional<EarlierCurve> curve =
      store->find_curve(on_this_machine(client.conditions()), since);
  if (curve) leases_->recall(id, std::move(*curve));
}

// Of one that leaves.
void Controller::keep_curve(uint64_t id) {
  if (!leases_) return;
  const int64_t now = clocks_.unix_seconds();
  std::optional<EarlierCurve> curve = leases_->learned(id, now);
  if (!curve) return;
  const Client& client = *clients_.at(id).client;
  const ClientView view = client.view(tuner::Detail::kFigures);
  curve->steered = view.session ? view.session->steerable_share : 0;
  Store* store = store_of(client.attach_request().uid);
  batches_.of(store).curves.push_back(
      {on_this_machine(client.conditions()), std::move(*curve), now});
  batches_.is_due_soon(store);
}

// Whether an earlier run spent most of its steps in ops that follow their lease.
std::optional<bool> Controller::was_steered(const ProgramKey& program, unsigned uid) {
  Store* store = store_to_read(uid);
  if (store == nullptr) return std::nullopt;
  Conditions conditions = on_this_machine({});
  conditions.program = program;
  const int64_t since = clocks_.unix_seconds() - kCurveBelieved.count();
  const std::optional<EarlierCurve> curve = store->find_curve(conditions, since);
  if (!curve) return std::nullopt;
  return curve->steered >= kMostlySteered;
}

}  // namespace optile::daemon
