// E2 c by events: a tensor waits for its route's latency and then flows, sharing each channel it
// passes with all others there; rates are max-min fair. What was kept last is remembered with
// checkpoints, and a candidate is simulated from the last one before anything can differ, to the
// end: flows that share links seldom come back to the rates that they had. The answer is that of a
// simulation from the beginning, bit for bit. Of one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "placement/step/routes.h"
#include "placement/step/step_items.h"

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
  const std::vector<ItemId>& order() const { return run_.order; }
  const StepTimes& times() const { return items_.times(); }
  // Items simulated so far, in all runs.
  std::uint64_t simulated() const { return simulated_; }

 private:
  struct Transfer {
    ItemId item;
    DeviceId to;
    const Routes::Route* route;
    double left;  // bytes
  };
  struct Device {
    ItemId running = -1;
    MinHeap<std::int32_t> ready;  // ranks
  };
  // After everything of the moment `now` has happened; a checkpoint where what could begin has
  // begun.
  struct State {
    Ticks now = 0;
    Ticks shared_at = 0;         // when the rates were made
    bool changed_flows = false;  // since then
    std::size_t begun = 0;       // items
    std::vector<int> waiting;
    std::vector<Device> devices;
    MinHeap<StepEvent> events;  // an item that ends, or ~ a transfer whose latency is over
    std::vector<Transfer> transfers;
    std::vector<int> idle;    // of them: over, to be used again
    std::vector<int> flows;   // transfers that flow now
    std::vector<Ticks> done;  // when each of them is over, at these rates
    std::vector<double> rates;
  };
  struct Outcome {
    double cost = 0;
    std::vector<Ticks> start;
    std::vector<ItemId> order;
  };

  double simulate();
  Ticks first_difference(NodeId id) const;
  void clear();
  void record();
  void run_moment();
  void begin_all();
  void finish(ItemId item);
  void send(ItemId item, DeviceId home);
  void end_flow(std::size_t flow);
  void deliver(ItemId reader);
  void flow();
  void share();

  std::shared_ptr<const Routes> routes_;
  StepItems items_;
  StepCandidate candidate_;
  FairRates fair_;
  State state_;
  std::vector<const Routes::Route*> flowing_;
  std::vector<DeviceId> targets_;
  std::uint64_t simulated_ = 0;

  Outcome run_, kept_;              // the last one, and the one that was kept
  std::vector<State> checkpoints_;  // of what was kept
  std::size_t gap_ = 1;             // items between them
  std::size_t from_ = 0;            // how many of them are before anything differs
  std::vector<State> recorded_;     // and what was recorded behind them
  std::size_t recordings_ = 0;      // of those, the others are only room
};

}  // namespace optile::placement
