#include "daemon/controller/controller.h"

#include <algorithm>
#include <set>
#include <utility>

#include "daemon/client/op_selection.h"
#include "daemon/support/client_limits.h"

namespace optile::daemon {
namespace {

double seconds_in_steps(const ClientView& client) {
  return client.session ? client.session->seconds_in_steps : 0;
}

// Of two processes of one run.
bool tells_more(const ClientView& one, const ClientView& other) {
  const bool whole = one.attach_request.whole_program;
  if (whole != other.attach_request.whole_program) return !whole;
  return seconds_in_steps(one) > seconds_in_steps(other);
}

// How many places of those keys run at another width than the program's own; 0 = every key.
std::size_t changed_places(const ClientView& client, const std::vector<uint64_t>& keys) {
  if (!client.session) return 0;
  std::size_t places = 0;
  for (const tuner::OpView& op : client.session->ops) {
    const bool meant =
        keys.front() == 0 || std::find(keys.begin(), keys.end(), op.place.key) != keys.end();
    places += meant && op.width != 0 ? 1 : 0;
  }
  return places;
}

}  // namespace

Controller::Controller(Dependencies dependencies)
    : machine_(std::move(dependencies.machine)),
      clocks_(std::move(dependencies.clocks)),
      history_({machine_.fingerprint, dependencies.store, dependencies.store_of,
                clocks_.monotonic_ns, clocks_.unix_seconds}),
      max_clients_(dependencies.max_clients),
      is_stopped_(dependencies.leases.is_stopped),
      write_log_(dependencies.leases.write_log),
      leases_(machine_, clocks_, history_, std::move(dependencies.leases)) {}

base::Status Controller::room_for(const AttachRequest& attach_request) const {
  const auto full = [](const std::string& who, std::size_t most) {
    return base::Error{base::ErrorKind::kUnavailable, "the daemon already serves " +
                                                          std::to_string(most) + " programs" + who +
                                                          "; this one runs untuned"};
  };
  if (clients_.size() >= max_clients_) return full("", max_clients_);
  if (!history_.has_users() || attach_request.uid == 0) return {};
  const std::size_t most = client_limit_per_user(max_clients_);
  if (client_census_.of_user(attach_request.uid) >= most) return full(" of this user", most);
  return {};
}

base::Result<uint64_t> Controller::arrive(AttachRequest attach_request, ClientMemory memory) {
  if (base::Status room = room_for(attach_request); !room.ok()) return room.error();
  const uint64_t id = ++last_id_;
  SessionDriver::Dependencies dependencies;
  if (is_stopped_)
    dependencies.is_stopped = [this, pid = attach_request.pid] { return is_stopped_(pid); };
  Conditions wanted;
  wanted.machine = machine_.fingerprint;
  wanted.program = {attach_request.executable, attach_request.program, attach_request.arguments};
  wanted.launch_plan = kept_under(attach_request);
  if (Store* store = history_.store_to_read(attach_request.uid); store != nullptr) {
    dependencies.find_plan = [store, wanted](int runtime, int default_width) {
      Conditions conditions = wanted;
      conditions.runtime = runtime;
      return store->find_plan(conditions, default_width);
    };
    dependencies.left_alone = store->is_undone(wanted);
    dependencies.hangs = store->find_hangs(wanted.machine, attach_request.program);
  }
  const unsigned uid = attach_request.uid;
  perfmodel::Budget at_attach = leases_.budget_of(attach_request);
  Place place;
  place.client = std::make_unique<Client>(id, std::move(attach_request), std::move(memory),
                                          make_configuration_space(machine_, at_attach), clocks_,
                                          std::move(dependencies));
  Client& client = *place.client;
  client_census_.came(uid);
  place.heard = client_census_.changes();
  clients_.emplace(id, std::move(place));
  leases_.arrive(client, std::move(at_attach));
  drain_pace_.on_arrival();
  return id;
}

void Controller::depart(uint64_t id) {
  const auto found = clients_.find(id);
  if (found == clients_.end()) return;
  Client& client = *found->second.client;
  const unsigned uid = client.attach_request().uid;
  follow(client);
  leases_.release(id, true);
  Store* const store = history_.store_of(uid);
  if (std::optional<RunRecord> run = client.run_record()) {
    run->conditions = history_.on_this_machine(std::move(run->conditions));
    run->when = clocks_.unix_seconds();
    history_.batches().of(store).runs.push_back(std::move(*run));
  }
  ClientView view = client.view();
  view.finished = true;
  view.stopped = false;
  view.steps_per_second.reset();
  view.finished_at = clocks_.unix_seconds();
  client_census_.left(uid);
  counting_.forget(id);
  clients_.erase(found);
  // A whole program whose first op was seen has attached again, with its ops.
  const bool goes_on =
      view.attach_request.whole_program && view.header && view.header->progress > 0;
  if (!goes_on) finished_.add(std::move(view));
  history_.batches().is_due_soon(store);
}

void Controller::dying(uint64_t id) {
  const auto found = clients_.find(id);
  if (found == clients_.end()) return;
  found->second.client->set_dying();
  leases_.release(id, false);
}

void Controller::drain() {
  DrainPace::Want want = DrainPace::Want::kFigures;
  double fill = 0;
  for (auto& [id, place] : clients_) {
    Client& client = *place.client;
    // Once, however many came or left since it was last read.
    const uint64_t changes = client_census_.changes();
    tuner::Session* session = client.tuning().session();
    if (std::exchange(place.heard, changes) != changes && session != nullptr) {
      session->on_surroundings_changed();
    }
    follow(client);
    session = client.tuning().session();
    if (session != nullptr && session->asks_to_count()) counting_.ask(id);
    want = std::max(want, client.wanted_events());
    fill = std::max(fill, client.reader().fill());
  }
  while (const std::optional<uint64_t> id =
             counting_.next(std::chrono::nanoseconds(clocks_.monotonic_ns()))) {
    Client& client = *clients_.at(*id).client;
    // It may have turned to something else while it waited; then it will ask again.
    if (client.tuning().session()->asks_to_count()) client.tuning().allow_counting();
    want = std::max(want, client.wanted_events());
  }
  drain_pace_.on_drain(want, fill);
  history_.batches().flush(false);
}

// What a client has done since the last look, and what follows for the store.
void Controller::follow(Client& client) {
  Client::Findings found = client.drain();
  Store* store = history_.store_of(client.attach_request().uid);
  StoreBatches& batches = history_.batches();
  if (found.forgotten) {
    batches.write_due(store);  // within a batch it would go before a plan that was found earlier
    batches.of(store).forgotten.push_back(history_.on_this_machine(client.conditions()));
    batches.is_due(store);
  }
  if (found.settled) {
    SettledRecord record;
    record.conditions = history_.on_this_machine(client.conditions());
    record.settled = std::move(*found.settled);
    record.when = clocks_.unix_seconds();
    batches.of(store).settled.push_back(std::move(record));
    batches.is_due(store);
  }
  // Written at once: whoever sees his program hang ends it, and perhaps everything.
  for (HangRecord& hang : found.hangs) {
    if (write_log_) {
      write_log_("client " + std::to_string(client.id()) + " (" + hang.program + "): " + hang.name +
                 " does not return at width " + std::to_string(hang.width) +
                 "; it keeps the program's default width from now on");
    }
    hang.machine = machine_.fingerprint;
    batches.of(store).hangs.push_back(std::move(hang));
    batches.is_due(store);
  }
}

base::Result<Controller::Undone> Controller::undo(const UndoRequest& request) {
  Undone undone;
  const auto program_is_meant = [&](const ClientView& view) {
    return request.program.empty() || view.attach_request.program == request.program;
  };
  bool known = false;
  std::set<Store*> stores = {history_.store_of(request.asked_by)};
  for (auto& [id, place] : clients_) {
    if (request.client != 0 && request.client != id) continue;
    if (request.user && *request.user != place.client->attach_request().uid) continue;
    const ClientView before = place.client->view();
    if (!program_is_meant(before)) continue;
    known = true;
    stores.insert(history_.store_of(place.client->attach_request().uid));
    if (request.revoke) continue;
    const std::vector<uint64_t> keys = request.op.empty()
                                           ? std::vector<uint64_t>{0}
                                           : keys_of(OpSelection::parse(request.op), before);
    for (const uint64_t key : keys) place.client->tuning().undo(key);
    if (keys.empty()) continue;
    undone.ops += changed_places(before, keys);
    undone.clients.push_back(before);
  }
  if (request.client != 0 && !known) {
    return base::Error{base::ErrorKind::kNotFound,
                       "no attached client has that number; see /v1/clients"};
  }
  if (!request.op.empty()) {
    if (undone.clients.empty()) {
      return base::Error{base::ErrorKind::kNotFound, "no attached client runs such an op"};
    }
    return undone;
  }
  UndoRecord record;
  record.conditions = history_.on_this_machine({});
  record.conditions.program.program = request.program;
  record.revoke = request.revoke;
  record.when = clocks_.unix_seconds();
  if (request.client != 0) {
    record.conditions.program.program =
        clients_.at(request.client).client->attach_request().program;
  }
  // A client that is named is its user's alone.
  if (request.client != 0)
    stores = {history_.store_of(clients_.at(request.client).client->attach_request().uid)};
  history_.batches().flush(true);  // within a batch it would go before what programs have left
  for (Store* store : stores) history_.batches().of(store).undone.push_back(record);
  history_.batches().flush(true);
  return undone;
}

Client* Controller::client(uint64_t id) {
  const auto found = clients_.find(id);
  return found == clients_.end() ? nullptr : found->second.client.get();
}

std::vector<ClientView> Controller::attached(tuner::Detail detail) const {
  std::vector<ClientView> views;
  for (const auto& [id, place] : clients_) views.push_back(place.client->view(detail));
  return views;
}

std::vector<ClientView> Controller::views() const {
  std::vector<ClientView> views = attached();
  const auto& finished = finished_.newest_first();
  views.insert(views.end(), finished.begin(), finished.end());
  return views;
}

std::optional<ClientView> Controller::view(uint64_t id) const {
  if (const auto found = clients_.find(id); found != clients_.end()) {
    return found->second.client->view();
  }
  const ClientView* finished = finished_.find(id);
  return finished == nullptr ? std::nullopt : std::optional(*finished);
}

RunStatus Controller::find_run(const std::string& run_id, std::optional<unsigned> user) const {
  RunStatus run;
  if (run_id.empty()) return run;
  const auto is_meant = [&](const AttachRequest& attach_request) {
    return attach_request.run_id == run_id && (!user || attach_request.uid == *user);
  };
  for (const auto& [id, place] : clients_) {
    if (!is_meant(place.client->attach_request())) continue;
    run.state = RunState::kRunning;
    ClientView view = place.client->view();
    if (!run.client || tells_more(view, *run.client)) run.client = std::move(view);
  }
  for (const ClientView& view : finished_.newest_first()) {
    if (!is_meant(view.attach_request)) continue;
    if (run.state == RunState::kUnknown) run.state = RunState::kFinished;
    if (!run.client || tells_more(view, *run.client)) run.client = view;
  }
  return run;
}

}  // namespace optile::daemon
