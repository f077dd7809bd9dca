#include "placement/policy/gdp.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_map>

#include "placement/policy/learning.h"
#include "placement/policy/tape.h"

namespace optile::placement::policy {
namespace {

constexpr int kGdpMostUnits = 1024;
constexpr int kInputs = Task::kPlace;  // the features before a unit's place in the order
constexpr int kGdpWidth = 32;
constexpr int kGraphLayers = 3;
constexpr int kPlacerLayers = 2;
constexpr int kSegment = 64;    // units
constexpr int kGdpSamples = 8;  // placements asked for between two updates
constexpr int kEpochs = 3;      // steps of the parameters in an update
constexpr double kClip = 0.2;
constexpr double kInvalid = -10;  // the reward, as the paper has it
constexpr double kGdpRate = 2e-3;
constexpr double kGdpLongestGradient = 1;
constexpr double kGdpEntropyPrice = 0.1;  // at the start; it falls to nothing

class Gdp : public Policy {
 public:
  Gdp(int devices, std::uint64_t seed) : devices_(devices) {
    Random random(seed);
    const auto layer = [&](const std::string& name, int from, int to) {
      const int weights = parameters_.add_weights(name + ".weights", from, to, random);
      parameters_.add_constant(name + ".bias", 1, to, 0);
      return weights;
    };
    input_ = layer("input", kInputs, kGdpWidth);
    for (int i = 0; i < kGraphLayers; ++i) {
      const std::string name = "graph" + std::to_string(i);
      graph_.push_back({layer(name + ".message", kGdpWidth, kGdpWidth),
                        layer(name + ".update", 2 * kGdpWidth, kGdpWidth)});
    }
    for (int i = 0; i < kPlacerLayers; ++i) {
      const std::string name = "placer" + std::to_string(i);
      PlacerLayer made;
      made.condition = layer(name + ".condition", kGdpWidth, kGdpWidth);
      made.query = layer(name + ".query", kGdpWidth, kGdpWidth);
      made.key = layer(name + ".key", kGdpWidth, kGdpWidth);
      made.value = layer(name + ".value", kGdpWidth, kGdpWidth);
      made.mix = layer(name + ".mix", kGdpWidth, kGdpWidth);
      made.widen = layer(name + ".widen", kGdpWidth, 2 * kGdpWidth);
      made.narrow = layer(name + ".narrow", 2 * kGdpWidth, kGdpWidth);
      placer_.push_back(made);
    }
    output_ = layer("output", kGdpWidth, devices);
  }

  int most_groups() const override { return kGdpMostUnits; }

  void learn(Task& task, double used, Random& random, Budget& budget) override {
    Known& known = known_of(task);
    const Matrix old = tape_.value(forward(known));
    std::vector<Sample> samples;
    for (int i = 0; i < kGdpSamples && !budget.spent_now(); ++i) {
      samples.push_back(drawn_sample(task, old, random, budget));
      samples.back().advantage = known.baseline.advantage(samples.back().advantage);
    }
    for (int epoch = 0; epoch < kEpochs && !samples.empty(); ++epoch) {
      if (budget.spent_now()) return;
      improve(known, old, samples, kGdpEntropyPrice * (1 - used));
    }
  }

  void answer(Task& task, bool drawn, Random& random, Budget& budget) override {
    const Matrix logs = tape_.value(forward(known_of(task)));
    if (drawn) {
      drawn_sample(task, logs, random, budget);
      return;
    }
    std::vector<DeviceId> devices(task.order().size());
    for (std::size_t i = 0; i < devices.size(); ++i) {
      devices[static_cast<std::size_t>(task.order()[i])] =
          likeliest_of(logs, static_cast<Eigen::Index>(i));
    }
    task.ask(devices, budget);
  }

 private:
  struct GraphLayer {
    int message, update;
  };
  struct PlacerLayer {
    int condition, query, key, value, mix, widen, narrow;
  };
  struct Known {
    Matrix inputs;
    Matrix mask;  // in the task's order
    RowLists neighbours;
    RowLists order;  // each row's unit
    RunningBaseline baseline;
  };
  struct Sample {
    std::vector<int> devices;  // in the task's order
    double advantage = 0;      // the reward, until the baseline is known
  };

  Known& known_of(const Task& task) {
    const auto [found, fresh] = known_.try_emplace(&task);
    Known& known = found->second;
    if (!fresh) return known;
    known.inputs = task.features().leftCols(kInputs);
    known.mask = task.mask()(task.order(), Eigen::all);
    known.neighbours = task.neighbours();
    for (const UnitId unit : task.order()) known.order.add({&unit, 1});
    return known;
  }

  Tape::Var linear(Tape::Var from, int layer) { return tape_.linear(from, layer, layer + 1); }

  // The logarithms of the devices' probabilities, a row for each unit in the task's order.
  Tape::Var forward(const Known& known) {
    tape_.reset();
    Tape::Var at = tape_.tanh(linear(tape_.constant(known.inputs), input_));
    for (const GraphLayer& layer : graph_) {
      const Tape::Var heard =
          tape_.maximum(tape_.sigmoid(linear(at, layer.message)), known.neighbours);
      at = tape_.tanh(linear(tape_.beside(at, heard), layer.update));
    }
    const Tape::Var graph = tape_.mean_of_all(at);
    at = tape_.mean(at, known.order);
    const auto units = static_cast<int>(known.mask.rows());
    std::vector<Tape::Var> before(placer_.size(), -1);  // each layer's input of the last segment
    Tape::Var scores = -1;
    for (int first = 0; first < units; first += kSegment) {
      Tape::Var part = tape_.rows(at, first, std::min(kSegment, units - first));
      for (std::size_t i = 0; i < placer_.size(); ++i) {
        const Tape::Var input = part;
        part = attended(placer_[i], graph, part, before[i]);
        before[i] = input;
      }
      const Tape::Var made = linear(part, output_);
      scores = first == 0 ? made : tape_.above(scores, made);
    }
    return tape_.log_softmax(tape_.sum(scores, tape_.constant(known.mask)));
  }

  // One layer of the placer over a segment. Gradients do not go into the segment before.
  Tape::Var attended(const PlacerLayer& layer, Tape::Var graph, Tape::Var part, Tape::Var before) {
    const Tape::Var condition = tape_.scaled(tape_.sigmoid(linear(graph, layer.condition)), 2);
    const Tape::Var at = tape_.times_row(part, condition);
    Tape::Var seen = at;
    if (before >= 0) {
      memory_ = tape_.value(before);
      seen = tape_.above(tape_.constant(memory_), at);
    }
    const Tape::Var likeness =
        tape_.scaled(tape_.product_transposed(linear(at, layer.query), linear(seen, layer.key)),
                     1 / std::sqrt(static_cast<double>(kGdpWidth)));
    const Tape::Var heard = tape_.product(tape_.softmax(likeness), linear(seen, layer.value));
    const Tape::Var mixed = tape_.sum(at, linear(heard, layer.mix));
    const Tape::Var wide = tape_.relu(linear(mixed, layer.widen));
    return tape_.tanh(tape_.sum(mixed, linear(wide, layer.narrow)));
  }

  Sample drawn_sample(Task& task, const Matrix& logs, Random& random, Budget& budget) {
    Sample sample;
    std::vector<DeviceId> devices(task.order().size());
    for (std::size_t i = 0; i < devices.size(); ++i) {
      const int device = drawn_from(logs, static_cast<Eigen::Index>(i), random);
      sample.devices.push_back(device);
      devices[static_cast<std::size_t>(task.order()[i])] = device;
    }
    const double cost = task.ask(devices, budget);
    sample.advantage = task.fits() ? -std::sqrt(cost) : kInvalid;
    return sample;
  }

  // PPO's clipped objective (Schulman et al., equation 7), each unit's device an action of its own.
  void improve(const Known& known, const Matrix& old, const std::vector<Sample>& samples,
               double entropy_price) {
    const Tape::Var now = forward(known);
    const Matrix& logs = tape_.value(now);
    gradient_.setZero(logs.rows(), logs.cols());
    for (const Sample& sample : samples) {
      for (Eigen::Index i = 0; i < logs.rows(); ++i) {
        const int device = sample.devices[static_cast<std::size_t>(i)];
        const double ratio = std::exp(logs(i, device) - old(i, device));
        const bool clipped = sample.advantage > 0 ? ratio > 1 + kClip : ratio < 1 - kClip;
        add_policy_gradient(logs, i, device, clipped ? 0 : ratio * sample.advantage, entropy_price,
                            gradient_);
      }
    }
    gradient_ /= static_cast<double>(logs.rows()) * static_cast<double>(samples.size());
    tape_.set_gradient(now, gradient_);
    tape_.backward();
    parameters_.step(kGdpRate, kGdpLongestGradient);
  }

  int devices_;
  int input_ = 0;
  int output_ = 0;
  std::vector<GraphLayer> graph_;
  std::vector<PlacerLayer> placer_;
  Tape tape_{parameters_};
  Matrix gradient_, memory_;
  std::unordered_map<const Task*, Known> known_;
};

}  // namespace

std::unique_ptr<Policy> make_gdp(int devices, std::uint64_t seed) {
  return std::make_unique<Gdp>(devices, seed);
}

}  // namespace optile::placement::policy
