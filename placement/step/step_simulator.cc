#include "placement/step/step_simulator.h"

#include <algorithm>

#include "base/at.h"
#include "placement/infinity.h"

namespace optile::placement {

using base::at;

namespace {

constexpr int kLeastGap = 8;
constexpr int kMostCheckpoints = 96;
constexpr int kLoudGaps = 4;  // a checkpoint while devices are busy: after so many gaps without one

}  // namespace

StepSimulator::StepSimulator(const Graph& graph, const Cluster& cluster, const StepSetting& setting)
    : items_(graph, cluster, setting),
      bus_(setting.links == StepLinks::kBus),
      candidate_(items_),
      machine_(items_, candidate_, cluster.devices.size(), bus_),
      moved_(at(graph.size())) {
  const std::size_t items = items_.size();
  kept_.end.resize(items);
  kept_.place.resize(items);
  kept_.order.resize(items);
  gap_ = std::max(kLeastGap, static_cast<int>(items) / kMostCheckpoints);
  StepCheckpoint& start = kept_.checkpoints.emplace_back();
  for (std::size_t i = 0; i < items; ++i) {
    if (items_.inputs()[i] == 0) start.open.push_back({static_cast<ItemId>(i), 0, 0});
  }
}

double StepSimulator::run(const std::vector<DeviceId>& nodes) {
  return run_changed(nodes, candidate_.differences(nodes));
}

double StepSimulator::run_changed(const std::vector<DeviceId>& nodes,
                                  std::span<const NodeId> changed) {
  parts_.clear();
  machine_.finishes().clear();
  while (!recorded_.empty()) {
    spare_.push_back(std::move(recorded_.back()));
    recorded_.pop_back();
  }
  open_recorded_ = 0;
  cost_ = kNoTicks;
  if (!candidate_.take(nodes, changed)) return kInfinity;
  find_moves();
  const bool same = candidate_.has_kept() && candidate_.changes().empty();
  cost_ = same ? kept_.cost : simulate();
  machine_.clear();
  return items_.times().ms(cost_);
}

void StepSimulator::find_moves() {
  moved_.clear();
  moves_.clear();
  for (const auto& [id, device] : candidate_.changes()) {
    moved_.insert(at(id));
    for (ItemId item = id; at(item) < items_.size(); item += items_.graph().size()) {
      moves_.push_back({item, first_difference(item)});
    }
  }
}

// As long as an item waits on its old device it is in nobody's way; on its new one it can begin no
// earlier than its inputs get there. On a bus, what its inputs' producers send differs too.
Ticks StepSimulator::first_difference(ItemId item) const {
  const NodeId id = items_.node_of(item);
  const ItemId copy = item - id;
  Ticks first = kept_.end[at(item)] - times().time(id, candidate_.kept_on(id));
  Ticks ready = 0;
  items_.visit_inputs(id, [&](NodeId before, bool read) {
    Ticks there = kept_.end[at(copy + before)];
    if (read && bus_) first = std::min(first, there);
    if (read && !bus_ && candidate_.on(before) != candidate_.on(id)) {
      there += times().output(before);
    }
    ready = std::max(ready, there);
  });
  return std::min(first, ready);
}

std::size_t StepSimulator::PreviousPlacement::last_before(Ticks when) const {
  const auto after =
      std::partition_point(checkpoints.begin(), checkpoints.end(),
                           [when](const StepCheckpoint& one) { return one.now < when; });
  return after == checkpoints.begin() ? 0
                                      : static_cast<std::size_t>(after - checkpoints.begin()) - 1;
}

// Of items that nothing has reached at a checkpoint; kNoTicks where there is none.
Ticks StepSimulator::next_difference(std::size_t checkpoint) const {
  Ticks first = kNoTicks;
  for (const Move& move : moves_) {
    if (kept_.place[at(move.item)] < kept_.checkpoints[checkpoint].finished) continue;
    first = std::min(first, move.first);
  }
  return first;
}

// When the inputs that are made at a checkpoint get to the item's device, in the checkpoint's time;
// of what is kept, or of the candidate.
Ticks StepSimulator::ready_anew(ItemId item, const StepCheckpoint& from, bool kept) const {
  const auto on = [&](NodeId id) { return kept ? candidate_.kept_on(id) : candidate_.on(id); };
  const NodeId id = items_.node_of(item);
  const ItemId copy = item - id;
  Ticks ready = 0;
  items_.visit_inputs(id, [&](NodeId before, bool read) {
    if (kept_.place[at(copy + before)] >= from.finished) return;
    const bool sent = read && on(before) != on(id);
    ready = std::max(ready, kept_.end[at(copy + before)] + (sent ? times().output(before) : 0));
  });
  return ready;
}

Ticks StepSimulator::simulate() {
  Ticks first = candidate_.has_kept() ? kNoTicks : 0;
  for (const Move& move : moves_) first = std::min(first, move.first);
  std::size_t from = kept_.last_before(first);
  Ticks shift = 0;
  for (;;) {
    const StepCheckpoint& begin = kept_.checkpoints[from];
    machine_.restore(begin, shift, [&](const StepCheckpoint::Open& one) {
      return moved(one.item) ? ready_anew(one.item, begin, false) : one.ready;
    });
    parts_.push_back({from, -1, 0, machine_.finishes().size(), recorded_.size()});
    next_ = from + 1;
    recorded_at_ = machine_.progress().finished;
    for (;;) {
      const std::ptrdiff_t met = run_until_met();
      if (met < 0) return std::max(machine_.progress().now, Ticks{0});
      const auto at = static_cast<std::size_t>(met);
      first = next_difference(at);
      from = first == kNoTicks ? at : std::max(at, kept_.last_before(first));
      if (first < kNoTicks && from == at) continue;  // it begins here
      shift = machine_.progress().now - kept_.checkpoints[at].now;
      parts_.back().to = met;
      parts_.back().shift = shift;
      break;
    }
    if (first == kNoTicks) return kept_.cost + shift;
  }
}

// Until the state is that of a later checkpoint, which it returns; -1 at the end.
std::ptrdiff_t StepSimulator::run_until_met() {
  const std::vector<StepCheckpoint>& kept = kept_.checkpoints;
  const StepMachine::Progress& at = machine_.progress();
  int look = 0;  // finishes until there is anything to be done but simulating
  while (!machine_.is_over()) {
    machine_.run_moment();
    if (at.finished < look) continue;
    while (next_ < kept.size() && kept[next_].finished < at.finished) ++next_;
    if (next_ < kept.size() && kept[next_].finished == at.finished &&
        machine_.matches(kept[next_], moved_)) {
      return static_cast<std::ptrdiff_t>(next_++);
    }
    const int since = at.finished - recorded_at_;
    if (since >= gap_ && (at.quiet || since >= kLoudGaps * gap_)) record();
    look = recorded_at_ + gap_;
    if (next_ < kept.size()) look = std::min(look, kept[next_].finished);
  }
  return -1;
}

}  // namespace optile::placement
