#include "placement/step/step_model.h"

#include <algorithm>
#include <cmath>

#include "base/at.h"
#include "placement/step/routed_simulator.h"
#include "placement/step/step_simulator.h"

namespace optile::placement {
namespace {

using base::at;

constexpr double kMostExact = 0x1.0p53;

template <typename Simulator>
class StepModel : public CostModel {
 public:
  StepModel(const Graph& graph, const Cluster& cluster, const Units& units,
            const StepSetting& setting)
      : units_(units), simulator_(graph, cluster, setting), memory_(cluster.devices.size()) {
    for (const Device& device : cluster.devices) caps_.push_back(device.memory_bytes);
    first_.assign(at(units.size()) + 1, 0);
    for (const UnitId unit : units.of_node()) ++first_[at(unit) + 1];
    for (std::size_t i = 1; i < first_.size(); ++i) first_[i] += first_[i - 1];
    std::vector<std::size_t> next(first_.begin(), first_.end() - 1);
    members_.resize(units.of_node().size());
    for (NodeId id = 0; id < graph.size(); ++id) members_[next[at(units.of(id))]++] = id;
    double sum = 0;
    for (UnitId unit = 0; unit < units.size(); ++unit) {
      whole_bytes_ = whole_bytes_ && units.memory(unit) == std::floor(units.memory(unit));
      sum += units.memory(unit);
    }
    whole_bytes_ = whole_bytes_ && sum < kMostExact;
  }

  Score score(const std::vector<DeviceId>& units) override {
    if (kept_.empty()) return first(units);
    changed_.clear();
    for (UnitId unit = 0; unit < units_.size(); ++unit) {
      if (units[at(unit)] != kept_[at(unit)]) changed_.push_back(unit);
    }
    return score_changed(units, changed_);
  }

  Score score_changed(const std::vector<DeviceId>& units,
                      std::span<const UnitId> changed) override {
    if (kept_.empty()) return first(units);
    moves_.clear();
    nodes_changed_.clear();
    for (const UnitId unit : changed) {
      const DeviceId to = units[at(unit)];
      if (to == kept_[at(unit)]) continue;
      moves_.emplace_back(unit, to);
      put(unit, to);
      for (std::size_t i = first_[at(unit)]; i < first_[at(unit) + 1]; ++i) {
        nodes_changed_.push_back(members_[i]);
      }
    }
    Score score;
    score.cost = simulator_.run_changed(nodes_, nodes_changed_);
    score.excess = excess(units);
    for (const auto& [unit, to] : moves_) put(unit, kept_[at(unit)]);
    return score;
  }

  void keep() override {
    for (const auto& [unit, to] : moves_) {
      put(unit, to);
      memory_[at(kept_[at(unit)])] -= units_.memory(unit);
      memory_[at(to)] += units_.memory(unit);
      kept_[at(unit)] = to;
    }
    moves_.clear();
    simulator_.keep();
  }

 private:
  Score first(const std::vector<DeviceId>& units) {
    kept_ = units;
    nodes_ = units_.to_nodes(units);
    moves_.clear();
    memory_ = summed(units);
    Score score;
    score.cost = simulator_.run(nodes_);
    simulator_.keep();
    score.excess = beyond(memory_);
    return score;
  }
  void put(UnitId unit, DeviceId to) {
    for (std::size_t i = first_[at(unit)]; i < first_[at(unit) + 1]; ++i) {
      nodes_[at(members_[i])] = to;
    }
  }
  std::vector<double> summed(const std::vector<DeviceId>& units) const {
    std::vector<double> memory(caps_.size(), 0);
    for (UnitId unit = 0; unit < units_.size(); ++unit) {
      memory[at(units[at(unit)])] += units_.memory(unit);
    }
    return memory;
  }
  double beyond(const std::vector<double>& memory) const {
    double excess = 0;
    for (std::size_t d = 0; d < memory.size(); ++d) {
      if (memory[d] <= caps_[d]) continue;
      excess += caps_[d] > 0 ? (memory[d] - caps_[d]) / caps_[d] : memory[d];
    }
    return excess;
  }
  // Sums of whole bytes are the same in any order; others are made anew.
  double excess(const std::vector<DeviceId>& units) {
    if (!whole_bytes_) return beyond(summed(units));
    changed_memory_ = memory_;
    for (const auto& [unit, to] : moves_) {
      changed_memory_[at(kept_[at(unit)])] -= units_.memory(unit);
      changed_memory_[at(to)] += units_.memory(unit);
    }
    return beyond(changed_memory_);
  }

  const Units& units_;
  Simulator simulator_;
  std::vector<double> caps_;
  std::vector<std::size_t> first_;  // of each unit, in `members_`
  std::vector<NodeId> members_;
  bool whole_bytes_ = true;
  std::vector<DeviceId> kept_;   // of each unit
  std::vector<DeviceId> nodes_;  // likewise of each node
  std::vector<double> memory_, changed_memory_;
  std::vector<std::pair<UnitId, DeviceId>> moves_;  // of what was scored last
  std::vector<NodeId> nodes_changed_;
  std::vector<UnitId> changed_;
};

}  // namespace

std::unique_ptr<CostModel> step_model(const Graph& graph, const Cluster& cluster,
                                      const Units& units, const StepSetting& setting) {
  if (setting.links == StepLinks::kRouted) {
    return std::make_unique<StepModel<RoutedSimulator>>(graph, cluster, units, setting);
  }
  return std::make_unique<StepModel<StepSimulator>>(graph, cluster, units, setting);
}

}  // namespace optile::placement
