#include "bindings/cli/graph/step_assembly.h"

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

namespace optile::cli {
namespace {

constexpr int kVersionWithOps = 2;
constexpr const char* kFormat = "optile fx graph";

// Seconds by width: between measured widths on a line, beyond them as at the last.
std::vector<double> completed(const SecondsByWidth& known, int cores) {
  std::vector<double> found;
  for (int width = 1; width <= cores; ++width) {
    const auto above = known.lower_bound(width);
    if (above == known.begin() || (above != known.end() && above->first == width)) {
      found.push_back(above->second);
    } else if (above == known.end()) {
      found.push_back(std::prev(above)->second);
    } else {
      const auto below = std::prev(above);
      const double share =
          static_cast<double>(width - below->first) / (above->first - below->first);
      found.push_back(below->second + share * (above->second - below->second));
    }
  }
  return found;
}

// On one tile of all cores one thread is spread, and all other widths are compact.
perfmodel::ConfigurationTimes on_one_tile(const std::vector<double>& seconds) {
  perfmodel::ConfigurationTimes times;
  times.spread = {seconds.front()};
  times.compact = seconds;
  times.compact.front() = perfmodel::kInfinity;
  return times;
}

// A node of the model's graph while its ops are added.
struct ModelNode {
  std::string name;
  std::vector<std::size_t> inputs;
  std::vector<std::size_t> users;
  double output_bytes = 0;
  std::int64_t colour = -1;
  std::vector<Json> forward;
  std::vector<Json> backward;
  std::vector<int> forward_ends;   // ops whose results its users read
  std::vector<int> backward_ends;  // ops that its inputs' gradients come from
};

class Assembly {
 public:
  Assembly(const OpMeasurements& measured, int cores) : measured_(measured), cores_(cores) {}

  AssembledStep run(const Json& model) {
    read(model);
    step_.graph.name = text_of(model, "name");
    step_.graph.machine = "l3:1 core:" + std::to_string(cores_) + " pu:1";
    for (std::size_t i = 0; i < nodes_.size(); ++i) add_forward(i);
    for (std::size_t i = nodes_.size(); i-- > 0;) add_backward(i);
    return std::move(step_);
  }

 private:
  void read(const Json& model) {
    std::map<std::string, std::size_t> ids;
    for (const Json& one : model.at("nodes")) {
      ModelNode node;
      node.name = one.at("name").get<std::string>();
      node.output_bytes = number_of(one, "output_bytes");
      node.colour = one.value("colour", std::int64_t{-1});
      for (const Json& input : one.at("inputs")) {
        const std::size_t found = ids.at(input.get<std::string>());
        node.inputs.push_back(found);
        nodes_[found].users.push_back(nodes_.size());
      }
      for (const Json& op : list_of(one, "ops")) {
        (text_of(op, "pass") == "backward" ? node.backward : node.forward).push_back(op);
      }
      ids.emplace(node.name, nodes_.size());
      nodes_.push_back(std::move(node));
    }
  }

  void add_forward(std::size_t at) {
    ModelNode& node = nodes_[at];
    std::vector<int> behind;
    for (const std::size_t input : node.inputs) add_to(behind, nodes_[input].forward_ends);
    node.forward_ends = add_ops(at, node.forward, behind, node.output_bytes, false);
  }

  // Behind the gradients of all who read its result, and of the last node behind the loss.
  void add_backward(std::size_t at) {
    ModelNode& node = nodes_[at];
    std::vector<int> behind;
    for (const std::size_t user : node.users) add_to(behind, nodes_[user].backward_ends);
    double gradients = 0;
    for (const std::size_t input : node.inputs) gradients += nodes_[input].output_bytes;
    if (node.backward.empty()) {
      node.backward_ends = std::move(behind);
      return;
    }
    add_to(behind, node.forward_ends);
    node.backward_ends = add_ops(at, node.backward, behind, gradients, true);
  }

  static void add_to(std::vector<int>& all, const std::vector<int>& more) {
    for (const int one : more) {
      if (std::find(all.begin(), all.end(), one) == all.end()) all.push_back(one);
    }
  }

  // One after the other; what is behind them waits for the last one, or without ops for `behind`.
  std::vector<int> add_ops(std::size_t at, const std::vector<Json>& ops, std::vector<int> behind,
                           double bytes, bool backward) {
    for (const Json& op : ops) {
      perfmodel::OpNode node;
      node.instance = instance_of(op, bytes, backward);
      node.inputs = std::move(behind);
      node.name = nodes_[at].name;
      // A node's backward pass runs where its forward pass has.
      node.colour = nodes_[at].colour >= 0 ? static_cast<int>(nodes_[at].colour)
                                           : static_cast<int>(kFirstColour + at);
      behind = {static_cast<int>(step_.graph.nodes.size())};
      step_.graph.nodes.push_back(std::move(node));
    }
    return behind;
  }

  int instance_of(const Json& op, double bytes, bool backward) {
    const std::string name = op.at("op").get<std::string>();
    const std::string shape = text_of(op, "shape");
    const auto known = measured_(name, shape, backward);
    const double estimate = std::max(number_of(op, "ms") / 1e3, 1e-9);
    perfmodel::OpInstance instance;
    instance.op = name;
    instance.shape = shape;
    instance.output_bytes = bytes;
    instance.backward = backward;
    instance.estimated = !known;
    instance.tunable = known && known->size() > 1;
    instance.times = on_one_tile(completed(known.value_or(SecondsByWidth{{1, estimate}}), cores_));
    double fastest = instance.times.spread.front();
    for (const double one : instance.times.compact) fastest = std::min(fastest, one);
    ++step_.ops;
    step_.seconds += fastest;
    if (known) {
      ++step_.matched;
      step_.matched_seconds += fastest;
    }
    // An estimate is of one place; what was measured is of all places of an op.
    const auto key = std::make_tuple(name, shape, backward, bytes, known ? 0 : estimate);
    const auto [found, added] =
        instances_.try_emplace(key, static_cast<int>(step_.graph.instances.size()));
    if (added) step_.graph.instances.push_back(std::move(instance));
    return found->second;
  }

  static constexpr std::size_t kFirstColour = std::size_t{1} << 20;  // behind those of the file

  const OpMeasurements& measured_;
  int cores_;
  AssembledStep step_;
  std::vector<ModelNode> nodes_;
  std::map<std::tuple<std::string, std::string, bool, double, double>, int> instances_;
};

}  // namespace

base::Result<AssembledStep> assemble_step(const Json& model, const OpMeasurements& measured,
                                          int cores) try {
  if (!model.is_object() || text_of(model, "format") != kFormat ||
      model.at("version") != kVersionWithOps) {
    return base::invalid(
        "it is no graph with ops: optile.step_ops.save(FILE, model, example) writes one");
  }
  AssembledStep step = Assembly(measured, std::max(1, cores)).run(model);
  if (step.ops == 0) return base::invalid("there are no ops in it");
  return step;
} catch (const Json::exception& error) {
  return base::invalid("a field is missing or of another kind: " + std::string(error.what()));
} catch (const std::out_of_range&) {
  return base::invalid("a node's input is no node before it");
}

}  // namespace optile::cli
