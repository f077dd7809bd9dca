#include "placement/step/routed_simulator.h"

#include <algorithm>
#include <functional>

namespace optile::placement {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

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
}

double RoutedSimulator::run(const std::vector<DeviceId>& nodes) {
  nodes_ = &nodes;
  for (NodeId id = 0; id < graph_.size(); ++id) {
    if (times_.time(id, on(id)) == kNoTicks) return kNever;
  }
  waiting_ = inputs_;
  events_.clear();
  transfers_.clear();
  flows_.clear();
  done_.clear();
  rates_.clear();
  order_.clear();
  now_ = shared_at_ = 0;
  changed_ = false;
  for (Device& device : devices_) {
    device.running = -1;
    device.ready.clear();
  }
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    if (inputs_[i] == 0) made(static_cast<ItemId>(i));
  }
  for (;;) {
    for (std::size_t d = 0; d < devices_.size(); ++d) begin(static_cast<DeviceId>(d));
    Ticks next = events_.empty() ? kNoTicks : events_.front().time;
    for (const Ticks done : done_) next = std::min(next, done);
    if (next == kNoTicks) return times_.ms(now_);
    now_ = next;
    moment();
  }
}

// All that ends, then the new rates; what can begin does so afterwards.
void RoutedSimulator::moment() {
  for (std::size_t i = done_.size(); i-- > 0;) {
    if (done_[i] > now_) continue;
    flow();
    const Transfer over = transfers_[index(flows_[i])];
    flows_.erase(flows_.begin() + static_cast<std::ptrdiff_t>(i));
    done_.erase(done_.begin() + static_cast<std::ptrdiff_t>(i));
    rates_.erase(rates_.begin() + static_cast<std::ptrdiff_t>(i));
    changed_ = true;
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
    changed_ = true;
  }
  if (changed_) share();
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
    transfers_.push_back({item, to, &route, times_.bytes(id)});
    push(now_ + times_.latency(route.latency_ms),
         ~static_cast<std::int32_t>(transfers_.size() - 1));
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
  changed_ = false;
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
