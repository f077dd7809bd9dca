#include "placement/latency/latency.h"

#include <algorithm>
#include <map>
#include <set>

#include "placement/infinity.h"

namespace optile::placement {
namespace {

// Nodes on CPUs are jobs of their own, the nodes of an accelerator one job. Jobs are done in
// topological order; a job that is never ready is part of a cycle.
class LatencyModel : public CostModel {
 public:
  LatencyModel(const Graph& graph, const Cluster& cluster, const Units& units)
      : graph_(graph),
        cluster_(cluster),
        units_(units),
        device_(static_cast<std::size_t>(graph.size())),
        output_(static_cast<std::size_t>(graph.size())),
        is_cpu_(static_cast<std::size_t>(cluster.size())) {
    for (NodeId id = 0; id < graph.size(); ++id) {
      output_[index(id)] = cluster.output_ms(graph.node(id));
      for (DeviceId d = 0; d < cluster.size(); ++d) {
        time_.push_back(cluster.time_ms(graph.node(id), d));
      }
    }
    for (DeviceId d = 0; d < cluster.size(); ++d) {
      is_cpu_[index(d)] = cluster.device(d).kind == DeviceKind::kCpu;
    }
    const std::size_t jobs = index(graph.size()) + index(cluster.size());
    waiting_.resize(jobs);
    start_.resize(jobs);
    length_.resize(jobs);
    members_.resize(index(cluster.size()));
    stamp_.resize(index(graph.size()) * index(cluster.size()));
  }

  Score score(const std::vector<DeviceId>& units) override {
    Score score;
    prepare(units);
    score.excess = excess();
    score.cost = makespan();
    return score;
  }

 private:
  static std::size_t index(std::int32_t id) { return static_cast<std::size_t>(id); }
  // Nodes 0 to n-1 are jobs on CPUs, n + d is the part of accelerator d.
  std::size_t job(NodeId id) const {
    const DeviceId d = device_[index(id)];
    return is_cpu_[index(d)] ? index(id) : index(graph_.size()) + index(d);
  }

  void prepare(const std::vector<DeviceId>& units) {
    std::fill(waiting_.begin(), waiting_.end(), 0);
    std::fill(start_.begin(), start_.end(), 0.0);
    std::fill(length_.begin(), length_.end(), 0.0);
    for (auto& members : members_) members.clear();
    ++round_;
    for (NodeId id = 0; id < graph_.size(); ++id) {
      device_[index(id)] = units[index(units_.of(id))];
    }
    for (NodeId id = 0; id < graph_.size(); ++id) {
      const DeviceId d = device_[index(id)];
      const std::size_t mine = job(id);
      length_[mine] += time_[index(id) * index(cluster_.size()) + index(d)];
      if (!is_cpu_[index(d)]) members_[index(d)].push_back(id);
      for (const NodeId next : graph_.successors(id)) {
        if (job(next) != mine) ++waiting_[job(next)];
      }
      bool leaves = false;
      for (const NodeId reader : graph_.readers(id)) {
        const DeviceId there = device_[index(reader)];
        if (job(reader) == mine) continue;
        leaves = true;
        int& stamp = stamp_[index(id) * index(cluster_.size()) + index(there)];
        if (is_cpu_[index(there)] || stamp == round_) continue;
        stamp = round_;
        length_[job(reader)] += output_[index(id)];
      }
      if (leaves && !is_cpu_[index(d)]) length_[mine] += output_[index(id)];
    }
  }

  double makespan() {
    ready_.clear();
    std::size_t jobs = 0;
    for (NodeId id = 0; id < graph_.size(); ++id) {
      if (!is_cpu_[index(device_[index(id)])]) continue;
      ++jobs;
      if (waiting_[index(id)] == 0) ready_.push_back(index(id));
    }
    for (DeviceId d = 0; d < cluster_.size(); ++d) {
      if (members_[index(d)].empty()) continue;
      ++jobs;
      if (waiting_[index(graph_.size() + d)] == 0) ready_.push_back(index(graph_.size() + d));
    }
    double last = 0;
    std::size_t done = 0;
    while (!ready_.empty()) {
      const std::size_t mine = ready_.back();
      ready_.pop_back();
      ++done;
      const double end = start_[mine] + length_[mine];
      last = std::max(last, end);
      if (mine < index(graph_.size())) {
        release(static_cast<NodeId>(mine), mine, end);
        continue;
      }
      for (const NodeId id : members_[mine - index(graph_.size())]) release(id, mine, end);
    }
    if (done != jobs) return kInfinity;
    return last;
  }

  void release(NodeId id, std::size_t mine, double end) {
    for (const NodeId next : graph_.successors(id)) {
      const std::size_t other = job(next);
      if (other == mine) continue;
      start_[other] = std::max(start_[other], end);
      if (--waiting_[other] == 0) ready_.push_back(other);
    }
  }

  double excess() const {
    double sum = 0;
    for (DeviceId d = 0; d < cluster_.size(); ++d) {
      if (is_cpu_[index(d)]) continue;
      double memory = 0;
      for (const NodeId id : members_[index(d)]) memory += graph_.node(id).memory_bytes;
      const double cap = cluster_.device(d).memory_bytes;
      if (memory > cap) sum += cap > 0 ? (memory - cap) / cap : memory;
    }
    return sum;
  }

  const Graph& graph_;
  const Cluster& cluster_;
  const Units& units_;
  std::vector<DeviceId> device_;
  std::vector<double> output_;
  std::vector<bool> is_cpu_;
  std::vector<double> time_;
  std::vector<int> waiting_;
  std::vector<double> start_;
  std::vector<double> length_;
  std::vector<std::vector<NodeId>> members_;
  std::vector<std::size_t> ready_;
  std::vector<int> stamp_;
  int round_ = 0;
};

}  // namespace

std::unique_ptr<CostModel> latency_model(const Graph& graph, const Cluster& cluster,
                                         const Units& units) {
  return std::make_unique<LatencyModel>(graph, cluster, units);
}

// By repeated relaxation over parts, which needs no order.
LatencyFigures evaluate_latency(const Graph& graph, const Cluster& cluster,
                                const std::vector<DeviceId>& assignment) {
  LatencyFigures figures;
  const auto devices = static_cast<std::size_t>(cluster.size());
  figures.load.assign(devices, 0);
  figures.memory.assign(devices, 0);
  const auto on = [&](NodeId id) { return assignment[static_cast<std::size_t>(id)]; };
  const auto cpu = [&](DeviceId d) { return cluster.device(d).kind == DeviceKind::kCpu; };
  std::map<DeviceId, std::set<NodeId>> arrives;
  for (NodeId id = 0; id < graph.size(); ++id) {
    const auto d = static_cast<std::size_t>(on(id));
    figures.load[d] += cluster.time_ms(graph.node(id), on(id));
    figures.memory[d] += graph.node(id).memory_bytes;
    bool leaves = false;
    for (const NodeId reader : graph.readers(id)) {
      if (on(reader) == on(id)) continue;
      leaves = true;
      if (!cpu(on(reader))) arrives[on(reader)].insert(id);
    }
    if (leaves && !cpu(on(id))) figures.load[d] += cluster.output_ms(graph.node(id));
  }
  for (const auto& [device, tensors] : arrives) {
    for (const NodeId id : tensors) {
      figures.load[static_cast<std::size_t>(device)] += cluster.output_ms(graph.node(id));
    }
  }
  std::vector<double> end(static_cast<std::size_t>(graph.size()), 0);
  std::vector<double> part_start(devices, 0);
  bool changed = true;
  for (int round = 0; changed && round <= graph.size() + cluster.size() + 1; ++round) {
    changed = false;
    for (const NodeId id : graph.order()) {
      double start = 0;
      for (const NodeId before : graph.predecessors(id)) {
        if (cpu(on(id)) || on(before) != on(id)) {
          start = std::max(start, end[static_cast<std::size_t>(before)]);
        }
      }
      const auto d = static_cast<std::size_t>(on(id));
      double finish = start + cluster.time_ms(graph.node(id), on(id));
      if (!cpu(on(id))) {
        part_start[d] = std::max(part_start[d], start);
        finish = part_start[d] + figures.load[d];
      }
      double& known = end[static_cast<std::size_t>(id)];
      changed = changed || finish > known;
      known = std::max(known, finish);
    }
  }
  figures.cost = *std::max_element(end.begin(), end.end());
  for (NodeId id = 0; id < graph.size(); ++id) {
    const auto at = static_cast<std::size_t>(id);
    figures.start.push_back(cpu(on(id)) ? end[at] - cluster.time_ms(graph.node(id), on(id))
                                        : part_start[static_cast<std::size_t>(on(id))]);
  }
  if (changed) figures.cost = kInfinity;
  for (std::size_t d = 0; d < devices && figures.violation.empty(); ++d) {
    if (!cpu(static_cast<DeviceId>(d)) && figures.memory[d] > cluster.devices[d].memory_bytes) {
      figures.violation = cluster.devices[d].name + " would need " +
                          std::to_string(figures.memory[d] / 1e9) + " GB of memory and has " +
                          std::to_string(cluster.devices[d].memory_bytes / 1e9);
    }
  }
  if (changed) figures.violation = "parts wait for each other: they are not contiguous";
  if (figures.violation.empty() && !(figures.cost < kInfinity)) {
    figures.violation = "a node is on a device that cannot run it";
  }
  figures.feasible = figures.violation.empty();
  return figures;
}

double latency_bound(const Graph& graph, const Cluster& cluster) {
  std::vector<double> end(static_cast<std::size_t>(graph.size()), 0);
  double last = 0;
  for (const NodeId id : graph.order()) {
    double best = kInfinity;
    for (DeviceId d = 0; d < cluster.size(); ++d) {
      best = std::min(best, cluster.time_ms(graph.node(id), d));
    }
    double& mine = end[static_cast<std::size_t>(id)];
    for (const NodeId before : graph.predecessors(id)) {
      mine = std::max(mine, end[static_cast<std::size_t>(before)]);
    }
    mine += best;
    last = std::max(last, mine);
  }
  return last;
}

}  // namespace optile::placement
