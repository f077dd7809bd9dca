// Devices and their buses that run the items of a step, one moment after the other, for links of
// edge and bus. Times are whole ticks: from a checkpoint it goes on bit for bit as it would have
// from the beginning. Of one thread.
#pragma once

#include <cstdint>
#include <vector>

#include "placement/id_set.h"
#include "placement/step/step_items.h"

namespace optile::placement {

// After everything of the moment `now` has happened.
struct StepCheckpoint {
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
  Ticks now = -1;
  int finished = 0;
  std::uint64_t mark = 0;  // of the set of finished items
  std::vector<Running> running;
  std::vector<Bus> buses;  // that are busy
  std::vector<Open> open;

  void shift(Ticks by);
};

class StepMachine {
 public:
  // It runs `candidate`.
  StepMachine(const StepItems& items, const StepCandidate& candidate, std::size_t devices,
              bool bus);

  struct Progress {
    Ticks now = 0;
    int finished = 0;
    std::uint64_t mark = 0;
    int busy = 0;       // devices
    bool quiet = true;  // none was when the moment's items began
  };
  struct Finish {
    ItemId item;
    Ticks end;
  };
  const Progress& progress() const { return at_; }
  // Items simulated so far, in all runs.
  std::uint64_t simulated() const { return simulated_; }
  // Since they were cleared.
  std::vector<Finish>& finishes() { return finishes_; }

  void clear();
  // Goes on from a checkpoint, so much later; `ready_at` says of an open item when it is ready, in
  // the checkpoint's time.
  template <typename ReadyAt>
  void restore(const StepCheckpoint& from, Ticks shift, ReadyAt ready_at) {
    begin_from(from, shift);
    for (const StepCheckpoint::Open& one : from.open) open(one, ready_at(one) + shift);
  }
  bool is_over() const { return events_.empty(); }
  // Everything of one moment happens before anything begins.
  void run_moment();
  // Whether all that is to come is as it was behind the checkpoint, but for the nodes that have
  // moved and that nothing has reached.
  bool matches(const StepCheckpoint& kept, const IdSet& moved) const;
  std::size_t count_open();
  void save(StepCheckpoint& made) const;

 private:
  struct Device {
    ItemId running = -1;
    Ticks until = 0;
    Ticks bus_free = 0;
    MinHeap<std::int32_t> ready;  // ranks
  };
  // `waiting` is -1 once an item has begun.
  struct Inputs {
    int waiting = 0;
    Ticks ready = 0;
  };

  void begin_from(const StepCheckpoint& from, Ticks shift);
  void open(const StepCheckpoint::Open& one, Ticks ready);
  void begin(DeviceId d);
  void finish(ItemId item);
  void send(NodeId id, DeviceId home);
  void deliver(ItemId reader, Ticks when);
  void enqueue(ItemId item);

  const StepItems& items_;
  const StepCandidate& candidate_;
  bool bus_;
  std::vector<std::uint64_t> key_;  // of each item, for marks
  Progress at_;
  std::vector<Inputs> inputs_;  // as without any, for all items but the touched
  std::vector<ItemId> touched_, open_;
  std::vector<Device> devices_;
  MinHeap<StepEvent> events_;  // twice the item; and 1 where it is ready, else it ends
  std::vector<DeviceId> woken_, targets_;
  std::vector<Ticks> arrival_;  // on each device, while one item's output is sent
  std::vector<Finish> finishes_;
  std::uint64_t simulated_ = 0;
};

}  // namespace optile::placement
