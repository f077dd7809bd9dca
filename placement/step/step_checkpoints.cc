// What StepSimulator remembers: checkpoints, and how a candidate becomes what is kept.
#include <algorithm>

#include "base/at.h"
#include "placement/step/step_simulator.h"

namespace optile::placement {

using base::at;

namespace {

constexpr std::size_t kMostKeptCheckpoints = 128;
constexpr std::size_t kMostOpen = std::size_t{1} << 21;  // in all checkpoints

// Leaves out checkpoints that are close to others, the first never.
void thin(std::vector<StepCheckpoint>& made, int& gap) {
  std::size_t open = 0;
  for (const StepCheckpoint& one : made) open += one.open.size();
  while (made.size() > kMostKeptCheckpoints || (open > kMostOpen && made.size() > 1)) {
    if (open > kMostOpen) gap *= 2;
    std::size_t left = 1;
    for (std::size_t at = 1; at < made.size(); ++at) {
      if (made[at].finished - made[left - 1].finished < gap) {
        open -= made[at].open.size();
        continue;
      }
      if (left != at) std::swap(made[left], made[at]);
      ++left;
    }
    made.resize(left);
  }
}

}  // namespace

void StepSimulator::record() {
  recorded_at_ = machine_.progress().finished;
  open_recorded_ += machine_.count_open();
  if (open_recorded_ > kMostOpen) return;
  if (spare_.empty()) spare_.emplace_back();
  machine_.save(recorded_.emplace_back(std::move(spare_.back())));
  spare_.pop_back();
}

void StepSimulator::keep() {
  const bool can_run = cost_ < kNoTicks;
  if (!candidate_.keep(can_run)) return;
  if (!can_run) {
    for (; kept_.checkpoints.size() > 1; kept_.checkpoints.pop_back()) {
      spare_.push_back(std::move(kept_.checkpoints.back()));
    }
    return;
  }
  kept_.cost = cost_;
  if (parts_.empty()) return;
  keep_times();
  keep_checkpoints();
}

void StepSimulator::keep_times() {
  const std::vector<StepMachine::Finish>& finishes = machine_.finishes();
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const Part& part = parts_[i];
    const bool last = i + 1 == parts_.size();
    const std::size_t end = last ? finishes.size() : parts_[i + 1].finishes;
    std::int32_t place = kept_.checkpoints[part.from].finished;
    for (std::size_t k = part.finishes; k < end; ++k) {
      const StepMachine::Finish& one = finishes[k];
      kept_.end[at(one.item)] = one.end;
      kept_.place[at(one.item)] = place;
      kept_.order[at(place++)] = one.item;
    }
    if (part.to < 0 || part.shift == 0) continue;
    const int leap = last ? static_cast<int>(kept_.order.size())
                          : kept_.checkpoints[parts_[i + 1].from].finished;
    for (; place < leap; ++place) kept_.end[at(kept_.order[at(place)])] += part.shift;
  }
}

void StepSimulator::keep_checkpoints() {
  std::vector<StepCheckpoint> made;
  made.reserve(kept_.checkpoints.size() + recorded_.size());
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
    next = part.to < 0 ? kept_.checkpoints.size() : static_cast<std::size_t>(part.to);
    shift = part.shift;
    for (std::size_t at = part.from + 1; at < next; ++at)
      spare_.push_back(std::move(kept_.checkpoints[at]));
  }
  append(made, next, kept_.checkpoints.size(), shift);
  recorded_.clear();
  correct(made);
  thin(made, gap_);
  kept_.checkpoints = std::move(made);
}

void StepSimulator::append(std::vector<StepCheckpoint>& made, std::size_t first, std::size_t end,
                           Ticks shift) {
  for (std::size_t at = first; at < end; ++at) {
    made.push_back(std::move(kept_.checkpoints[at]));
    if (shift != 0) made.back().shift(shift);
  }
}

// Items that have moved may have been waiting for their old device where nothing had changed yet.
// On a bus no input had been sent to it.
void StepSimulator::correct(std::vector<StepCheckpoint>& made) const {
  if (bus_) return;
  Ticks earliest = kNoTicks;
  for (const Move& move : moves_) {
    const NodeId id = items_.node_of(move.item);
    for (const NodeId before : items_.graph().predecessors(id)) {
      earliest = std::min(earliest, kept_.end[at(move.item - id + before)]);
    }
  }
  for (StepCheckpoint& one : made) {
    if (one.now < earliest) continue;
    for (StepCheckpoint::Open& open : one.open) {
      if (moved(open.item)) open.ready = ready_anew(open.item, one, true);
    }
  }
}

std::vector<double> StepSimulator::starts() const {
  std::vector<double> starts;
  for (std::size_t i = 0; i < kept_.end.size(); ++i) {
    const NodeId id = items_.node_of(static_cast<ItemId>(i));
    starts.push_back(times().ms(kept_.end[i] - times().time(id, candidate_.kept_on(id))));
  }
  return starts;
}

}  // namespace optile::placement
