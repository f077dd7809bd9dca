#include "placement/step/routed_simulator.h"

#include <algorithm>
#include <functional>

#include "placement/infinity.h"

namespace optile::placement {
namespace {

constexpr std::size_t kLeastRoutedGap = 8;
constexpr std::size_t kMostRoutedCheckpoints = 32;
constexpr std::size_t kMostRemembered = std::size_t{1} << 23;  // items, in all checkpoints

}  // namespace

RoutedSimulator::RoutedSimulator(const Graph& graph, const Cluster& cluster,
                                 const StepSetting& setting)
    : graph_(graph),
      routes_(with_routes(cluster, setting).routes),
      times_(graph, cluster, {setting.links, setting.op_ms, setting.micro_batches, routes_}),
      by_rank_(items_by_rank(times_.ways(), setting.micro_batches)),
      fair_(routes_->bandwidths()),
      devices_(cluster.devices.size()) {
  rank_.resize(by_rank_.size());
  for (std::size_t i = 0; i < by_rank_.size(); ++i) {
    rank_[index(by_rank_[i])] = static_cast<std::int32_t>(i);
    node_.push_back(static_cast<NodeId>(i % index(graph.size())));
    inputs_.push_back(static_cast<int>(graph.predecessors(node_.back()).size()));
  }
  start_.resize(by_rank_.size());
  const std::size_t checkpoints =
      std::clamp<std::size_t>(kMostRemembered / by_rank_.size(), 1, kMostRoutedCheckpoints);
  gap_ = std::max(kLeastRoutedGap, by_rank_.size() / checkpoints);
}

double RoutedSimulator::run(const std::vector<DeviceId>& nodes) {
  changed_.clear();
  for (NodeId id = 0; has_kept_ && id < graph_.size(); ++id) {
    if (nodes[index(id)] != kept_nodes_[index(id)]) changed_.push_back(id);
  }
  return run_changed(nodes, changed_);
}

double RoutedSimulator::run_changed(const std::vector<DeviceId>& nodes,
                                    std::span<const NodeId> changed) {
  nodes_ = &nodes;
  pending_ = true;
  cost_ = kInfinity;
  recordings_ = 0;
  from_ = 0;
  changes_.clear();
  Ticks first = has_kept_ ? kNoTicks : 0;
  if (has_kept_) {
    for (const NodeId id : changed) {
      if (on(id) == kept_nodes_[index(id)]) continue;
      if (times_.time(id, on(id)) == kNoTicks) return kInfinity;
      changes_.emplace_back(id, on(id));
      first = std::min(first, first_difference(id));
    }
  } else {
    kept_nodes_ = nodes;
    for (NodeId id = 0; id < graph_.size(); ++id) {
      if (times_.time(id, on(id)) == kNoTicks) return kInfinity;
    }
  }
  if (first == kNoTicks) {
    from_ = kept_.size();
    start_ = kept_start_;
    order_ = kept_order_;
    return cost_ = kept_cost_;
  }
  while (from_ < kept_.size() && kept_[from_].now < first) ++from_;
  if (from_ > 0) {
    restore(kept_[from_ - 1]);
  } else {
    clear();
  }
  return cost_ = simulate();
}

void RoutedSimulator::keep() {
  if (!pending_) return;
  pending_ = false;
  has_kept_ = cost_ < kInfinity;
  kept_.resize(has_kept_ ? from_ : 0);
  if (!has_kept_) return;
  kept_cost_ = cost_;
  for (const auto& [id, device] : changes_) kept_nodes_[index(id)] = device;
  kept_start_ = start_;
  kept_order_ = order_;
  for (std::size_t i = 0; i < recordings_; ++i) kept_.push_back(std::move(recorded_[i]));
}

// Until the first of its inputs that can be sent is made, it makes no difference where a node will
// be; without any, until it is ready.
Ticks RoutedSimulator::first_difference(NodeId id) const {
  Ticks first = kNoTicks;
  const auto inputs = graph_.inputs(id);
  for (std::size_t copy = 0; copy < node_.size(); copy += index(graph_.size())) {
    Ticks ready = 0;
    for (const NodeId before : graph_.predecessors(id)) {
      const Ticks end =
          kept_start_[copy + index(before)] + times_.time(before, kept_nodes_[index(before)]);
      ready = std::max(ready, end);
      const bool sent =
          times_.bytes(before) > 0 && std::binary_search(inputs.begin(), inputs.end(), before);
      if (sent) first = std::min(first, end);
    }
    first = std::min(first, ready);
  }
  return first;
}

void RoutedSimulator::clear() {
  waiting_ = inputs_;
  events_.clear();
  transfers_.clear();
  idle_.clear();
  flows_.clear();
  done_.clear();
  rates_.clear();
  order_.clear();
  now_ = shared_at_ = 0;
  changed_flows_ = false;
  for (Device& device : devices_) {
    device.running = -1;
    device.ready.clear();
  }
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    if (inputs_[i] == 0) made(static_cast<ItemId>(i));
  }
  for (std::size_t d = 0; d < devices_.size(); ++d) begin(static_cast<DeviceId>(d));
}

void RoutedSimulator::restore(const Checkpoint& from) {
  now_ = from.now;
  shared_at_ = from.shared_at;
  changed_flows_ = false;
  waiting_ = from.waiting;
  devices_ = from.devices;
  events_ = from.events;
  transfers_ = from.transfers;
  idle_ = from.idle;
  flows_ = from.flows;
  done_ = from.done;
  rates_ = from.rates;
  start_ = kept_start_;
  order_.assign(kept_order_.begin(), kept_order_.begin() + static_cast<std::ptrdiff_t>(from.begun));
}

void RoutedSimulator::record() {
  if (recordings_ == recorded_.size()) recorded_.emplace_back();
  Checkpoint& made = recorded_[recordings_++];
  made.now = now_;
  made.shared_at = shared_at_;
  made.begun = order_.size();
  made.waiting = waiting_;
  made.devices = devices_;
  made.events = events_;
  made.transfers = transfers_;
  made.idle = idle_;
  made.flows = flows_;
  made.done = done_;
  made.rates = rates_;
}

double RoutedSimulator::simulate() {
  std::size_t recorded_at = order_.size();
  for (;;) {
    if (order_.size() >= recorded_at + gap_) {
      record();
      recorded_at = order_.size();
    }
    Ticks next = events_.empty() ? kNoTicks : events_.front().time;
    for (const Ticks done : done_) next = std::min(next, done);
    if (next == kNoTicks) return times_.ms(now_);
    now_ = next;
    moment();
    for (std::size_t d = 0; d < devices_.size(); ++d) begin(static_cast<DeviceId>(d));
  }
}

// All that ends, then the new rates; what can begin does so afterwards.
void RoutedSimulator::moment() {
  for (std::size_t i = done_.size(); i-- > 0;) {
    if (done_[i] > now_) continue;
    flow();
    const Transfer over = transfers_[index(flows_[i])];
    idle_.push_back(flows_[i]);
    flows_.erase(flows_.begin() + static_cast<std::ptrdiff_t>(i));
    done_.erase(done_.begin() + static_cast<std::ptrdiff_t>(i));
    rates_.erase(rates_.begin() + static_cast<std::ptrdiff_t>(i));
    changed_flows_ = true;
    arrive(over.item, over.to);
  }
  while (!events_.empty() && events_.front().time == now_) {
    std::pop_heap(events_.begin(), events_.end(), std::greater<>());
    const std::int32_t what = events_.back().what;
    events_.pop_back();
    if (what >= 0) {
      finish(what);
      continue;
    }
    flow();
    flows_.push_back(~what);
    done_.push_back(kNoTicks);
    rates_.push_back(0);
    changed_flows_ = true;
  }
  if (changed_flows_) share();
}

void RoutedSimulator::push(Ticks time, std::int32_t what) {
  events_.push_back({time, what});
  std::push_heap(events_.begin(), events_.end(), std::greater<>());
}

void RoutedSimulator::begin(DeviceId d) {
  Device& device = devices_[index(d)];
  if (device.running >= 0 || device.ready.empty()) return;
  std::pop_heap(device.ready.begin(), device.ready.end(), std::greater<>());
  const ItemId item = by_rank_[index(device.ready.back())];
  device.ready.pop_back();
  device.running = item;
  start_[index(item)] = now_;
  order_.push_back(item);
  ++simulated_;
  push(now_ + times_.time(node_of(item), d), item);
}

void RoutedSimulator::finish(ItemId item) {
  const NodeId id = node_of(item);
  const DeviceId home = on(id);
  devices_[index(home)].running = -1;
  const ItemId copy = item - id;
  const bool moves = times_.bytes(id) > 0;
  targets_.clear();
  const auto readers = graph_.readers(id);
  std::size_t next_reader = 0;
  for (const NodeId next : graph_.successors(id)) {
    const bool reads = next_reader < readers.size() && readers[next_reader] == next;
    if (reads) ++next_reader;
    if (reads && moves && on(next) != home) {
      targets_.push_back(on(next));
    } else {
      made(copy + next);
    }
  }
  std::sort(targets_.begin(), targets_.end());
  targets_.erase(std::unique(targets_.begin(), targets_.end()), targets_.end());
  for (const DeviceId to : targets_) {
    const Routes::Route& route = routes_->between(home, to);
    const Transfer sent{item, to, &route, times_.bytes(id)};
    auto slot = static_cast<int>(transfers_.size());
    if (idle_.empty()) {
      transfers_.push_back(sent);
    } else {
      slot = idle_.back();
      idle_.pop_back();
      transfers_[index(slot)] = sent;
    }
    push(now_ + times_.latency(route.latency_ms), ~slot);
  }
}

void RoutedSimulator::arrive(ItemId item, DeviceId to) {
  const NodeId id = node_of(item);
  for (const NodeId reader : graph_.readers(id)) {
    if (on(reader) == to) made(item - id + reader);
  }
}

// One more input of a node is there.
void RoutedSimulator::made(ItemId reader) {
  if (inputs_[index(reader)] > 0 && --waiting_[index(reader)] > 0) return;
  std::vector<std::int32_t>& ready = devices_[index(on(node_of(reader)))].ready;
  ready.push_back(rank_[index(reader)]);
  std::push_heap(ready.begin(), ready.end(), std::greater<>());
}

// What has flowed since the rates were made.
void RoutedSimulator::flow() {
  const double ms = times_.ms(now_ - shared_at_);
  shared_at_ = now_;
  if (!(ms > 0)) return;
  for (std::size_t i = 0; i < flows_.size(); ++i) {
    double& left = transfers_[index(flows_[i])].left;
    left = std::max(left - rates_[i] * ms, 0.0);
  }
}

void RoutedSimulator::share() {
  changed_flows_ = false;
  flowing_.clear();
  for (const int flow : flows_) flowing_.push_back(transfers_[index(flow)].route);
  fair_.share(flowing_, rates_);
  for (std::size_t i = 0; i < flows_.size(); ++i) {
    done_[i] = times_.coarse(now_, transfers_[index(flows_[i])].left / rates_[i]);
  }
}

std::vector<double> RoutedSimulator::starts() const {
  std::vector<double> starts;
  for (const Ticks start : start_) starts.push_back(times_.ms(start));
  return starts;
}

}  // namespace optile::placement
