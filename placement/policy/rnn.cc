#include "placement/policy/rnn.h"

#include <cmath>
#include <unordered_map>

#include "placement/policy/learning.h"
#include "placement/policy/recurrent_placer.h"

namespace optile::placement::policy {
namespace {

constexpr int kMostGroups = 64;
constexpr int kRnnSamples = 4;  // between two steps of the parameters
constexpr double kRnnRate = 5e-3;
constexpr double kRnnLongestGradient = 1;
constexpr double kRnnEntropyPrice = 0.05;  // at the start; it falls to nothing

class Rnn : public Policy {
 public:
  Rnn(int devices, std::uint64_t seed)
      : random_(seed), placer_(parameters_, kNeighbourFeatures, devices, random_) {}

  int most_groups() const override { return kMostGroups; }

  void learn(Task& task, double used, Random& random, Budget& budget) override {
    Known& known = known_of(task);
    const double price = kRnnEntropyPrice * (1 - used);
    for (int sample = 0; sample < kRnnSamples && !budget.spent_now(); ++sample) {
      const double cost = tried(task, known, &random, budget);
      const double advantage = known.baseline.advantage(-std::sqrt(cost));
      placer_.set_gradients(tape_, decoded_, advantage, price,
                            static_cast<double>(kRnnSamples * task.groups()));
      tape_.backward();
    }
    parameters_.step(kRnnRate, kRnnLongestGradient);
  }

  void answer(Task& task, bool drawn, Random& random, Budget& budget) override {
    tried(task, known_of(task), drawn ? &random : nullptr, budget);
  }

 private:
  struct Known {
    Matrix inputs, mask;  // in the task's order
    RunningBaseline baseline;
  };

  Known& known_of(const Task& task) {
    const auto [found, fresh] = known_.try_emplace(&task);
    if (fresh) {
      const Matrix inputs = neighbour_features(task);
      found->second.inputs = inputs(task.order(), Eigen::all);
      found->second.mask = task.mask()(task.order(), Eigen::all);
    }
    return found->second;
  }

  // Leaves the way to the placement on the tape.
  double tried(Task& task, const Known& known, Random* random, Budget& budget) {
    tape_.reset();
    placer_.decode(tape_, tape_.constant(known.inputs), known.mask, random, decoded_);
    devices_.assign(task.order().size(), 0);
    for (std::size_t i = 0; i < devices_.size(); ++i) {
      devices_[static_cast<std::size_t>(task.order()[i])] = decoded_.devices[i];
    }
    return task.ask(devices_, budget);
  }

  Random random_;
  RecurrentPlacer placer_;
  Tape tape_{parameters_};
  Decoded decoded_;
  std::vector<DeviceId> devices_;
  std::unordered_map<const Task*, Known> known_;
};

}  // namespace

std::unique_ptr<Policy> make_rnn(int devices, std::uint64_t seed) {
  return std::make_unique<Rnn>(devices, seed);
}

}  // namespace optile::placement::policy
