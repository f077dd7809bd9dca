// The controller's part in what earlier runs measured of a program beside others, and in clients
// that are tried on cores divided otherwise.
#include <utility>

#include "daemon/controller.h"

namespace optile::daemon {
namespace {

constexpr std::chrono::seconds kLendingBelieved{7L * 24 * 3600};  // then it is tried again
constexpr std::chrono::seconds kCurveBelieved{7L * 24 * 3600};    // each point of it
constexpr double kMostlySteered = 0.8;                            // of its steps
constexpr std::size_t kFewestSteps = 5;  // heard, before a client may be part of a trial

}  // namespace

// What earlier runs found about this program beside others.
void Controller::recall_company(uint64_t id) {
  const Hello& hello = clients_.at(id).client->hello();
  Store* store = store_of(hello.uid);
  if (store == nullptr) return;
  const std::string program = program_text(hello);
  if (leases_ && leases_->has(id)) {
    const int64_t since = clocks_.unix_seconds() - kLendingBelieved.count();
    for (const LendingRecord& record : store->find_lending(machine_.fingerprint, program, since)) {
      leases_->lending().recall({id, record.own_cores, record.gain, record.borrows});
    }
  }
  if (divisions_.enabled()) {
    divisions_.remember(store->find_divisions(machine_.fingerprint, program), since_start(),
                        clocks_.unix_seconds());
  }
}

// What earlier runs of it took with so many cores.
void Controller::recall_curve(uint64_t id) {
  const Client& client = *clients_.at(id).client;
  Store* store = store_of(client.hello().uid);
  if (store == nullptr || client.keeps_widths()) return;
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
  Store* store = store_of(client.hello().uid);
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

std::vector<CompanyMember> Controller::company() const {
  std::vector<CompanyMember> members;
  for (const auto& [id, place] : clients_) {
    if (!leases_->has(id)) continue;
    const Client& client = *place.client;
    const tuner::Standing standing = client.standing();
    const bool runs = !place.waiting.waiting() && client.may_be_changed();
    CompanyMember one;
    one.client = id;
    one.program = program_text(client.hello());
    one.uid = client.hello().uid;
    one.settled =
        runs && standing.phase == tuner::Phase::kTuned && standing.tuned_steps >= kFewestSteps;
    one.searches = runs && !one.settled;
    one.widens =
        standing.has_use_for_more && place.lease && place.lease->cores < place.at_attach.cores;
    one.steps = client.steps();
    members.push_back(std::move(one));
  }
  return members;
}

void Controller::look_for_divisions() {
  if (!leases_ || !divisions_.due(since_start())) return;
  const std::optional<sched::CoreCounts>& wanted =
      divisions_.look(since_start(), company(), *leases_);
  for (const sched::DivisionNote& note : divisions_.take_notes()) {
    tell_of_lease(note.client, note.text);
  }
  for (auto& [taker, record] :
       divisions_.take_records(machine_.fingerprint, clocks_.unix_seconds())) {
    const auto found = clients_.find(taker);
    if (found == clients_.end()) continue;
    Store* store = store_of(found->second.client->hello().uid);
    batches_.of(store).divisions.push_back(std::move(record));
    batches_.is_due(store);
  }
  if (leases_->hold(wanted, divisions_.cause())) decide_leases(divisions_.tries());
}

}  // namespace optile::daemon
