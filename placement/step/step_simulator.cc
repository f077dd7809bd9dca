#include "placement/step/step_simulator.h"

#include <algorithm>
#include <functional>

#include "placement/infinity.h"
#include "placement/random.h"

namespace optile::placement {
namespace {

constexpr int kLeastGap = 8;
constexpr int kMostCheckpoints = 96;
constexpr int kLoudGaps = 4;  // a checkpoint while devices are busy: after so many gaps without one

}  // namespace

StepSimulator::StepSimulator(const Graph& graph, const Cluster& cluster, const StepSetting& setting)
    : graph_(graph),
      times_(graph, cluster, setting),
      bus_(setting.links == StepLinks::kBus),
      by_rank_(items_by_rank(times_.ways(), setting.micro_batches)),
      moved_at_(index(graph.size()), 0),
      devices_(cluster.devices.size()),
      arrival_(cluster.devices.size()) {
  const std::size_t items = by_rank_.size();
  rank_.resize(items);
  Random random(items);
  for (std::size_t i = 0; i < items; ++i) {
    rank_[index(by_rank_[i])] = static_cast<std::int32_t>(i);
    node_.push_back(static_cast<NodeId>(i % index(graph.size())));
    inputs_.push_back(static_cast<int>(graph.predecessors(node_.back()).size()));
    key_.push_back(random.next());
  }
  waiting_ = inputs_;
  ready_at_.assign(items, 0);
  end_.resize(items);
  place_.resize(items);
  order_.resize(items);
  gap_ = std::max(kLeastGap, static_cast<int>(items) / kMostCheckpoints);
  Checkpoint& start = kept_.emplace_back();
  for (std::size_t i = 0; i < items; ++i) {
    if (inputs_[i] == 0) start.open.push_back({static_cast<ItemId>(i), 0, 0});
  }
}

double StepSimulator::run(const std::vector<DeviceId>& nodes) {
  changed_.clear();
  for (NodeId id = 0; has_kept_ && id < graph_.size(); ++id) {
    if (nodes[index(id)] != kept_nodes_[index(id)]) changed_.push_back(id);
  }
  return run_changed(nodes, changed_);
}

double StepSimulator::run_changed(const std::vector<DeviceId>& nodes,
                                  std::span<const NodeId> changed) {
  nodes_ = &nodes;
  parts_.clear();
  finishes_.clear();
  while (!recorded_.empty()) {
    spare_.push_back(std::move(recorded_.back()));
    recorded_.pop_back();
  }
  open_recorded_ = 0;
  cost_ = kNoTicks;
  pending_ = true;
  if (has_kept_) {
    find_moves(changed);
    for (const auto& [id, device] : changes_) {
      if (times_.time(id, device) == kNoTicks) return kInfinity;
    }
    cost_ = changes_.empty() ? kept_cost_ : simulate();
    clear();
    return times_.ms(cost_);
  }
  for (NodeId id = 0; id < graph_.size(); ++id) {
    if (times_.time(id, on(id)) == kNoTicks) return kInfinity;
  }
  ++stamp_;  // nothing has moved
  moves_.clear();
  changes_.clear();
  kept_nodes_ = nodes;
  cost_ = simulate();
  clear();
  return times_.ms(cost_);
}

void StepSimulator::find_moves(std::span<const NodeId> changed) {
  ++stamp_;
  moves_.clear();
  changes_.clear();
  for (const NodeId id : changed) {
    if (on(id) == kept_nodes_[index(id)]) continue;
    moved_at_[index(id)] = stamp_;
    changes_.emplace_back(id, on(id));
    for (ItemId item = id; index(item) < node_.size(); item += graph_.size()) {
      moves_.push_back({item, first_difference(item)});
    }
  }
}

// As long as an item waits on its old device it is in nobody's way; on its new one it can begin no
// earlier than its inputs get there. On a bus, what its inputs' producers send differs too.
Ticks StepSimulator::first_difference(ItemId item) const {
  const NodeId id = node_of(item);
  const ItemId copy = item - id;
  const auto inputs = graph_.inputs(id);
  std::size_t next_input = 0;
  Ticks first = end_[index(item)] - times_.time(id, kept_nodes_[index(id)]);
  Ticks ready = 0;
  for (const NodeId before : graph_.predecessors(id)) {
    Ticks there = end_[index(copy + before)];
    const bool read = next_input < inputs.size() && inputs[next_input] == before;
    if (read) {
      ++next_input;
      if (bus_) first = std::min(first, there);
      if (!bus_ && on(before) != on(id)) there += times_.output(before);
    }
    ready = std::max(ready, there);
  }
  return std::min(first, ready);
}

std::size_t StepSimulator::last_before(Ticks when) const {
  const auto after = std::partition_point(kept_.begin(), kept_.end(),
                                          [when](const Checkpoint& one) { return one.now < when; });
  return after == kept_.begin() ? 0 : static_cast<std::size_t>(after - kept_.begin()) - 1;
}

// Of items that nothing has reached at a checkpoint; kNoTicks where there is none.
Ticks StepSimulator::next_difference(std::size_t checkpoint) const {
  Ticks first = kNoTicks;
  for (const Move& move : moves_) {
    if (place_[index(move.item)] < kept_[checkpoint].finished) continue;
    first = std::min(first, move.first);
  }
  return first;
}

Ticks StepSimulator::simulate() {
  Ticks first = has_kept_ ? kNoTicks : 0;
  for (const Move& move : moves_) first = std::min(first, move.first);
  std::size_t from = last_before(first);
  Ticks shift = 0;
  for (;;) {
    restore(kept_[from], shift);
    parts_.push_back({from, -1, 0, finishes_.size(), recorded_.size()});
    next_ = from + 1;
    recorded_at_ = finished_;
    for (;;) {
      const std::ptrdiff_t met = go();
      if (met < 0) return std::max(now_, Ticks{0});
      const auto at = static_cast<std::size_t>(met);
      first = next_difference(at);
      from = first == kNoTicks ? at : std::max(at, last_before(first));
      if (first < kNoTicks && from == at) continue;  // it begins here
      shift = now_ - kept_[at].now;
      parts_.back().to = met;
      parts_.back().shift = shift;
      break;
    }
    if (first == kNoTicks) return kept_cost_ + shift;
  }
}

// Until the state is that of a later checkpoint, which it returns; -1 at the end.
std::ptrdiff_t StepSimulator::go() {
  int look = 0;  // finishes until there is anything to be done but simulating
  while (!events_.empty()) {
    moment();
    if (finished_ < look) continue;
    while (next_ < kept_.size() && kept_[next_].finished < finished_) ++next_;
    if (next_ < kept_.size() && kept_[next_].finished == finished_ && same(kept_[next_])) {
      return static_cast<std::ptrdiff_t>(next_++);
    }
    const int since = finished_ - recorded_at_;
    if (since >= gap_ && (quiet_ || since >= kLoudGaps * gap_)) record();
    look = recorded_at_ + gap_;
    if (next_ < kept_.size()) look = std::min(look, kept_[next_].finished);
  }
  return -1;
}

// Everything of one moment happens before anything begins.
void StepSimulator::moment() {
  now_ = events_.front().time;
  woken_.clear();
  do {
    std::pop_heap(events_.begin(), events_.end(), std::greater<>());
    const std::int32_t what = events_.back().what;
    events_.pop_back();
    if ((what & 1) != 0) {
      enqueue(what >> 1);
    } else {
      finish(what >> 1);
    }
  } while (!events_.empty() && events_.front().time == now_);
  quiet_ = busy_ == 0;
  for (const DeviceId d : woken_) begin(d);
}

void StepSimulator::begin(DeviceId d) {
  Device& device = devices_[index(d)];
  if (device.running >= 0 || device.ready.empty()) return;
  std::pop_heap(device.ready.begin(), device.ready.end(), std::greater<>());
  const ItemId item = by_rank_[index(device.ready.back())];
  device.ready.pop_back();
  device.running = item;
  device.until = now_ + times_.time(node_of(item), d);
  waiting_[index(item)] = -1;
  ++busy_;
  push(device.until, 2 * item);
}

void StepSimulator::finish(ItemId item) {
  const NodeId id = node_of(item);
  const DeviceId home = on(id);
  devices_[index(home)].running = -1;
  woken_.push_back(home);
  --busy_;
  ++finished_;
  ++simulated_;
  mark_ ^= key_[index(item)];
  finishes_.push_back({item, now_});
  if (bus_) send(id, home);
  const ItemId copy = item - id;
  const Ticks sent = now_ + times_.output(id);
  const auto readers = graph_.readers(id);
  std::size_t next_reader = 0;
  for (const NodeId next : graph_.successors(id)) {
    const bool reads = next_reader < readers.size() && readers[next_reader] == next;
    if (reads) ++next_reader;
    const DeviceId there = on(next);
    if (!reads || there == home) {
      deliver(copy + next, now_);
    } else {
      deliver(copy + next, bus_ ? arrival_[index(there)] : sent);
    }
  }
}

// One tensor after the other, in the order of the devices.
void StepSimulator::send(NodeId id, DeviceId home) {
  targets_.clear();
  for (const NodeId reader : graph_.readers(id)) {
    if (on(reader) != home) targets_.push_back(on(reader));
  }
  std::sort(targets_.begin(), targets_.end());
  targets_.erase(std::unique(targets_.begin(), targets_.end()), targets_.end());
  Ticks& free = devices_[index(home)].bus_free;
  for (const DeviceId there : targets_) {
    free = std::max(free, now_) + times_.output(id);
    arrival_[index(there)] = free;
  }
}

void StepSimulator::deliver(ItemId reader, Ticks when) {
  int& waiting = waiting_[index(reader)];
  if (waiting == inputs_[index(reader)]) touch(reader);
  Ticks& ready = ready_at_[index(reader)];
  ready = std::max(ready, when);
  if (--waiting > 0) return;
  if (ready > now_) {
    push(ready, 2 * reader + 1);
  } else {
    enqueue(reader);
  }
}

void StepSimulator::enqueue(ItemId item) {
  const DeviceId d = on(node_of(item));
  std::vector<std::int32_t>& ready = devices_[index(d)].ready;
  ready.push_back(rank_[index(item)]);
  std::push_heap(ready.begin(), ready.end(), std::greater<>());
  woken_.push_back(d);
}

void StepSimulator::push(Ticks time, std::int32_t what) {
  events_.push_back({time, what});
  std::push_heap(events_.begin(), events_.end(), std::greater<>());
}

void StepSimulator::touch(ItemId item) {
  touched_.push_back(item);
  open_.push_back(item);
}

}  // namespace optile::placement
