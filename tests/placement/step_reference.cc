#include "tests/placement/step_reference.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

#include "base/at.h"
#include "placement/infinity.h"
#include "placement/step/step_times.h"

namespace optile::placement {
namespace {

using base::at;

// A node in one micro-batch whose inputs are all made.
struct Waiting {
  int batch;
  NodeId id;
  Ticks ready;  // when they are there
};

class StepEvaluation {
 public:
  StepEvaluation(const Graph& graph, const Cluster& cluster, const StepSetting& setting,
                 const std::vector<DeviceId>& assignment, StepFigures& figures)
      : graph_(graph),
        setting_(setting),
        times_(graph, cluster, setting),
        assignment_(assignment),
        figures_(figures),
        devices_(cluster.devices.size()),
        free_(devices_, 0),
        bus_(devices_, 0),
        busy_(devices_, 0) {
    const std::size_t items = at(graph.size()) * at(setting.micro_batches);
    figures.start.assign(items, kInfinity);
    end_.resize(items);
    arrival_.resize(items);
    waiting_.resize(items);
    for (int batch = 0; batch < setting.micro_batches; ++batch) {
      for (NodeId id = 0; id < graph.size(); ++id) {
        waiting_[item(batch, id)] = graph.predecessors(id).size();
        if (graph.predecessors(id).empty()) open_.push_back({batch, id, 0});
      }
    }
  }

  void run() {
    Ticks last = 0;
    while (!open_.empty()) {
      // Whatever begins at one moment does not know of each other.
      const Ticks now = next_moment();
      std::vector<Waiting> chosen;
      for (DeviceId d = 0; d < static_cast<DeviceId>(devices_); ++d) choose(d, now, chosen);
      for (const Waiting& one : chosen) last = std::max(last, begin(one, now));
    }
    figures_.cost = times_.ms(last);
    for (std::size_t d = 0; d < devices_; ++d) figures_.load[d] = times_.ms(busy_[d]);
  }

 private:
  std::size_t item(int batch, NodeId id) const { return at(batch) * at(graph_.size()) + at(id); }
  DeviceId on(NodeId id) const { return assignment_[at(id)]; }

  Ticks next_moment() const {
    Ticks now = kNoTicks;
    for (const Waiting& one : open_)
      now = std::min(now, std::max(one.ready, free_[at(on(one.id))]));
    return now;
  }
  // Of the nodes that are ready on a device: the earliest micro-batch, then the longest way.
  void choose(DeviceId d, Ticks now, std::vector<Waiting>& chosen) {
    if (free_[at(d)] > now) return;
    const auto key = [&](const Waiting& one) {
      return std::tuple(one.batch, -times_.ways()[at(one.id)], one.id);
    };
    std::size_t best = open_.size();
    for (std::size_t i = 0; i < open_.size(); ++i) {
      if (on(open_[i].id) != d || open_[i].ready > now) continue;
      if (best == open_.size() || key(open_[i]) < key(open_[best])) best = i;
    }
    if (best == open_.size()) return;
    chosen.push_back(open_[best]);
    open_[best] = open_.back();
    open_.pop_back();
  }
  Ticks begin(const Waiting& one, Ticks now) {
    const DeviceId home = on(one.id);
    const std::size_t mine = item(one.batch, one.id);
    figures_.start[mine] = times_.ms(now);
    end_[mine] = now + times_.time(one.id, home);
    busy_[at(home)] += times_.time(one.id, home);
    free_[at(home)] = end_[mine];
    arrival_[mine].assign(devices_, end_[mine]);
    const auto readers = graph_.readers(one.id);
    for (DeviceId d = 0; d < static_cast<DeviceId>(devices_); ++d) {
      const bool goes = d != home && std::any_of(readers.begin(), readers.end(),
                                                 [&](NodeId reader) { return on(reader) == d; });
      if (!goes) continue;
      Ticks& arrival = arrival_[mine][at(d)];
      // A device's nodes end one after the other, so its bus takes them in the order of begins.
      if (setting_.links == StepLinks::kBus) arrival = std::max(arrival, bus_[at(home)]);
      arrival += times_.output(one.id);
      bus_[at(home)] = arrival;
    }
    for (const NodeId next : graph_.successors(one.id)) {
      if (--waiting_[item(one.batch, next)] == 0) add_open(one.batch, next);
    }
    return end_[mine];
  }
  void add_open(int batch, NodeId id) {
    Ticks ready = 0;
    for (const NodeId before : graph_.predecessors(id)) {
      const auto readers = graph_.readers(before);
      const bool reads = std::binary_search(readers.begin(), readers.end(), id);
      const std::size_t theirs = item(batch, before);
      ready = std::max(ready, reads ? arrival_[theirs][at(on(id))] : end_[theirs]);
    }
    open_.push_back({batch, id, ready});
  }

  const Graph& graph_;
  StepSetting setting_;
  StepTimes times_;
  const std::vector<DeviceId>& assignment_;
  StepFigures& figures_;
  std::size_t devices_;
  std::vector<Ticks> free_, bus_, busy_, end_;
  std::vector<std::vector<Ticks>> arrival_;  // on each device
  std::vector<std::size_t> waiting_;
  std::vector<Waiting> open_;
};

}  // namespace

StepFigures reference_step(const Graph& graph, const Cluster& cluster, const StepSetting& setting,
                           const std::vector<DeviceId>& assignment) {
  if (setting.links == StepLinks::kRouted) {
    return reference_routed(graph, cluster, setting, assignment);
  }
  StepFigures figures;
  figures.load.assign(at(cluster.size()), 0);
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (!(cluster.time_ms(graph.node(id), assignment[at(id)]) < kInfinity))
      figures.cost = kInfinity;
  }
  if (figures.cost == kInfinity) return figures;
  StepEvaluation(graph, cluster, setting, assignment, figures).run();
  return figures;
}

void expect_reference_step(const Graph& graph, const Cluster& cluster, const StepSetting& setting,
                           const std::vector<DeviceId>& assignment, double time,
                           const std::vector<double>& starts) {
  const StepFigures figures = reference_step(graph, cluster, setting, assignment);
  ASSERT_EQ(time, figures.cost);
  ASSERT_EQ(starts, figures.start);
  const StepFigures answer = evaluate_step(graph, cluster, setting, assignment);
  ASSERT_EQ(answer.cost, figures.cost);
  ASSERT_EQ(answer.start, figures.start);
  ASSERT_EQ(answer.load, figures.load);
}

}  // namespace optile::placement
