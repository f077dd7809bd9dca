#include "daemon/metrics/daemon_metrics.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "daemon/metrics/client_metrics.h"
#include "daemon/metrics/exposition.h"
#include "daemon/metrics/label_text.h"
#include "daemon/metrics/process_metrics.h"
#include "daemon/views/json_views.h"
#include "daemon/views/step_times.h"

namespace optile::daemon {
namespace {

// The page's own two: how many series there are, and how many were left out.
constexpr std::size_t kOwnSeries = 2;

void add(std::vector<MetricSample>& samples, Metric metric, double value) {
  samples.push_back({metric, {}, value});
}

void add(std::vector<MetricSample>& samples, Metric metric, std::string label, double value) {
  samples.push_back({metric, {std::move(label)}, value});
}

// Ops and shapes tell what a program is about as well; they are added up before.
void withhold_names(std::vector<MetricSample>& samples) {
  for (MetricSample& sample : samples) {
    const MetricEntry& entry = metric_entry(sample.metric);
    for (std::size_t i = 0; i < entry.label_count(); ++i) {
      if (std::string_view(entry.labels[i]) == "program") sample.labels[i] = kUnnamedProgram;
    }
  }
}

}  // namespace

DaemonMetrics::DaemonMetrics(Dependencies dependencies) : dependencies_(std::move(dependencies)) {}

std::string DaemonMetrics::page(Audience audience, Names names) {
  const uint64_t begin_ns = dependencies_.monotonic_ns();
  std::vector<MetricSample> all = samples(audience, names);
  if (names == Names::kWithheld) withhold_names(all);
  const std::size_t dropped = keep_within(kMaxSeries - kOwnSeries, all);
  add(all, Metric::kSeriesDropped, static_cast<double>(dropped));
  add(all, Metric::kSeries, static_cast<double>(all.size() + 1));
  std::string text = exposition(std::move(all));
  last_seconds_ = static_cast<double>(dependencies_.monotonic_ns() - begin_ns) / 1e9;
  return text;
}

std::vector<MetricSample> DaemonMetrics::samples(Audience audience, Names names) {
  Controller& controller = *dependencies_.controller;
  const std::vector<ClientView> clients = controller.attached(tuner::Detail::kFigures);
  ops_.update(clients, [&controller](uint64_t id) { return controller.view(id); });
  std::vector<MetricSample> samples;
  add_daemon_samples(clients, samples);
  if (audience == Audience::kScraper) add_process_samples(samples);
  add_op_samples(names, samples);
  assign_places(clients);
  add_lease_samples(clients, samples);
  lookups_ = 0;
  const uint64_t writes = controller.history().batches().writes();
  if (writes != earlier_as_of_) earlier_.clear();
  earlier_as_of_ = writes;
  for (const ClientView& client : clients) {
    const StepTimes times = client.session ? step_times(client, earlier_runs(client)) : StepTimes();
    add_client_samples(client, times, places_.at(client.id), samples);
  }
  if (clients.empty()) earlier_.clear();
  return samples;
}

void DaemonMetrics::add_daemon_samples(const std::vector<ClientView>& clients,
                                       std::vector<MetricSample>& samples) const {
  Controller& controller = *dependencies_.controller;
  add(samples, Metric::kBuildInfo, label_text(dependencies_.version), 1);
  for (const std::string phase : phase_names()) {
    double count = 0;
    for (const ClientView& client : clients) count += phase == phase_of(client) ? 1 : 0;
    add(samples, Metric::kClients, phase, count);
  }
  add(samples, Metric::kClientsAttachedTotal, static_cast<double>(controller.attached_ever()));
  add(samples, Metric::kClientsRefusedTotal, static_cast<double>(dependencies_.refused()));
  const std::string state = keeping_name(controller.history().store().state().keeping);
  for (const Store::Keeping one :
       {Store::Keeping::kOnDisk, Store::Keeping::kInMemory, Store::Keeping::kFailing}) {
    add(samples, Metric::kStoreState, keeping_name(one), state == keeping_name(one) ? 1 : 0);
  }
  add(samples, Metric::kStorePendingRecords,
      static_cast<double>(controller.history().batches().pending()));
  add(samples, Metric::kScrapeSeconds, last_seconds_);
}

void DaemonMetrics::add_lease_samples(const std::vector<ClientView>& clients,
                                      std::vector<MetricSample>& samples) const {
  const Leases* leases = dependencies_.controller->lease_manager().leases();
  if (leases == nullptr) return;
  add(samples, Metric::kLeaseHeldCores, leases->table().summary().held_cores);
  for (const sched::LeaseView& view : leases->view()) {
    const auto client = std::find_if(clients.begin(), clients.end(),
                                     [&](const ClientView& one) { return one.id == view.id; });
    if (client == clients.end()) continue;
    add_lease_of_client(view, label_text(client->attach_request.program), samples);
  }
}

// In turns it makes its fraction of the progress that one core gives.
void DaemonMetrics::add_lease_of_client(const sched::LeaseView& view, const std::string& program,
                                        std::vector<MetricSample>& samples) const {
  const std::string place = std::to_string(places_.at(view.id));
  const auto say = [&](Metric metric, const char* kind, double value) {
    samples.push_back({metric, {program, place, kind, ""}, value});
  };
  const double fraction = std::min(view.granted.fraction, 1.0);
  say(Metric::kClientLeasedCores, "", static_cast<double>(view.granted.cores.size()) * fraction);
  const auto& leased = dependencies_.controller->lease_manager().leases()->clients();
  const auto progress = progress_of(leased, view.id);
  if (!progress || view.granted.empty()) return;
  const bool measured = progress->measured && fraction >= 1;
  say(Metric::kClientLeaseProgress, measured ? "measured" : "predicted",
      progress->value * fraction);
}

void DaemonMetrics::add_op_samples(Names names, std::vector<MetricSample>& samples) const {
  const bool told = names == Names::kShown;
  for (const OpLedger::Row& row : told ? ops_.rows() : ops_.all()) {
    const std::array<std::string, kMaxLabels> labels = {row.program, row.op, row.shape,
                                                        row.direction};
    samples.push_back({Metric::kOpSecondsTotal, labels, row.seconds});
    samples.push_back({Metric::kOpExecutionsTotal, labels, row.executions});
    if (row.width > 0) {
      samples.push_back({Metric::kOpWidth, labels, static_cast<double>(row.width)});
    }
  }
}

// The lowest free number: labels stay few however many programs come and go.
void DaemonMetrics::assign_places(const std::vector<ClientView>& clients) {
  Places kept;
  std::set<int> taken;
  for (const ClientView& client : clients) {
    const auto had = places_.find(client.id);
    if (had == places_.end()) continue;
    kept.insert(*had);
    taken.insert(had->second);
  }
  int next = 1;
  for (const ClientView& client : clients) {
    if (kept.count(client.id) != 0) continue;
    while (taken.count(next) != 0) ++next;
    kept[client.id] = next++;
  }
  places_ = std::move(kept);
}

const std::vector<RunRecord>& DaemonMetrics::earlier_runs(const ClientView& client) {
  static const std::vector<RunRecord> nothing;
  std::string program = client.attach_request.executable;
  for (const std::string* part :
       {&client.attach_request.program, &client.attach_request.arguments}) {
    program.append(1, '\0').append(*part);
  }
  const auto found = earlier_.find(program);
  if (found != earlier_.end()) return found->second;
  if (lookups_ == kMaxLookups) return nothing;
  ++lookups_;
  return earlier_
      .emplace(std::move(program),
               daemon::earlier_runs(dependencies_.controller->history(), client))
      .first->second;
}

}  // namespace optile::daemon
