// E2 c by events: a tensor waits for its route's latency and then flows, sharing each channel it
// passes with all others there; rates are max-min fair. Each placement is simulated from the
// beginning. Of one thread; keeps its queues between simulations.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "placement/step/routes.h"
#include "placement/step/step.h"
#include "placement/step/step_times.h"

namespace optile::placement {

class RoutedSimulator {
 public:
  // The cluster has routes: checked_step() says so. Keeps a reference to the graph.
  RoutedSimulator(const Graph& graph, const Cluster& cluster, const StepSetting& setting);

  // The time of the step; infinite where a node is on a device that cannot run it.
  double run(const std::vector<DeviceId>& nodes);
  double run_changed(const std::vector<DeviceId>& nodes, std::span<const NodeId> /*changed*/) {
    return run(nodes);
  }
  void keep() {}
  // Of the last run, in milliseconds: of each item its start.
  std::vector<double> starts() const;
  // Likewise all items as they begin.
  const std::vector<ItemId>& order() const { return order_; }
  const StepTimes& times() const { return times_; }

 private:
  struct Event {
    Ticks time;
    std::int32_t what;  // an item that ends, or ~ a transfer whose latency is over
    bool operator>(const Event& other) const { return time > other.time; }
  };
  struct Transfer {
    ItemId item;
    DeviceId to;
    const Routes::Route* route;
    double left;  // bytes
  };
  struct Device {
    ItemId running = -1;
    std::vector<std::int32_t> ready;  // a heap of ranks, the smallest first
  };
  static std::size_t index(std::int32_t id) { return static_cast<std::size_t>(id); }
  NodeId node_of(ItemId item) const { return node_[index(item)]; }
  DeviceId on(NodeId id) const { return (*nodes_)[index(id)]; }

  void moment();
  void push(Ticks time, std::int32_t what);
  void begin(DeviceId d);
  void finish(ItemId item);
  void arrive(ItemId item, DeviceId to);
  void made(ItemId reader);
  void flow();
  void share();

  const Graph& graph_;
  std::shared_ptr<const Routes> routes_;
  StepTimes times_;
  std::vector<NodeId> node_;
  std::vector<int> inputs_;
  std::vector<ItemId> by_rank_;
  std::vector<std::int32_t> rank_;
  FairRates fair_;

  const std::vector<DeviceId>* nodes_ = nullptr;
  Ticks now_ = 0;
  Ticks shared_at_ = 0;   // when the rates were made
  bool changed_ = false;  // the flows, since then
  std::vector<int> waiting_;
  std::vector<Ticks> start_;
  std::vector<ItemId> order_;
  std::vector<Device> devices_;
  std::vector<Event> events_;
  std::vector<Transfer> transfers_;  // all of the step
  std::vector<int> flows_;           // transfers that flow now
  std::vector<Ticks> done_;          // when each of them is over, at these rates
  std::vector<double> rates_;
  std::vector<const Routes::Route*> flowing_;
  std::vector<DeviceId> targets_;
};

}  // namespace optile::placement
