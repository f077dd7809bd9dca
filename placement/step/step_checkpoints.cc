// What StepSimulator remembers: checkpoints, and how a candidate becomes what is kept.
#include <algorithm>
#include <functional>

#include "placement/step/step_simulator.h"

namespace optile::placement {
namespace {

constexpr std::size_t kMostKeptCheckpoints = 128;
constexpr std::size_t kMostOpen = std::size_t{1} << 21;  // in all checkpoints

}  // namespace

void StepSimulator::clear() {
  for (const ItemId item : touched_) {
    waiting_[index(item)] = inputs_[index(item)];
    ready_at_[index(item)] = 0;
  }
  touched_.clear();
  open_.clear();
  events_.clear();
  busy_ = 0;
  for (Device& device : devices_) {
    device.running = -1;
    device.bus_free = 0;
    device.ready.clear();
  }
}

void StepSimulator::restore(const Checkpoint& from, Ticks shift) {
  clear();
  now_ = from.now + shift;
  finished_ = from.finished;
  mark_ = from.mark;
  for (const Running& one : from.running) {
    devices_[index(one.device)].running = one.item;
    devices_[index(one.device)].until = one.until + shift;
    push(one.until + shift, 2 * one.item);
    ++busy_;
  }
  for (const Bus& one : from.buses) devices_[index(one.device)].bus_free = one.free + shift;
  for (const Open& one : from.open) {
    touch(one.item);
    waiting_[index(one.item)] = one.waiting;
    Ticks& ready = ready_at_[index(one.item)];
    ready = moved(one.item) ? ready_anew(one.item, from, *nodes_) : one.ready;
    ready += shift;
    if (one.waiting > 0) continue;
    if (ready > now_) {
      push(ready, 2 * one.item + 1);
    } else {
      enqueue(one.item);
    }
  }
}

// When the inputs that are made at a checkpoint get to the item's device, in the checkpoint's time.
Ticks StepSimulator::ready_anew(ItemId item, const Checkpoint& from,
                                const std::vector<DeviceId>& nodes) const {
  const NodeId id = node_of(item);
  const ItemId copy = item - id;
  const auto inputs = graph_.inputs(id);
  Ticks ready = 0;
  for (const NodeId before : graph_.predecessors(id)) {
    if (place_[index(copy + before)] >= from.finished) continue;
    const bool far = nodes[index(before)] != nodes[index(id)];
    const bool sent = far && std::binary_search(inputs.begin(), inputs.end(), before);
    ready = std::max(ready, end_[index(copy + before)] + (sent ? times_.output(before) : 0));
  }
  return ready;
}

// Whether all that is to come is as it was behind the checkpoint, but for the moves that nothing
// has reached.
bool StepSimulator::same(const Checkpoint& kept) const {
  if (kept.mark != mark_ || kept.running.size() != static_cast<std::size_t>(busy_)) return false;
  const Ticks shift = now_ - kept.now;
  for (const Running& one : kept.running) {
    const Device& device = devices_[index(one.device)];
    if (device.running != one.item || device.until != one.until + shift) return false;
    if (moved(one.item)) return false;
  }
  if (bus_) {
    std::size_t sending = 0;
    for (const Device& device : devices_) sending += device.bus_free > now_ ? 1 : 0;
    if (sending != kept.buses.size()) return false;
    for (const Bus& one : kept.buses) {
      if (devices_[index(one.device)].bus_free != one.free + shift) return false;
    }
  }
  // What is there, is there: since when makes no difference.
  for (const Open& one : kept.open) {
    const Ticks ready = std::max(ready_at_[index(one.item)], now_);
    if (ready != std::max(one.ready, kept.now) + shift || moved(one.item)) return false;
  }
  return true;
}

void StepSimulator::record() {
  recorded_at_ = finished_;
  std::erase_if(open_, [&](ItemId item) { return waiting_[index(item)] < 0; });
  open_recorded_ += open_.size();
  if (open_recorded_ > kMostOpen) return;
  if (spare_.empty()) spare_.emplace_back();
  Checkpoint& made = recorded_.emplace_back(std::move(spare_.back()));
  spare_.pop_back();
  made.now = now_;
  made.finished = finished_;
  made.mark = mark_;
  made.running.clear();
  made.buses.clear();
  made.open.clear();
  for (std::size_t d = 0; d < devices_.size(); ++d) {
    const Device& device = devices_[d];
    const auto id = static_cast<DeviceId>(d);
    if (device.running >= 0) made.running.push_back({id, device.running, device.until});
    if (device.bus_free > now_) made.buses.push_back({id, device.bus_free});
  }
  for (const ItemId item : open_) {
    made.open.push_back({item, waiting_[index(item)], ready_at_[index(item)]});
  }
}

void StepSimulator::keep() {
  if (!pending_) return;
  pending_ = false;
  if (cost_ == kNoTicks) {
    has_kept_ = false;
    while (kept_.size() > 1) {
      spare_.push_back(std::move(kept_.back()));
      kept_.pop_back();
    }
    return;
  }
  for (const auto& [id, device] : changes_) kept_nodes_[index(id)] = device;
  has_kept_ = true;
  kept_cost_ = cost_;
  if (parts_.empty()) return;
  keep_times();
  keep_checkpoints();
}

void StepSimulator::keep_times() {
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const Part& part = parts_[i];
    const bool last = i + 1 == parts_.size();
    const std::size_t end = last ? finishes_.size() : parts_[i + 1].finishes;
    std::int32_t place = kept_[part.from].finished;
    for (std::size_t at = part.finishes; at < end; ++at) {
      const Finish& one = finishes_[at];
      end_[index(one.item)] = one.end;
      place_[index(one.item)] = place;
      order_[index(place++)] = one.item;
    }
    if (part.to < 0 || part.shift == 0) continue;
    const int leap = last ? static_cast<int>(order_.size()) : kept_[parts_[i + 1].from].finished;
    for (; place < leap; ++place) end_[index(order_[index(place)])] += part.shift;
  }
}

void StepSimulator::keep_checkpoints() {
  std::vector<Checkpoint> made;
  made.reserve(kept_.size() + recorded_.size());
  std::size_t next = 0;
  Ticks shift = 0;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const Part& part = parts_[i];
    const bool last = i + 1 == parts_.size();
    append(made, next, part.from + 1, shift);
    const std::size_t end = last ? recorded_.size() : parts_[i + 1].checkpoints;
    for (std::size_t at = part.checkpoints; at < end; ++at) {
      made.push_back(std::move(recorded_[at]));
    }
    next = part.to < 0 ? kept_.size() : static_cast<std::size_t>(part.to);
    shift = part.shift;
    for (std::size_t at = part.from + 1; at < next; ++at) spare_.push_back(std::move(kept_[at]));
  }
  append(made, next, kept_.size(), shift);
  recorded_.clear();
  correct(made);
  thin(made);
  kept_ = std::move(made);
}

void StepSimulator::append(std::vector<Checkpoint>& made, std::size_t first, std::size_t end,
                           Ticks shift) {
  for (std::size_t at = first; at < end; ++at) {
    Checkpoint& one = made.emplace_back(std::move(kept_[at]));
    if (shift == 0) continue;
    one.now += shift;
    for (Running& running : one.running) running.until += shift;
    for (Bus& bus : one.buses) bus.free += shift;
    for (Open& open : one.open) open.ready += shift;
  }
}

// Items that have moved may have been waiting for their old device where nothing had changed yet.
// On a bus no input had been sent to it.
void StepSimulator::correct(std::vector<Checkpoint>& made) const {
  if (bus_) return;
  Ticks earliest = kNoTicks;
  for (const Move& move : moves_) {
    const NodeId id = node_of(move.item);
    for (const NodeId before : graph_.predecessors(id)) {
      earliest = std::min(earliest, end_[index(move.item - id + before)]);
    }
  }
  for (Checkpoint& one : made) {
    if (one.now < earliest) continue;
    for (Open& open : one.open) {
      if (moved(open.item)) open.ready = ready_anew(open.item, one, kept_nodes_);
    }
  }
}

// Leaves out checkpoints that are close to others, the first never.
void StepSimulator::thin(std::vector<Checkpoint>& made) {
  std::size_t open = 0;
  for (const Checkpoint& one : made) open += one.open.size();
  while (made.size() > kMostKeptCheckpoints || (open > kMostOpen && made.size() > 1)) {
    if (open > kMostOpen) gap_ *= 2;
    std::size_t left = 1;
    for (std::size_t at = 1; at < made.size(); ++at) {
      if (made[at].finished - made[left - 1].finished < gap_) {
        open -= made[at].open.size();
        continue;
      }
      if (left != at) std::swap(made[left], made[at]);
      ++left;
    }
    made.resize(left);
  }
}

std::vector<double> StepSimulator::starts() const {
  std::vector<double> starts;
  for (std::size_t i = 0; i < end_.size(); ++i) {
    const NodeId id = node_[i];
    starts.push_back(times_.ms(end_[i] - times_.time(id, kept_nodes_[index(id)])));
  }
  return starts;
}

}  // namespace optile::placement
