#include "placement/step/step_machine.h"

#include <algorithm>

#include "base/at.h"
#include "placement/random.h"

namespace optile::placement {

using base::at;

void StepCheckpoint::shift(Ticks by) {
  now += by;
  for (Running& one : running) one.until += by;
  for (Bus& one : buses) one.free += by;
  for (Open& one : open) one.ready += by;
}

StepMachine::StepMachine(const StepItems& items, const StepCandidate& candidate,
                         std::size_t devices, bool bus)
    : items_(items),
      candidate_(candidate),
      bus_(bus),
      inputs_(items.size()),
      devices_(devices),
      arrival_(devices) {
  Random random(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    key_.push_back(random.next());
    inputs_[i].waiting = items.inputs()[i];
  }
}

void StepMachine::clear() {
  for (const ItemId item : touched_) inputs_[at(item)] = {items_.inputs()[at(item)], 0};
  touched_.clear();
  open_.clear();
  events_.clear();
  at_.busy = 0;
  for (Device& device : devices_) {
    device.running = -1;
    device.bus_free = 0;
    device.ready.clear();
  }
}

void StepMachine::begin_from(const StepCheckpoint& from, Ticks shift) {
  clear();
  at_.now = from.now + shift;
  at_.finished = from.finished;
  at_.mark = from.mark;
  for (const StepCheckpoint::Running& one : from.running) {
    devices_[at(one.device)].running = one.item;
    devices_[at(one.device)].until = one.until + shift;
    events_.push({one.until + shift, 2 * one.item});
    ++at_.busy;
  }
  for (const StepCheckpoint::Bus& one : from.buses) {
    devices_[at(one.device)].bus_free = one.free + shift;
  }
}

void StepMachine::open(const StepCheckpoint::Open& one, Ticks ready) {
  touched_.push_back(one.item);
  open_.push_back(one.item);
  inputs_[at(one.item)] = {one.waiting, ready};
  if (one.waiting > 0) return;
  if (ready > at_.now) {
    events_.push({ready, 2 * one.item + 1});
  } else {
    enqueue(one.item);
  }
}

void StepMachine::run_moment() {
  at_.now = events_.top().time;
  woken_.clear();
  do {
    const std::int32_t what = events_.pop().what;
    if ((what & 1) != 0) {
      enqueue(what >> 1);
    } else {
      finish(what >> 1);
    }
  } while (!events_.empty() && events_.top().time == at_.now);
  at_.quiet = at_.busy == 0;
  for (const DeviceId d : woken_) begin(d);
}

void StepMachine::begin(DeviceId d) {
  Device& device = devices_[at(d)];
  if (device.running >= 0 || device.ready.empty()) return;
  const ItemId item = items_.ranked(device.ready.pop());
  device.running = item;
  device.until = at_.now + items_.times().time(items_.node_of(item), d);
  inputs_[at(item)].waiting = -1;
  ++at_.busy;
  events_.push({device.until, 2 * item});
}

void StepMachine::finish(ItemId item) {
  const NodeId id = items_.node_of(item);
  const DeviceId home = candidate_.on(id);
  devices_[at(home)].running = -1;
  woken_.push_back(home);
  --at_.busy;
  ++at_.finished;
  ++simulated_;
  at_.mark ^= key_[at(item)];
  finishes_.push_back({item, at_.now});
  if (bus_) send(id, home);
  const ItemId copy = item - id;
  const Ticks sent = at_.now + items_.times().output(id);
  items_.visit_outputs(id, [&](NodeId next, bool reads) {
    const DeviceId there = candidate_.on(next);
    if (!reads || there == home) {
      deliver(copy + next, at_.now);
    } else {
      deliver(copy + next, bus_ ? arrival_[at(there)] : sent);
    }
  });
}

// One tensor after the other, in the order of the devices.
void StepMachine::send(NodeId id, DeviceId home) {
  targets_.clear();
  for (const NodeId reader : items_.graph().readers(id)) {
    if (candidate_.on(reader) != home) targets_.push_back(candidate_.on(reader));
  }
  std::sort(targets_.begin(), targets_.end());
  targets_.erase(std::unique(targets_.begin(), targets_.end()), targets_.end());
  Ticks& free = devices_[at(home)].bus_free;
  for (const DeviceId there : targets_) {
    free = std::max(free, at_.now) + items_.times().output(id);
    arrival_[at(there)] = free;
  }
}

void StepMachine::deliver(ItemId reader, Ticks when) {
  Inputs& inputs = inputs_[at(reader)];
  if (inputs.waiting == items_.inputs()[at(reader)]) {
    touched_.push_back(reader);
    open_.push_back(reader);
  }
  inputs.ready = std::max(inputs.ready, when);
  if (--inputs.waiting > 0) return;
  if (inputs.ready > at_.now) {
    events_.push({inputs.ready, 2 * reader + 1});
  } else {
    enqueue(reader);
  }
}

void StepMachine::enqueue(ItemId item) {
  const DeviceId d = candidate_.on(items_.node_of(item));
  devices_[at(d)].ready.push(items_.rank(item));
  woken_.push_back(d);
}

bool StepMachine::matches(const StepCheckpoint& kept, const IdSet& moved) const {
  if (kept.mark != at_.mark || kept.running.size() != at(at_.busy)) return false;
  const auto is_moved = [&](ItemId item) { return moved.contains(at(items_.node_of(item))); };
  const Ticks shift = at_.now - kept.now;
  for (const StepCheckpoint::Running& one : kept.running) {
    const Device& device = devices_[at(one.device)];
    if (device.running != one.item || device.until != one.until + shift) return false;
    if (is_moved(one.item)) return false;
  }
  if (bus_) {
    std::size_t sending = 0;
    for (const Device& device : devices_) sending += device.bus_free > at_.now ? 1 : 0;
    if (sending != kept.buses.size()) return false;
    for (const StepCheckpoint::Bus& one : kept.buses) {
      if (devices_[at(one.device)].bus_free != one.free + shift) return false;
    }
  }
  // What is there, is there: since when makes no difference.
  for (const StepCheckpoint::Open& one : kept.open) {
    const Ticks ready = std::max(inputs_[at(one.item)].ready, at_.now);
    if (ready != std::max(one.ready, kept.now) + shift || is_moved(one.item)) return false;
  }
  return true;
}

std::size_t StepMachine::count_open() {
  std::erase_if(open_, [&](ItemId item) { return inputs_[at(item)].waiting < 0; });
  return open_.size();
}

void StepMachine::save(StepCheckpoint& made) const {
  made.now = at_.now;
  made.finished = at_.finished;
  made.mark = at_.mark;
  made.running.clear();
  made.buses.clear();
  made.open.clear();
  for (std::size_t d = 0; d < devices_.size(); ++d) {
    const Device& device = devices_[d];
    const auto id = static_cast<DeviceId>(d);
    if (device.running >= 0) made.running.push_back({id, device.running, device.until});
    if (device.bus_free > at_.now) made.buses.push_back({id, device.bus_free});
  }
  for (const ItemId item : open_) {
    made.open.push_back({item, inputs_[at(item)].waiting, inputs_[at(item)].ready});
  }
}

}  // namespace optile::placement
