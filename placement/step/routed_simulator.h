// E2 c by events: a tensor waits for its route's latency and then flows, sharing each channel it
// passes with all others there; rates are max-min fair. What was kept last is remembered with
// checkpoints, and a candidate is simulated from the last one before anything can differ, to the
// end: flows that share links seldom come back to the rates that they had. The answer is that of a
// simulation from the beginning, bit for bit. Of one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
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
  // The same where only `changed` may differ from what was kept; without duplicates. Where nothing
  // is kept it is all the same what changed.
  double run_changed(const std::vector<DeviceId>& nodes, std::span<const NodeId> changed);
  // Keeps what was run last: later runs begin where they differ from it.
  void keep();
  // Of the last run, in milliseconds: of each item its start.
  std::vector<double> starts() const;
  // Likewise all items as they begin.
  const std::vector<ItemId>& order() const { return order_; }
  const StepTimes& times() const { return times_; }
  // Items simulated so far, in all runs.
  std::uint64_t simulated() const { return simulated_; }

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
  // After everything of the moment `now` has happened and what could begin has begun.
  struct Checkpoint {
    Ticks now = 0;
    Ticks shared_at = 0;
    std::size_t begun = 0;  // items
    std::vector<int> waiting;
    std::vector<Device> devices;
    std::vector<Event> events;
    std::vector<Transfer> transfers;
    std::vector<int> idle;
    std::vector<int> flows;
    std::vector<Ticks> done;
    std::vector<double> rates;
  };
  static std::size_t index(std::int32_t id) { return static_cast<std::size_t>(id); }
  NodeId node_of(ItemId item) const { return node_[index(item)]; }
  DeviceId on(NodeId id) const { return (*nodes_)[index(id)]; }

  double simulate();
  Ticks first_difference(NodeId id) const;
  void clear();
  void restore(const Checkpoint& from);
  void record();
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
  Ticks shared_at_ = 0;         // when the rates were made
  bool changed_flows_ = false;  // since then
  std::vector<int> waiting_;
  std::vector<Ticks> start_;
  std::vector<ItemId> order_;
  std::vector<Device> devices_;
  std::vector<Event> events_;
  std::vector<Transfer> transfers_;
  std::vector<int> idle_;    // of them: over, to be used again
  std::vector<int> flows_;   // transfers that flow now
  std::vector<Ticks> done_;  // when each of them is over, at these rates
  std::vector<double> rates_;
  std::vector<const Routes::Route*> flowing_;
  std::vector<DeviceId> targets_;
  std::uint64_t simulated_ = 0;

  // What was kept.
  bool has_kept_ = false;
  double kept_cost_ = 0;
  std::vector<DeviceId> kept_nodes_;  // or of the candidate, where nothing is kept
  std::vector<Ticks> kept_start_;
  std::vector<ItemId> kept_order_;
  std::vector<Checkpoint> kept_;
  std::size_t gap_ = 1;  // items between checkpoints

  // The candidate, of which `pending_` says that it can still be kept.
  bool pending_ = false;
  double cost_ = 0;
  std::vector<NodeId> changed_;
  std::vector<std::pair<NodeId, DeviceId>> changes_;
  std::size_t from_ = 0;              // kept checkpoints before anything differs
  std::vector<Checkpoint> recorded_;  // and what was recorded behind them
  std::size_t recordings_ = 0;        // of those, the others are only room
};

}  // namespace optile::placement
