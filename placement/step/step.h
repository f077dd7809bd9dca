// E2, the time of one step by simulation (spec 2), the one place that states it. Devices run one
// node at a time, without pause while one is ready there; of several ready nodes the one with the
// longest way to the end first (times on its fastest device and transfers). A node is ready when
// all its inputs are on its device. What crosses devices:
//   kBus (a)   each device has one outgoing bus, which sends one tensor to one device at a time, in
//              the order in which tensors were made, of one node's in the order of the devices;
//   kEdge (b)  each tensor takes its transfer time to each device, all at once.
// Memory caps hold as in E1.
#pragma once

#include <memory>
#include <vector>

#include "placement/place.h"
#include "placement/search/annealing.h"

namespace optile::placement {

struct StepSetting {
  StepLinks links = StepLinks::kEdge;
  double op_ms = 0;
};

struct StepFigures {
  std::vector<double> start;  // of each node
  std::vector<double> load;   // how long each device computes
  std::vector<double> memory;
  double cost = 0;
  bool feasible = false;
  std::string violation;
};

// Of one thread; keeps its queues between simulations.
class StepSimulator {
 public:
  StepSimulator(const Graph& graph, const Cluster& cluster, const StepSetting& setting);
  // The time of the step; infinite where a node is on a device that cannot run it.
  double run(const std::vector<DeviceId>& nodes);
  const std::vector<double>& starts() const { return start_; }
  // The longest way from a node's start to the end, by which ready nodes are chosen.
  const std::vector<double>& ways() const { return way_; }

 private:
  struct Event {
    double time;
    std::int32_t kind;  // 0: a node's end, 1: a node is ready
    NodeId node;
    bool operator>(const Event& other) const;
  };
  struct Device {
    bool busy = false;
    double bus_free = 0;
    std::vector<std::pair<double, NodeId>> ready;  // a heap by the way
  };
  static std::size_t index(std::int32_t id) { return static_cast<std::size_t>(id); }
  double time(NodeId id, DeviceId d) const { return time_[index(id) * devices_ + index(d)]; }
  void push(double time, int kind, NodeId node);
  void begin(DeviceId d, double now);
  void finish(NodeId id, double now);
  void deliver(NodeId reader, double when);

  const Graph& graph_;
  StepSetting setting_;
  std::size_t devices_;
  std::vector<double> time_, output_, way_;
  std::vector<int> inputs_;
  const std::vector<DeviceId>* nodes_ = nullptr;
  std::vector<Device> state_;
  std::vector<Event> events_;
  std::vector<int> waiting_;
  std::vector<double> ready_at_, start_, arrival_;
  std::vector<DeviceId> targets_;
};

// Another way to the same figures, for answers and tests: time goes on by looking for the next
// thing that can happen, without queues.
StepFigures evaluate_step(const Graph& graph, const Cluster& cluster, const StepSetting& setting,
                          const std::vector<DeviceId>& assignment);

// Sum over the stretches between nodes that every path passes, of the longest path in each and of
// its work over all devices.
double step_bound(const Graph& graph, const Cluster& cluster, const StepSetting& setting);

const std::vector<std::string>& step_methods();
base::Result<Answer> place_step(const Graph& graph, const Cluster& cluster, const Request& request,
                                Budget& budget);

}  // namespace optile::placement
