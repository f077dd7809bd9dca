#include "daemon/controller/controller.h"

#include <algorithm>
#include <set>
#include <utility>

#include "daemon/client/op_selection.h"
#include "daemon/controller/budget_turns.h"
#include "daemon/support/history_limits.h"

namespace optile::daemon {
namespace {

double seconds_in_steps(const ClientView& client) {
  return client.session ? client.session->seconds_in_steps : 0;
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

// What everybody does beside each client.
void look_at_others(CoRunnerLoadWatch& watch, std::map<uint64_t, ClientPlace>& clients,
                    const std::vector<int>& units, std::chrono::milliseconds now) {
  if (!watch.is_due(now, clients.size())) return;
  std::vector<CoRunnerLoadWatch::Party> parties;
  for (auto& [id, place] : clients) {
    const AttachRequest& attach_request = place.client->attach_request();
    const std::vector<int>& its = place.at_attach.units;
    parties.push_back({attach_request.pid, attach_request.run_id, its.empty() ? units : its,
                       &place.client->co_runner_load()});
  }
  watch.look(now, parties);
}

}  // namespace

Controller::Controller(Dependencies dependencies)
    : machine_(std::move(dependencies.machine)),
      store_(dependencies.store),
      store_of_(std::move(dependencies.store_of)),
      clocks_(std::move(dependencies.clocks)),
      read_budget_(std::move(dependencies.read_budget)),
      is_stopped_(std::move(dependencies.is_stopped)),
      budget_(read_budget_(0)),
      bound_within_(budget_.units),
      co_runner_load_(dependencies.read_load),
      words_(dependencies.words),
      max_clients_(dependencies.max_clients),
      batches_(clocks_.monotonic_ns) {
  note_cpuset_ = std::move(dependencies.note_cpuset);
  busy_time_ = std::move(dependencies.busy_time);
  demand_ = std::move(dependencies.processor_demand);
  later_ = std::move(dependencies.later);
  say_ = dependencies.say ? std::move(dependencies.say) : [](const std::string&) {};
  tell_move_ = dependencies.tell_move
                   ? std::move(dependencies.tell_move)
                   : [this](uint64_t, const std::string& text) { say_("lease: " + text); };
  if (dependencies.confine) {
    leases_.emplace(machine_, budget_,
                    Leases::Dependencies{std::move(dependencies.confine),
                                         std::move(dependencies.read_load), store_of_ != nullptr,
                                         std::move(dependencies.held_before), since_start()});
  }
}

base::Status Controller::room_for(const AttachRequest& attach_request) const {
  const auto full = [](const std::string& who, std::size_t most) {
    return base::Error{base::ErrorKind::kUnavailable, "the daemon already serves " +
                                                          std::to_string(most) + " programs" + who +
                                                          "; this one runs untuned"};
  };
  if (clients_.size() >= max_clients_) return full("", max_clients_);
  if (!store_of_ || attach_request.uid == 0) return {};
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
  if (Store* store = store_to_read(attach_request.uid); store != nullptr) {
    dependencies.find_plan = [store, wanted](int runtime, int default_width) {
      Conditions conditions = wanted;
      conditions.runtime = runtime;
      return store->find_plan(conditions, default_width);
    };
    dependencies.left_alone = store->is_undone(wanted);
    dependencies.hangs = store->find_hangs(wanted.machine, attach_request.program);
  }
  Place place;
  const Arrival arrival = {attach_request.executable, attach_request.uid, attach_request.pid};
  place.at_attach = budget_at_start(attach_request);
  place.now = place.at_attach;
  place.client = std::make_unique<Client>(id, std::move(attach_request), std::move(memory),
                                          make_configuration_space(machine_, place.now), clocks_,
                                          std::move(dependencies));
  client_census_.came(arrival.user);
  place.heard = client_census_.changes();
  clients_.emplace(id, std::move(place));
  expected_.came(arrival, since_start());
  look_at_others(co_runner_load_, clients_, budget_.units, since_start());
  lease_to(id);
  recall_lending(id);
  drain_pace_.on_arrival();
  ++attached_;
  return id;
}

void Controller::depart(uint64_t id) {
  const auto found = clients_.find(id);
  if (found == clients_.end()) return;
  Client& client = *found->second.client;
  Store* const store = store_of(client.attach_request().uid);
  look_at_others(co_runner_load_, clients_, budget_.units, since_start());
  follow(client);
  if (std::optional<RunRecord> run = client.run_record()) {
    run->conditions = on_this_machine(std::move(run->conditions));
    run->when = clocks_.unix_seconds();
    batches_.of(store).runs.push_back(std::move(*run));
  }
  ClientView view = client.view();
  view.finished = true;
  view.stopped = false;
  view.steps_per_second.reset();
  view.finished_at = clocks_.unix_seconds();
  client_census_.left(client.attach_request().uid);
  counting_.forget(id);
  keep_curve(id);
  clients_.erase(found);
  bounds_.forget(id);
  if (leases_) leases_->leave(id);
  decide_leases_soon();
  remember(std::move(view));
  batches_.is_due_soon(store);
}

void Controller::dying(uint64_t id) {
  const auto found = clients_.find(id);
  if (found == clients_.end()) return;
  found->second.client->set_dying();
  look_at_others(co_runner_load_, clients_, budget_.units, since_start());
  keep_curve(id);
  if (leases_) leases_->leave(id);
  decide_leases_soon();
}

void Controller::remember(ClientView view) {
  finished_ops_ += view.ops.size();
  finished_.push_front(std::move(view));
  while (finished_.size() > kMaxFinished ||
         (finished_ops_ > kMaxFinishedOps && finished_.size() > 1)) {
    finished_ops_ -= finished_.back().ops.size();
    finished_.pop_back();
  }
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
  while (const std::optional<uint64_t> id = counting_.next(since_start())) {
    Client& client = *clients_.at(*id).client;
    // It may have turned to something else while it waited; then it will ask again.
    if (client.tuning().session()->asks_to_count()) client.tuning().allow_counting();
    want = std::max(want, client.wanted_events());
  }
  drain_pace_.on_drain(want, fill);
  flush(false);
}

void Controller::refresh_budgets() {
  auto next = clients_.upper_bound(budget_read_);
  if (budget_read_ == 0) budget_ = read_budget_(0);
  for (std::size_t i = 0; i < kBudgetsATurn && next != clients_.end(); ++i, ++next) {
    budget_read_ = next->first;
    refresh_budget(next->first, next->second);
  }
  if (next != clients_.end()) return;
  budget_read_ = 0;
  look_at_others(co_runner_load_, clients_, budget_.units, since_start());
  if (!leases_) return;
  // What part of ours somebody is bound to is another part once ours has changed.
  if (std::exchange(bound_within_, budget_.units) != budget_.units) {
    for (const auto& [id, place] : clients_) bind(id, place);
  }
  leases_->set_budget(budget_, since_start(), expected_.someone(since_start()));
  for (auto& [id, place] : clients_) publish_co_runners(place);
  publish_demands();
  look_for_time_sharing();  // of who is alone too: its pace is what a lease is judged by
  decide_leases();
  retry_pending();
}

void Controller::bind(uint64_t id, const Place& place) {
  const std::optional<std::vector<int>> bound_to = binding_at_start(place.now);
  if (leases_ && bound_to) leases_->bind(id, *bound_to);
}

void Controller::refresh_budget(uint64_t id, Place& place) {
  const int pid = place.client->attach_request().pid;
  place.client->set_process_stopped(is_stopped_ && is_stopped_(pid));
  perfmodel::Budget now = budget_now(place);
  if (now != place.now) {
    if (note_cpuset_ && now.cpuset != place.now.cpuset) note_cpuset_(id, now.cpuset);
    place.now = std::move(now);
    // Its cpuset became smaller or grew back: leases are cut from what is left.
    bind(id, place);
    place.client->tuning().set_space(make_configuration_space(machine_, leased(place)));
  }
  if (leases_ && (leases_->has(id) || place.detached)) leases_->confine_again(id, pid);
}

// What a client has done since the last look, and what follows for the store.
void Controller::follow(Client& client) {
  Client::Findings found = client.drain();
  if (found.forgotten) {
    Store* store = store_of(client.attach_request().uid);
    batches_.write_due(store);  // within a batch it would go before a plan that was found earlier
    batches_.of(store).forgotten.push_back(on_this_machine(client.conditions()));
    batches_.is_due(store);
  }
  if (found.settled) settle(client, std::move(*found.settled));
  // Written at once: whoever sees his program hang ends it, and perhaps everything.
  for (HangRecord& hang : found.hangs) {
    say_("client " + std::to_string(client.id()) + " (" + hang.program + "): " + hang.name +
         " does not return at width " + std::to_string(hang.width) +
         "; it keeps the program's default width from now on");
    hang.machine = machine_.fingerprint;
    Store* store = store_of(client.attach_request().uid);
    batches_.of(store).hangs.push_back(std::move(hang));
    batches_.is_due(store);
  }
}

void Controller::settle(const Client& client, tuner::Session::Settled settled) {
  SettledRecord record;
  record.conditions = on_this_machine(client.conditions());
  record.settled = std::move(settled);
  record.when = clocks_.unix_seconds();
  Store* store = store_of(client.attach_request().uid);
  batches_.of(store).settled.push_back(std::move(record));
  batches_.is_due(store);
}

base::Result<Controller::Undone> Controller::undo(const UndoRequest& request) {
  Undone undone;
  const auto program_is_meant = [&](const ClientView& view) {
    return request.program.empty() || view.attach_request.program == request.program;
  };
  bool known = false;
  std::set<Store*> stores = {store_of(request.asked_by)};
  for (auto& [id, place] : clients_) {
    if (request.client != 0 && request.client != id) continue;
    if (request.user && *request.user != place.client->attach_request().uid) continue;
    const ClientView before = place.client->view();
    if (!program_is_meant(before)) continue;
    known = true;
    stores.insert(store_of(place.client->attach_request().uid));
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
  record.conditions = on_this_machine({});
  record.conditions.program.program = request.program;
  record.revoke = request.revoke;
  record.when = clocks_.unix_seconds();
  if (request.client != 0) {
    record.conditions.program.program =
        clients_.at(request.client).client->attach_request().program;
  }
  // A client that is named is its user's alone.
  if (request.client != 0)
    stores = {store_of(clients_.at(request.client).client->attach_request().uid)};
  flush(true);  // within a batch it would go before what programs have left
  for (Store* store : stores) batches_.of(store).undone.push_back(record);
  flush(true);
  return undone;
}

perfmodel::LaunchPlan Controller::launch_plan(const perfmodel::LaunchFacts& facts,
                                              const ProgramKey& program, unsigned uid) {
  Conditions conditions;
  conditions.machine = machine_.fingerprint;
  conditions.program = program;
  Store* store = store_to_read(uid);
  if (store == nullptr) return perfmodel::choose_launch_plan(facts, {});
  std::vector<perfmodel::MeasuredLaunchPlan> measured;
  const std::vector<RunRecord> runs = store->find_runs(conditions);
  for (const RunRecord& run : runs) {
    // A step of other ops is no measure for those of the latest run.
    if (!may_be_same_step(run.step, runs.front().step)) continue;
    perfmodel::MeasuredLaunchPlan one;
    one.text = run.kind == RunKind::kBaseline ? "" : run.conditions.launch_plan;
    // Any other run without a launch plan was not started by the launcher: not comparable.
    if (one.text.empty() && run.kind != RunKind::kBaseline) continue;
    // Nor is one with another number of threads, and most ops left alone.
    if (!perfmodel::launch_word(one.text, "numerics").empty()) continue;
    one.step_seconds = run.step_seconds;
    one.spread = run.spread;
    one.steps = run.steps;
    one.tuned = run.kind == RunKind::kTune;
    one.disturbed = !run.disturbed.empty();
    measured.push_back(std::move(one));
  }
  return store->is_undone(conditions) ? perfmodel::launch_plan_left_alone()
                                      : perfmodel::choose_launch_plan(facts, measured);
}

std::optional<FoundPlan> Controller::stored_plan(const ProgramKey& program,
                                                 const std::string& launch_plan, unsigned uid) {
  Store* store = store_to_read(uid);
  if (store == nullptr) return std::nullopt;
  Conditions conditions;
  conditions.machine = machine_.fingerprint;
  conditions.program = program;
  conditions.launch_plan = launch_plan;
  return store->find_plan(conditions, 0);
}

std::vector<ClientView> Controller::attached(tuner::Detail detail) const {
  std::vector<ClientView> views;
  for (const auto& [id, place] : clients_) views.push_back(place.client->view(detail));
  return views;
}

std::vector<ClientView> Controller::views() const {
  std::vector<ClientView> views = attached();
  views.insert(views.end(), finished_.begin(), finished_.end());
  return views;
}

std::optional<ClientView> Controller::view(uint64_t id) const {
  if (const auto found = clients_.find(id); found != clients_.end()) {
    return found->second.client->view();
  }
  for (const ClientView& view : finished_) {
    if (view.id == id) return view;
  }
  return std::nullopt;
}

Controller::Run Controller::find_run(const std::string& run_id,
                                     std::optional<unsigned> user) const {
  Run run;
  if (run_id.empty()) return run;
  const auto is_meant = [&](const AttachRequest& attach_request) {
    return attach_request.run_id == run_id && (!user || attach_request.uid == *user);
  };
  for (const auto& [id, place] : clients_) {
    if (!is_meant(place.client->attach_request())) continue;
    run.state = RunState::kRunning;
    ClientView view = place.client->view();
    if (!run.client || seconds_in_steps(view) > seconds_in_steps(*run.client)) {
      run.client = std::move(view);
    }
  }
  for (const ClientView& view : finished_) {
    if (!is_meant(view.attach_request)) continue;
    if (run.state == RunState::kUnknown) run.state = RunState::kFinished;
    if (!run.client || seconds_in_steps(view) > seconds_in_steps(*run.client)) run.client = view;
  }
  return run;
}

std::vector<RunRecord> Controller::earlier_runs(const ClientView& client) {
  Conditions conditions;
  conditions.machine = machine_.fingerprint;
  conditions.program = {client.attach_request.executable, client.attach_request.program,
                        client.attach_request.arguments};
  Store* store = store_to_read(client.attach_request.uid);
  return store == nullptr ? std::vector<RunRecord>() : store->find_runs(conditions);
}

Store* Controller::store_to_read(unsigned uid) {
  Store* store = store_of(uid);
  batches_.write_due(store);
  return store;
}

Conditions Controller::on_this_machine(Conditions conditions) const {
  conditions.machine = machine_.fingerprint;
  return conditions;
}

}  // namespace optile::daemon
