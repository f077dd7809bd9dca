// E2 by events, for links of edge and bus, again and again for placements that differ little. What
// was kept last is remembered with checkpoints: a candidate is simulated from the last one before
// the earliest time at which anything can differ. Where its state meets the kept one at a later
// checkpoint, only later or earlier as a whole, the simulation leaps to the next difference or to
// the end. Times are whole ticks, so the answer is that of a simulation from the beginning, bit for
// bit.
//
// Of one thread. Checkpoints are at most about a hundred, and hold two million open nodes at most.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "placement/step/step.h"
#include "placement/step/step_times.h"

namespace optile::placement {

class StepSimulator {
 public:
  // Keeps a reference to the graph.
  StepSimulator(const Graph& graph, const Cluster& cluster, const StepSetting& setting);

  // The time of the step; infinite where a node is on a device that cannot run it.
  double run(const std::vector<DeviceId>& nodes);
  // The same where only `changed` may differ from what was kept; without duplicates. Where nothing
  // is kept it is all the same what changed.
  double run_changed(const std::vector<DeviceId>& nodes, std::span<const NodeId> changed);
  // Keeps what was run last: later runs are fast where they differ little from it.
  void keep();

  // Of what was kept, in milliseconds: of each item its start.
  std::vector<double> starts() const;
  // Likewise all items as they end.
  const std::vector<ItemId>& order() const { return order_; }
  const StepTimes& times() const { return times_; }
  // Items simulated so far, in all runs.
  std::uint64_t simulated() const { return simulated_; }

 private:
  struct Running {
    DeviceId device;
    ItemId item;
    Ticks until;
  };
  struct Bus {
    DeviceId device;
    Ticks free;
  };
  // An item that has not begun and for which some input is there or on its way.
  struct Open {
    ItemId item;
    std::int32_t waiting;  // inputs that are still to be made
    Ticks ready;           // when the others are there
  };
  // After everything of the moment `now` has happened.
  struct Checkpoint {
    Ticks now = -1;
    int finished = 0;
    std::uint64_t mark = 0;  // of the set of finished items
    std::vector<Running> running;
    std::vector<Bus> buses;  // that are busy
    std::vector<Open> open;
  };
  struct Event {
    Ticks time;
    std::int32_t what;  // twice the item; and 1 where it is ready, else it ends
    bool operator>(const Event& other) const { return time > other.time; }
  };
  struct Device {
    ItemId running = -1;
    Ticks until = 0;
    Ticks bus_free = 0;
    std::vector<std::int32_t> ready;  // a heap of ranks, the smallest first
  };
  struct Finish {
    ItemId item;
    Ticks end;
  };
  struct Move {
    ItemId item;
    Ticks first;  // nothing differs before
  };
  // A part of a candidate that was simulated, between two kept checkpoints.
  struct Part {
    std::size_t from = 0;
    std::ptrdiff_t to = -1;  // -1: to the end
    Ticks shift = 0;         // how much later than in the kept one it goes on behind `to`
    std::size_t finishes = 0, checkpoints = 0;  // first of those recorded
  };

  static std::size_t index(std::int32_t id) { return static_cast<std::size_t>(id); }
  NodeId node_of(ItemId item) const { return node_[index(item)]; }
  DeviceId on(NodeId id) const { return (*nodes_)[index(id)]; }
  bool moved(ItemId item) const { return moved_at_[index(node_of(item))] == stamp_; }

  void find_moves(std::span<const NodeId> changed);
  Ticks first_difference(ItemId item) const;
  std::size_t last_before(Ticks when) const;
  Ticks next_difference(std::size_t checkpoint) const;
  Ticks simulate();
  std::ptrdiff_t go();
  void moment();
  void begin(DeviceId d);
  void finish(ItemId item);
  void send(NodeId id, DeviceId home);
  void deliver(ItemId reader, Ticks when);
  void enqueue(ItemId item);
  void push(Ticks time, std::int32_t what);
  void touch(ItemId item);
  void clear();
  void restore(const Checkpoint& from, Ticks shift);
  Ticks ready_anew(ItemId item, const Checkpoint& from, const std::vector<DeviceId>& nodes) const;
  bool same(const Checkpoint& kept) const;
  void record();
  void keep_times();
  void keep_checkpoints();
  void append(std::vector<Checkpoint>& made, std::size_t first, std::size_t end, Ticks shift);
  void correct(std::vector<Checkpoint>& made) const;
  void thin(std::vector<Checkpoint>& made);

  const Graph& graph_;
  StepTimes times_;
  bool bus_;
  std::vector<NodeId> node_;  // of each item
  std::vector<int> inputs_;   // of each item
  std::vector<ItemId> by_rank_;
  std::vector<std::int32_t> rank_;
  std::vector<std::uint64_t> key_;  // of each item, for marks

  // What was kept.
  bool has_kept_ = false;
  Ticks kept_cost_ = 0;
  std::vector<DeviceId> kept_nodes_;  // or of the candidate, where nothing is kept
  std::vector<Ticks> end_;
  std::vector<std::int32_t> place_;  // of each item, among the finishes
  std::vector<ItemId> order_;        // of the finishes
  std::vector<Checkpoint> kept_;
  int gap_;  // finishes between checkpoints, at least

  // The candidate, of which `pending_` says that it can still be kept.
  bool pending_ = false;
  Ticks cost_ = 0;
  const std::vector<DeviceId>* nodes_ = nullptr;
  std::vector<std::pair<NodeId, DeviceId>> changes_;
  std::vector<NodeId> changed_;
  std::vector<Move> moves_;
  std::vector<std::uint32_t> moved_at_;
  std::uint32_t stamp_ = 0;
  std::vector<Part> parts_;
  std::vector<Finish> finishes_;
  std::vector<Checkpoint> recorded_, spare_;
  std::size_t open_recorded_ = 0;

  // Its state. `waiting_` is as without any input, or -1 once an item has begun, and `ready_at_` 0,
  // for all items but the touched.
  Ticks now_ = 0;
  int finished_ = 0;
  std::uint64_t mark_ = 0;
  int busy_ = 0;       // devices
  bool quiet_ = true;  // none was when the moment's items began
  std::size_t next_ = 0;
  int recorded_at_ = 0;
  std::vector<int> waiting_;
  std::vector<Ticks> ready_at_;
  std::vector<ItemId> touched_, open_;
  std::vector<Device> devices_;
  std::vector<Event> events_;
  std::vector<DeviceId> woken_, targets_;
  std::vector<Ticks> arrival_;  // on each device, while one item's output is sent
  std::uint64_t simulated_ = 0;
};

}  // namespace optile::placement
