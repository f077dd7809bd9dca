#include "placement/policy/placeto.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "placement/policy/learning.h"
#include "placement/policy/tape.h"

namespace optile::placement::policy {
namespace {

constexpr int kMostGroups = 64;
constexpr int kPlacetoWidth = 16;  // of an embedding
constexpr int kPlacetoHidden = 32;
constexpr int kRounds = 4;  // of messages
constexpr double kPlacetoRate = 2e-3;
constexpr double kPlacetoLongestGradient = 1;
constexpr double kDiscount = 0.97;
constexpr double kPlacetoEntropyPrice = 0.3;  // at the start; it falls to nothing

// Of each group: the groups before it, after it, and neither, each as a list of one row.
struct Reach {
  std::vector<RowLists> before, after, beside;
};

Reach reach_of(const Task& task) {
  const auto groups = static_cast<std::size_t>(task.groups());
  const auto reached = [&](UnitId from, const RowLists& next) {
    std::vector<bool> seen(groups);
    std::vector<UnitId> stack = {from};
    seen[static_cast<std::size_t>(from)] = true;
    while (!stack.empty()) {
      const UnitId at = stack.back();
      stack.pop_back();
      for (const UnitId to : next.of(at)) {
        if (seen[static_cast<std::size_t>(to)]) continue;
        seen[static_cast<std::size_t>(to)] = true;
        stack.push_back(to);
      }
    }
    return seen;
  };
  Reach reach;
  for (UnitId group = 0; group < task.groups(); ++group) {
    const std::vector<bool> before = reached(group, task.producers());
    const std::vector<bool> after = reached(group, task.readers());
    std::vector<UnitId> lists[3];
    for (UnitId other = 0; other < task.groups(); ++other) {
      if (other == group) continue;
      const auto at = static_cast<std::size_t>(other);
      if (before[at]) lists[0].push_back(other);
      if (after[at]) lists[1].push_back(other);
      if (!before[at] && !after[at]) lists[2].push_back(other);
    }
    std::vector<RowLists>* to[] = {&reach.before, &reach.after, &reach.beside};
    for (std::size_t i = 0; i < 3; ++i) to[i]->emplace_back().add(lists[i]);
  }
  return reach;
}

class Placeto : public Policy {
 public:
  Placeto(int devices, Rewards rewards, std::uint64_t seed) : devices_(devices), rewards_(rewards) {
    Random random(seed);
    const int inputs = Task::kFeatures + devices + 2;
    const auto layer = [&](const char* name, int from, int to) {
      const std::string text = name;
      const int weights = parameters_.add_weights(text + ".weights", from, to, random);
      parameters_.add_constant(text + ".bias", 1, to, 0);
      return weights;
    };
    input_ = layer("input", inputs, kPlacetoWidth);
    for (const char* way : {"down", "up"}) {
      messages_.push_back(
          layer((std::string(way) + ".message").c_str(), kPlacetoWidth, kPlacetoWidth));
      updates_.push_back(
          layer((std::string(way) + ".update").c_str(), kPlacetoWidth, kPlacetoWidth));
    }
    for (const char* pool : {"before", "after", "beside"}) {
      pools_.push_back(layer(pool, 2 * kPlacetoWidth, kPlacetoWidth));
    }
    hidden_ = layer("hidden", 5 * kPlacetoWidth, kPlacetoHidden);
    output_ = layer("output", kPlacetoHidden, devices);
  }

  int most_groups() const override { return kMostGroups; }

  void learn(Task& task, double used, Random& random, Budget& budget) override {
    Known& known = known_of(task);
    std::vector<DeviceId> at = task.start();
    std::vector<int> actions;
    std::vector<double> gains;
    double cost = task.ask(at, budget);
    for (std::size_t step = 0; step < task.order().size(); ++step) {
      if (budget.spent()) return;
      const Matrix& logs = tape_.value(forward(task, known.reach, at, step));
      const int action = drawn_from(logs, 0, random);
      DeviceId& device = at[static_cast<std::size_t>(task.order()[step])];
      const bool last = step + 1 == task.order().size();
      const bool asks = rewards_ == Rewards::kEnd ? last : device != action;
      device = action;
      const double now = asks ? task.ask(at, budget) : cost;
      actions.push_back(action);
      gains.push_back(cost - now);
      cost = now;
    }
    improve(task, known, actions, gains, kPlacetoEntropyPrice * (1 - used));
  }

  void answer(Task& task, bool drawn, Random& random, Budget& budget) override {
    Known& known = known_of(task);
    std::vector<DeviceId> at = task.start();
    for (std::size_t step = 0; step < task.order().size(); ++step) {
      const Matrix& logs = tape_.value(forward(task, known.reach, at, step));
      at[static_cast<std::size_t>(task.order()[step])] =
          drawn ? drawn_from(logs, 0, random) : likeliest_of(logs, 0);
    }
    task.ask(at, budget);
  }

 private:
  struct Known {
    Reach reach;
    std::vector<RunningBaseline> baselines;  // of each step
  };

  Known& known_of(const Task& task) {
    const auto [found, fresh] = known_.try_emplace(&task);
    if (fresh) {
      found->second.reach = reach_of(task);
      found->second.baselines.resize(task.order().size());
    }
    return found->second;
  }

  Tape::Var linear(Tape::Var from, int layer) { return tape_.linear(from, layer, layer + 1); }

  // Messages go along `lists`, in rounds.
  Tape::Var embedded(Tape::Var start, const RowLists& lists, std::size_t way) {
    Tape::Var at = start;
    for (int round = 0; round < kRounds; ++round) {
      const Tape::Var message = tape_.relu(linear(at, messages_[way]));
      const Tape::Var heard = tape_.tanh(linear(tape_.mean(message, lists), updates_[way]));
      at = tape_.sum(start, heard);
    }
    return at;
  }

  // The logarithms of the devices' probabilities for the group of this step, one row.
  Tape::Var forward(const Task& task, const Reach& reach, const std::vector<DeviceId>& at,
                    std::size_t step) {
    const UnitId group = task.order()[step];
    const auto here = static_cast<std::size_t>(group);
    inputs_.setZero(task.groups(), Task::kFeatures + devices_ + 2);
    inputs_.leftCols(Task::kFeatures) = task.features();
    for (UnitId one = 0; one < task.groups(); ++one) {
      inputs_(one, Task::kFeatures + at[static_cast<std::size_t>(one)]) = 1;
    }
    inputs_(group, Task::kFeatures + devices_) = 1;
    for (std::size_t i = 0; i < step; ++i) {
      inputs_(task.order()[i], Task::kFeatures + devices_ + 1) = 1;
    }
    tape_.reset();
    const Tape::Var start = tape_.tanh(linear(tape_.constant(inputs_), input_));
    const Tape::Var all =
        tape_.beside(embedded(start, task.producers(), 0), embedded(start, task.readers(), 1));
    Tape::Var seen = tape_.row(all, group);
    const RowLists* lists[] = {&reach.before[here], &reach.after[here], &reach.beside[here]};
    for (std::size_t i = 0; i < 3; ++i) {
      const Tape::Var pooled = tape_.mean(tape_.relu(linear(all, pools_[i])), *lists[i]);
      seen = tape_.beside(seen, pooled);
    }
    const Tape::Var hidden = tape_.tanh(linear(seen, hidden_));
    mask_ = task.mask().row(group);
    return tape_.log_softmax(tape_.sum(linear(hidden, output_), tape_.constant(mask_)));
  }

  void improve(const Task& task, Known& known, const std::vector<int>& actions,
               std::vector<double> gains, double entropy_price) {
    const std::size_t steps = actions.size();
    for (std::size_t step = steps - 1; step-- > 0;) gains[step] += kDiscount * gains[step + 1];
    std::vector<DeviceId> at = task.start();
    for (std::size_t step = 0; step < steps; ++step) {
      const double advantage = known.baselines[step].advantage(gains[step]);
      const Tape::Var logs = forward(task, known.reach, at, step);
      gradient_.setZero(1, devices_);
      add_policy_gradient(tape_.value(logs), 0, actions[step], advantage, entropy_price, gradient_);
      gradient_ /= static_cast<double>(steps);
      tape_.set_gradient(logs, gradient_);
      tape_.backward();
      at[static_cast<std::size_t>(task.order()[step])] = actions[step];
    }
    parameters_.step(kPlacetoRate, kPlacetoLongestGradient);
  }

  int devices_;
  Rewards rewards_;
  int input_ = 0;
  int hidden_ = 0;
  int output_ = 0;
  std::vector<int> messages_, updates_, pools_;
  Tape tape_{parameters_};
  Matrix inputs_, mask_, gradient_;
  std::unordered_map<const Task*, Known> known_;
};

}  // namespace

std::unique_ptr<Policy> make_placeto(int devices, Rewards rewards, std::uint64_t seed) {
  return std::make_unique<Placeto>(devices, rewards, seed);
}

}  // namespace optile::placement::policy
