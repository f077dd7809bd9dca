#include "daemon/controller.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace optile::daemon {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kProfilingPeriod{5};
constexpr milliseconds kTunedPeriod{200};
constexpr milliseconds kQuietPeriod{1000};  // reached by and by while rings stay nearly empty
constexpr double kRingBusy = 0.25;          // fuller than this: read sooner
constexpr double kRingQuiet = 0.05;
constexpr uint64_t kFlushEveryNs = UINT64_C(3000000000);
constexpr uint64_t kLongestFlushWaitNs = UINT64_C(60000000000);  // after repeated failures
constexpr std::size_t kMaxBatch = 256;  // kept while nothing can be written; the oldest go

double seconds_in_steps(const ClientView& client) {
  return client.session ? client.session->seconds_in_steps : 0;
}

template <typename T>
void keep_newest(std::vector<T>& records) {
  if (records.size() <= kMaxBatch) return;
  records.erase(records.begin(), records.end() - static_cast<std::ptrdiff_t>(kMaxBatch));
}

}  // namespace

Controller::Controller(Dependencies dependencies)
    : machine_(std::move(dependencies.machine)),
      store_(dependencies.store),
      clocks_(std::move(dependencies.clocks)),
      read_budget_(std::move(dependencies.read_budget)),
      budget_(read_budget_(0)),
      next_drain_(kProfilingPeriod),
      tuned_period_(kTunedPeriod),
      flush_wait_ns_(kFlushEveryNs) {}

base::Result<uint64_t> Controller::arrive(Hello hello, ClientMemory memory) {
  if (clients_.size() >= kMaxClients) {
    return base::Error{base::ErrorKind::kUnavailable, "the daemon already serves " +
                                                          std::to_string(kMaxClients) +
                                                          " programs; this one runs untuned"};
  }
  const uint64_t id = ++last_id_;
  Client::Dependencies dependencies;
  dependencies.clocks = &clocks_;
  Conditions wanted;
  wanted.machine = machine_.fingerprint;
  wanted.program = {hello.executable, hello.program, hello.arguments};
  wanted.launch_plan = hello.launch_plan;
  dependencies.find_plan = [this, wanted](int runtime, int own_width) {
    Conditions conditions = wanted;
    conditions.runtime = runtime;
    return store_->find_plan(conditions, own_width);
  };
  Place place;
  place.at_attach = read_budget_(hello.pid);
  place.now = place.at_attach;
  place.client =
      std::make_unique<Client>(id, std::move(hello), std::move(memory),
                               make_case_set(machine_, place.now), std::move(dependencies));
  clients_.emplace(id, std::move(place));
  next_drain_ = kProfilingPeriod;
  return id;
}

void Controller::depart(uint64_t id) {
  const auto found = clients_.find(id);
  if (found == clients_.end()) return;
  Client& client = *found->second.client;
  if (std::optional<tuner::Session::Settled> settled = client.drain()) {
    settle(client, std::move(*settled));
  }
  if (std::optional<RunRecord> run = client.run_record()) {
    run->conditions = on_this_machine(std::move(run->conditions));
    run->when = clocks_.unix_seconds();
    batch_.runs.push_back(std::move(*run));
  }
  ClientView view = client.view();
  view.finished = true;
  view.finished_at = clocks_.unix_seconds();
  clients_.erase(found);
  finished_.push_front(std::move(view));
  if (finished_.size() > kMaxFinished) finished_.pop_back();
  flush(true);
}

void Controller::drain() {
  bool profiling = false;
  double fill = 0;
  for (const auto& [id, place] : clients_) {
    Client& client = *place.client;
    if (std::optional<tuner::Session::Settled> settled = client.drain()) {
      settle(client, std::move(*settled));
    }
    profiling = profiling || client.profiling();
    fill = std::max(fill, client.ring_fill());
  }
  if (fill > kRingBusy) {
    tuned_period_ = std::max(kProfilingPeriod, tuned_period_ / 2);
  } else if (fill < kRingQuiet) {
    tuned_period_ = std::min(kQuietPeriod, tuned_period_ + tuned_period_ / 8 + milliseconds(1));
  }
  if (profiling) tuned_period_ = kTunedPeriod;
  next_drain_ = profiling ? kProfilingPeriod : tuned_period_;
  flush(false);
}

void Controller::refresh_budgets() {
  budget_ = read_budget_(0);
  for (auto& [id, place] : clients_) {
    perfmodel::Budget now = budget_now(place);
    if (now == place.now) continue;
    place.now = std::move(now);
    place.client->set_cases(make_case_set(machine_, place.now));
  }
}

perfmodel::Budget Controller::budget_now(const Place& place) const {
  perfmodel::Budget now = read_budget_(place.client->hello().pid);
  if (!place.client->was_bound()) return now;
  perfmodel::Budget kept = place.at_attach;
  kept.quota_cores = now.quota_cores;
  if (now.quota_cores > 0) {
    kept.cores = std::clamp(static_cast<int>(std::ceil(now.quota_cores)), 1, kept.cores);
  }
  return kept;
}

void Controller::settle(const Client& client, tuner::Session::Settled settled) {
  SettledRecord record;
  record.conditions = on_this_machine(client.conditions());
  record.settled = std::move(settled);
  record.when = clocks_.unix_seconds();
  batch_.settled.push_back(std::move(record));
  flush_at_ns_ = std::min(flush_at_ns_, clocks_.monotonic_ns());
}

void Controller::flush(bool now) {
  if (batch_.empty()) return;
  const uint64_t now_ns = clocks_.monotonic_ns();
  if (!now && now_ns < flush_at_ns_) return;
  const base::Status written = store_->write(batch_);
  if (written.ok()) {
    batch_ = {};
    flush_wait_ns_ = kFlushEveryNs;
  } else {
    trim_batch();
    flush_wait_ns_ = std::min(flush_wait_ns_ * 2, kLongestFlushWaitNs);
  }
  flush_at_ns_ = now_ns + flush_wait_ns_;
}

void Controller::trim_batch() {
  keep_newest(batch_.settled);
  keep_newest(batch_.runs);
  keep_newest(batch_.launches);
}

perfmodel::LaunchPlan Controller::launch(const perfmodel::LaunchFacts& facts,
                                         const ProgramKey& program) {
  Conditions conditions;
  conditions.machine = machine_.fingerprint;
  conditions.program = program;
  std::vector<perfmodel::MeasuredLaunchPlan> measured;
  for (const RunRecord& run : store_->find_runs(conditions)) {
    perfmodel::MeasuredLaunchPlan one;
    one.text = run.kind == RunKind::kBaseline ? "" : run.conditions.launch_plan;
    // Any other run without a launch plan was not started by the launcher: not comparable.
    if (one.text.empty() && run.kind != RunKind::kBaseline) continue;
    one.step_seconds = run.step_seconds;
    one.spread = run.spread;
    one.steps = run.steps;
    one.tuned = run.kind == RunKind::kTune;
    measured.push_back(std::move(one));
  }
  perfmodel::LaunchPlan plan = perfmodel::choose_launch_plan(facts, measured);
  LaunchRecord record;
  record.conditions = conditions;
  record.conditions.launch_plan = plan.text;
  for (const std::string& reason : plan.reasons) record.reasons += reason + "\n";
  record.when = clocks_.unix_seconds();
  batch_.launches.push_back(std::move(record));
  trim_batch();
  return plan;
}

std::vector<ClientView> Controller::attached() const {
  std::vector<ClientView> views;
  for (const auto& [id, place] : clients_) views.push_back(place.client->view());
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

Controller::Run Controller::find_run(const std::string& run_id) const {
  Run run;
  if (run_id.empty()) return run;
  for (const auto& [id, place] : clients_) {
    if (place.client->hello().run_id != run_id) continue;
    run.state = RunState::kRunning;
    ClientView view = place.client->view();
    if (!run.client || seconds_in_steps(view) > seconds_in_steps(*run.client)) {
      run.client = std::move(view);
    }
  }
  for (const ClientView& view : finished_) {
    if (view.hello.run_id != run_id) continue;
    if (run.state == RunState::kUnknown) run.state = RunState::kFinished;
    if (!run.client || seconds_in_steps(view) > seconds_in_steps(*run.client)) run.client = view;
  }
  return run;
}

std::vector<RunRecord> Controller::earlier_runs(const ClientView& client) const {
  Conditions conditions;
  conditions.machine = machine_.fingerprint;
  conditions.program = {client.hello.executable, client.hello.program, client.hello.arguments};
  return store_->find_runs(conditions);
}

Conditions Controller::on_this_machine(Conditions conditions) const {
  conditions.machine = machine_.fingerprint;
  return conditions;
}

}  // namespace optile::daemon
