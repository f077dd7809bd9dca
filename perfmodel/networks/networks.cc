#include "perfmodel/networks/networks.h"

#include <algorithm>
#include <map>
#include <utility>

#include "perfmodel/networks/dcgan.h"
#include "perfmodel/networks/fitted_laws.h"
#include "perfmodel/networks/inception_v3.h"
#include "perfmodel/networks/lstm.h"
#include "perfmodel/networks/resnet50.h"
#include "perfmodel/synthetic/op_law.h"

namespace optile::perfmodel {
namespace {

using networks::FittedOp;
using networks::FrameworkOp;

// Of a Xeon Phi 7250's on-package memory as a cache, by STREAM as published.
constexpr double kMemoryBytesPerSecond = 340e9;

struct Network {
  const char* name;
  networks::Tape (*record)();
};

const std::vector<Network>& all() {
  static const std::vector<Network> networks{
      {"resnet50", [] { return networks::resnet50(); }},
      {"dcgan", [] { return networks::dcgan(); }},
      {"inception_v3", [] { return networks::inception_v3(); }},
      {"lstm", [] { return networks::lstm(); }}};
  return networks;
}

double work_of(const FrameworkOp& op, const FittedOp& fit) {
  return fit.unit == networks::WorkUnit::kFlops ? op.flops : op.bytes;
}

double seconds_at_68(const FrameworkOp& op, const FittedOp& fit) {
  return networks::kDispatchSeconds + fit.seconds_per_unit * work_of(op, fit);
}

// Builds instances as their ops come by.
class Instances {
 public:
  Instances(const std::string& network, const Machine& machine)
      : network_(network), machine_(machine) {}

  int of(const FrameworkOp& op, StepGraph* graph) {
    const auto [found, is_new] =
        known_.emplace(std::pair(op.op, op.shape), static_cast<int>(graph->instances.size()));
    if (is_new) {
      graph->instances.push_back(network_instance(network_, op, machine_));
    }
    return found->second;
  }

 private:
  const std::string& network_;
  const Machine& machine_;
  std::map<std::pair<std::string, std::string>, int> known_;
};

}  // namespace

std::vector<std::string> network_names() {
  std::vector<std::string> names;
  for (const Network& network : all()) names.emplace_back(network.name);
  return names;
}

base::Result<std::vector<FrameworkOp>> network_ops(const std::string& name) {
  std::string known;
  for (const Network& network : all()) {
    if (name == network.name) return networks::framework_ops(network.record());
    known += (known.empty() ? "" : ", ") + std::string(network.name);
  }
  return base::Error{base::ErrorKind::kNotFound,
                     "there is no network \"" + name + "\"; known: " + known};
}

OpInstance network_instance(const std::string& network, const FrameworkOp& op,
                            const Machine& machine) {
  OpInstance instance;
  instance.op = op.op;
  instance.shape = op.shape;
  const FittedOp* fit = op.bytes > 0 ? networks::fitted_op(network, op.op) : nullptr;
  OpLaw law;
  law.serial = networks::kDispatchSeconds;
  if (fit != nullptr) {
    law = networks::fitted_law(*fit, seconds_at_68(op, *fit));
  }
  instance.times = law_times(law, machine);
  instance.tunable = fit != nullptr;
  instance.default_width = fit != nullptr ? 0 : 1;
  const double fastest = instance.times.at(instance.times.best());
  instance.memory_share = std::min(1.0, op.bytes / kMemoryBytesPerSecond / fastest);
  return instance;
}

base::Result<StepGraph> network_graph(const std::string& name, const Machine& machine) {
  const auto ops = network_ops(name);
  if (!ops.ok()) return ops.error();
  StepGraph graph;
  graph.name = name;
  graph.machine = machine.name;
  Instances instances(name, machine);
  for (const FrameworkOp& op : ops.value()) {
    graph.nodes.push_back({instances.of(op, &graph), op.inputs});
  }
  return graph;
}

}  // namespace optile::perfmodel
