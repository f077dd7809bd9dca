#include "placement/step/routed_simulator.h"

#include <algorithm>

#include "base/at.h"
#include "placement/infinity.h"

namespace optile::placement {

using base::at;

namespace {

constexpr std::size_t kLeastRoutedGap = 8;
constexpr std::size_t kMostRoutedCheckpoints = 32;
constexpr std::size_t kMostRemembered = std::size_t{1} << 23;  // items, in all checkpoints

}  // namespace

RoutedSimulator::RoutedSimulator(const Graph& graph, const Cluster& cluster,
                                 const StepSetting& setting)
    : routes_(with_routes(cluster, setting).routes),
      items_(graph, cluster, {setting.links, setting.op_ms, setting.micro_batches, routes_}),
      candidate_(items_),
      fair_(routes_->bandwidths()) {
  state_.devices.resize(cluster.devices.size());
  run_.start.resize(items_.size());
  const std::size_t checkpoints =
      std::clamp<std::size_t>(kMostRemembered / items_.size(), 1, kMostRoutedCheckpoints);
  gap_ = std::max(kLeastRoutedGap, items_.size() / checkpoints);
}

double RoutedSimulator::run(const std::vector<DeviceId>& nodes) {
  return run_changed(nodes, candidate_.differences(nodes));
}

double RoutedSimulator::run_changed(const std::vector<DeviceId>& nodes,
                                    std::span<const NodeId> changed) {
  run_.cost = kInfinity;
  recordings_ = 0;
  from_ = 0;
  if (!candidate_.take(nodes, changed)) return kInfinity;
  Ticks first = candidate_.has_kept() ? kNoTicks : 0;
  for (const auto& [id, device] : candidate_.changes()) {
    first = std::min(first, first_difference(id));
  }
  if (first == kNoTicks) {
    from_ = checkpoints_.size();
    run_ = kept_;
    return run_.cost;
  }
  while (from_ < checkpoints_.size() && checkpoints_[from_].now < first) ++from_;
  if (from_ > 0) {
    state_ = checkpoints_[from_ - 1];
    run_.start = kept_.start;
    const auto begun = static_cast<std::ptrdiff_t>(state_.begun);
    run_.order.assign(kept_.order.begin(), kept_.order.begin() + begun);
  } else {
    clear();
  }
  return run_.cost = simulate();
}

void RoutedSimulator::keep() {
  const bool can_run = run_.cost < kInfinity;
  if (!candidate_.keep(can_run)) return;
  checkpoints_.resize(can_run ? from_ : 0);
  if (!can_run) return;
  kept_ = run_;
  for (std::size_t i = 0; i < recordings_; ++i) checkpoints_.push_back(std::move(recorded_[i]));
}

// Until the first of its inputs that can be sent is made, it makes no difference where a node will
// be; without any, until it is ready.
Ticks RoutedSimulator::first_difference(NodeId id) const {
  Ticks first = kNoTicks;
  const auto nodes = at(items_.graph().size());
  for (std::size_t copy = 0; copy < items_.size(); copy += nodes) {
    Ticks ready = 0;
    items_.visit_inputs(id, [&](NodeId before, bool read) {
      const Ticks end =
          kept_.start[copy + at(before)] + times().time(before, candidate_.kept_on(before));
      ready = std::max(ready, end);
      if (read && times().bytes(before) > 0) first = std::min(first, end);
    });
    first = std::min(first, ready);
  }
  return first;
}

void RoutedSimulator::clear() {
  state_.now = state_.shared_at = 0;
  state_.changed_flows = false;
  state_.waiting = items_.inputs();
  state_.events.clear();
  state_.transfers.clear();
  state_.idle.clear();
  state_.flows.clear();
  state_.done.clear();
  state_.rates.clear();
  run_.order.clear();
  for (Device& device : state_.devices) {
    device.running = -1;
    device.ready.clear();
  }
  for (std::size_t i = 0; i < items_.size(); ++i) {
    if (items_.inputs()[i] == 0) deliver(static_cast<ItemId>(i));
  }
  begin_all();
}

void RoutedSimulator::record() {
  if (recordings_ == recorded_.size()) recorded_.emplace_back();
  state_.begun = run_.order.size();
  recorded_[recordings_++] = state_;
}

double RoutedSimulator::simulate() {
  std::size_t recorded_at = run_.order.size();
  for (;;) {
    if (run_.order.size() >= recorded_at + gap_) {
      record();
      recorded_at = run_.order.size();
    }
    Ticks next = state_.events.empty() ? kNoTicks : state_.events.top().time;
    for (const Ticks done : state_.done) next = std::min(next, done);
    if (next == kNoTicks) return times().ms(state_.now);
    state_.now = next;
    run_moment();
    begin_all();
  }
}

// All that ends, then the new rates; what can begin does so afterwards.
void RoutedSimulator::run_moment() {
  for (std::size_t i = state_.done.size(); i-- > 0;) {
    if (state_.done[i] <= state_.now) end_flow(i);
  }
  while (!state_.events.empty() && state_.events.top().time == state_.now) {
    const std::int32_t what = state_.events.pop().what;
    if (what >= 0) {
      finish(what);
      continue;
    }
    flow();
    state_.flows.push_back(~what);
    state_.done.push_back(kNoTicks);
    state_.rates.push_back(0);
    state_.changed_flows = true;
  }
  if (state_.changed_flows) share();
}

void RoutedSimulator::end_flow(std::size_t ended) {
  flow();
  const auto offset = static_cast<std::ptrdiff_t>(ended);
  const Transfer over = state_.transfers[at(state_.flows[ended])];
  state_.idle.push_back(state_.flows[ended]);
  state_.flows.erase(state_.flows.begin() + offset);
  state_.done.erase(state_.done.begin() + offset);
  state_.rates.erase(state_.rates.begin() + offset);
  state_.changed_flows = true;
  const NodeId id = items_.node_of(over.item);
  for (const NodeId reader : items_.graph().readers(id)) {
    if (candidate_.on(reader) == over.to) deliver(over.item - id + reader);
  }
}

void RoutedSimulator::begin_all() {
  for (std::size_t d = 0; d < state_.devices.size(); ++d) {
    Device& device = state_.devices[d];
    if (device.running >= 0 || device.ready.empty()) continue;
    const ItemId item = items_.ranked(device.ready.pop());
    device.running = item;
    run_.start[at(item)] = state_.now;
    run_.order.push_back(item);
    ++simulated_;
    const Ticks takes = times().time(items_.node_of(item), static_cast<DeviceId>(d));
    state_.events.push({state_.now + takes, item});
  }
}

void RoutedSimulator::finish(ItemId item) {
  const NodeId id = items_.node_of(item);
  const DeviceId home = candidate_.on(id);
  state_.devices[at(home)].running = -1;
  const ItemId copy = item - id;
  const bool moves = times().bytes(id) > 0;
  targets_.clear();
  items_.visit_outputs(id, [&](NodeId next, bool reads) {
    if (reads && moves && candidate_.on(next) != home) {
      targets_.push_back(candidate_.on(next));
    } else {
      deliver(copy + next);
    }
  });
  send(item, home);
}

// To all of `targets_`.
void RoutedSimulator::send(ItemId item, DeviceId home) {
  std::sort(targets_.begin(), targets_.end());
  targets_.erase(std::unique(targets_.begin(), targets_.end()), targets_.end());
  for (const DeviceId to : targets_) {
    const Routes::Route& route = routes_->between(home, to);
    const Transfer sent{item, to, &route, times().bytes(items_.node_of(item))};
    auto slot = static_cast<int>(state_.transfers.size());
    if (state_.idle.empty()) {
      state_.transfers.push_back(sent);
    } else {
      slot = state_.idle.back();
      state_.idle.pop_back();
      state_.transfers[at(slot)] = sent;
    }
    state_.events.push({state_.now + times().latency(route.latency_ms), ~slot});
  }
}

// One more input of a node is there.
void RoutedSimulator::deliver(ItemId reader) {
  if (items_.inputs()[at(reader)] > 0 && --state_.waiting[at(reader)] > 0) return;
  const DeviceId d = candidate_.on(items_.node_of(reader));
  state_.devices[at(d)].ready.push(items_.rank(reader));
}

// What has flowed since the rates were made.
void RoutedSimulator::flow() {
  const double ms = times().ms(state_.now - state_.shared_at);
  state_.shared_at = state_.now;
  if (!(ms > 0)) return;
  for (std::size_t i = 0; i < state_.flows.size(); ++i) {
    double& left = state_.transfers[at(state_.flows[i])].left;
    left = std::max(left - state_.rates[i] * ms, 0.0);
  }
}

void RoutedSimulator::share() {
  state_.changed_flows = false;
  flowing_.clear();
  for (const int flow : state_.flows) flowing_.push_back(state_.transfers[at(flow)].route);
  fair_.share(flowing_, state_.rates);
  for (std::size_t i = 0; i < state_.flows.size(); ++i) {
    const double left = state_.transfers[at(state_.flows[i])].left;
    state_.done[i] = times().coarse(state_.now, left / state_.rates[i]);
  }
}

std::vector<double> RoutedSimulator::starts() const {
  std::vector<double> starts;
  for (const Ticks start : run_.start) starts.push_back(times().ms(start));
  return starts;
}

}  // namespace optile::placement
