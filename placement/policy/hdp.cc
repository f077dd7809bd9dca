#include "placement/policy/hdp.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "placement/policy/learning.h"
#include "placement/policy/recurrent_placer.h"

namespace optile::placement::policy {
namespace {

constexpr int kHdpMostUnits = 1024;
constexpr int kGroups = 32;
constexpr int kHdpHidden = 32;
constexpr int kHdpSamples = 4;  // between two steps of the parameters
constexpr double kHdpRate = 5e-3;
constexpr double kHdpLongestGradient = 1;
constexpr double kHdpEntropyPrice = 0.05;  // at the start; it falls to nothing

// Of a group: the means of its units' features, the part of all units that it has, and how much of
// what its units read and send comes from and goes to each group.
constexpr int kGroupFeatures = kNeighbourFeatures + 1 + kGroups;

class Hdp : public Policy {
 public:
  Hdp(int devices, std::uint64_t seed)
      : random_(seed), placer_(parameters_, kGroupFeatures, devices, random_) {
    hidden_ = parameters_.add_weights("grouper.hidden", kNeighbourFeatures, kHdpHidden, random_);
    parameters_.add_constant("grouper.hidden.bias", 1, kHdpHidden, 0);
    groups_ = parameters_.add_weights("grouper.groups", kHdpHidden, kGroups, random_);
    parameters_.add_constant("grouper.groups.bias", 1, kGroups, 0);
  }

  int most_groups() const override { return kHdpMostUnits; }

  void learn(Task& task, double used, Random& random, Budget& budget) override {
    Known& known = known_of(task);
    const double price = kHdpEntropyPrice * (1 - used);
    for (int sample = 0; sample < kHdpSamples && !budget.spent_now(); ++sample) {
      const Tape::Var grouping = tried(task, known, &random, budget);
      const double advantage = known.baseline.advantage(-std::sqrt(cost_));
      const Matrix& logs = tape_.value(grouping);
      gradient_.setZero(logs.rows(), logs.cols());
      for (Eigen::Index unit = 0; unit < logs.rows(); ++unit) {
        add_policy_gradient(logs, unit, group_of_[static_cast<std::size_t>(unit)], advantage, price,
                            gradient_);
      }
      gradient_ /= static_cast<double>(kHdpSamples) * static_cast<double>(logs.rows());
      tape_.set_gradient(grouping, gradient_);
      placer_.set_gradients(tape_, decoded_, advantage, price,
                            static_cast<double>(kHdpSamples * kGroups));
      tape_.backward();
    }
    parameters_.step(kHdpRate, kHdpLongestGradient);
  }

  void answer(Task& task, bool drawn, Random& random, Budget& budget) override {
    tried(task, known_of(task), drawn ? &random : nullptr, budget);
  }

 private:
  struct Known {
    Matrix inputs;
    RunningBaseline baseline;
  };

  Known& known_of(const Task& task) {
    const auto [found, fresh] = known_.try_emplace(&task);
    if (fresh) found->second.inputs = neighbour_features(task);
    return found->second;
  }

  // Leaves the way to the placement on the tape; the logarithms of the grouper's probabilities.
  Tape::Var tried(Task& task, const Known& known, Random* random, Budget& budget) {
    tape_.reset();
    const Tape::Var inputs = tape_.constant(known.inputs);
    const Tape::Var hidden = tape_.relu(tape_.linear(inputs, hidden_, hidden_ + 1));
    const Tape::Var grouping = tape_.log_softmax(tape_.linear(hidden, groups_, groups_ + 1));
    group_of_.clear();
    for (Eigen::Index unit = 0; unit < task.groups(); ++unit) {
      const Matrix& logs = tape_.value(grouping);
      group_of_.push_back(random != nullptr ? drawn_from(logs, unit, *random)
                                            : likeliest_of(logs, unit));
    }
    find_group_inputs(task, known);
    placer_.decode(tape_, tape_.constant(group_inputs_), group_mask_, random, decoded_);
    devices_.resize(group_of_.size());
    for (std::size_t unit = 0; unit < devices_.size(); ++unit) {
      const auto group = static_cast<std::size_t>(group_of_[unit]);
      devices_[unit] = task.runnable(static_cast<UnitId>(unit), decoded_.devices[group]);
    }
    cost_ = task.ask(devices_, budget);
    return grouping;
  }

  void find_group_inputs(const Task& task, const Known& known) {
    group_inputs_.setZero(kGroups, kGroupFeatures);
    group_mask_.setZero(kGroups, task.devices());
    constexpr int kExchanged = kNeighbourFeatures + 1;
    for (UnitId unit = 0; unit < task.groups(); ++unit) {
      const int group = group_of_[static_cast<std::size_t>(unit)];
      group_inputs_.row(group).leftCols(kNeighbourFeatures) += known.inputs.row(unit);
      group_inputs_(group, kNeighbourFeatures) += 1;
      const double transfer = task.features()(unit, Task::kTransfer);
      for (const UnitId reader : task.readers().of(unit)) {
        const int other = group_of_[static_cast<std::size_t>(reader)];
        group_inputs_(group, kExchanged + other) += transfer;
        group_inputs_(other, kExchanged + group) += transfer;
      }
    }
    for (int group = 0; group < kGroups; ++group) {
      auto row = group_inputs_.row(group);
      const double members = row(kNeighbourFeatures);
      if (members == 0) continue;
      row.leftCols(kNeighbourFeatures) /= members;
      row(kNeighbourFeatures) = members / task.groups();
      row.rightCols(kGroups) /= std::max(row.rightCols(kGroups).sum(), 1.0);
    }
  }

  Random random_;
  RecurrentPlacer placer_;
  int hidden_ = 0;
  int groups_ = 0;
  Tape tape_{parameters_};
  Decoded decoded_;
  std::vector<int> group_of_;
  Matrix group_inputs_, group_mask_, gradient_;
  std::vector<DeviceId> devices_;
  double cost_ = 0;
  std::unordered_map<const Task*, Known> known_;
};

}  // namespace

std::unique_ptr<Policy> make_hdp(int devices, std::uint64_t seed) {
  return std::make_unique<Hdp>(devices, seed);
}

}  // namespace optile::placement::policy
