// The page of /metrics: asks the controller for a snapshot when somebody scrapes and keeps nothing
// between scrapes but what makes counters only rise. Costs nothing while nobody asks. The daemon's
// one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "daemon/controller/controller.h"
#include "daemon/metrics/metric_catalogue.h"
#include "daemon/metrics/op_ledger.h"

namespace optile::daemon {

// Looked up in the store for one page; what is not known then comes with the next one.
inline constexpr std::size_t kMaxLookups = 16;
// The label of programs on a page that anybody may read.
inline constexpr const char* kUnnamedProgram = "unnamed";

class DaemonMetrics {
 public:
  struct Dependencies {
    Controller* controller = nullptr;  // outlives the metrics
    std::string version;
    std::function<uint64_t()> refused;  // programs, since the daemon began
    std::function<uint64_t()> monotonic_ns;
  };
  explicit DaemonMetrics(Dependencies dependencies);

  enum class Audience {
    kScraper,
    kNodeExporter,  // no process_*: node_exporter has its own of these names, and would serve none
  };
  enum class Names {
    kShown,
    kWithheld,  // every program is kUnnamedProgram, and all ops are one
  };
  // In Prometheus' text format; at most kMaxSeries series.
  std::string page(Audience audience = Audience::kScraper, Names names = Names::kShown);

 private:
  using Places = std::map<uint64_t, int>;  // client → the value of its label

  std::vector<MetricSample> samples(Audience audience, Names names);
  void add_daemon_samples(const std::vector<ClientView>& clients,
                          std::vector<MetricSample>& samples) const;
  void add_lease_of_client(const sched::LeaseView& view, const std::string& program,
                           std::vector<MetricSample>& samples) const;
  void add_lease_samples(const std::vector<ClientView>& clients,
                         std::vector<MetricSample>& samples) const;
  void add_op_samples(Names names, std::vector<MetricSample>& samples) const;
  void assign_places(const std::vector<ClientView>& clients);
  // Earlier runs of its program; empty where too much was looked up for this page.
  const std::vector<RunRecord>& earlier_runs(const ClientView& client);

  Dependencies dependencies_;
  OpLedger ops_;
  Places places_;
  std::map<std::string, std::vector<RunRecord>> earlier_;  // by program
  uint64_t earlier_as_of_ = 0;                             // writes of the store
  std::size_t lookups_ = 0;                                // for this page
  double last_seconds_ = 0;
};

}  // namespace optile::daemon
