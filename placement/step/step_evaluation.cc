// What an answer says of a placement in a step: one simulation from the beginning.

#include "base/at.h"
#include "placement/infinity.h"
#include "placement/step/routed_simulator.h"
#include "placement/step/step.h"
#include "placement/step/step_simulator.h"

namespace optile::placement {
namespace {

using base::at;

// Whether the caps hold and everything can run where it is.
void check(const Graph& graph, const Cluster& cluster, const std::vector<DeviceId>& assignment,
           StepFigures& figures) {
  for (NodeId id = 0; id < graph.size(); ++id) {
    const DeviceId d = assignment[at(id)];
    figures.memory[at(d)] += graph.node(id).memory_bytes;
    if (cluster.time_ms(graph.node(id), d) < kInfinity) continue;
    figures.cost = kInfinity;
    figures.violation = "a node is on a device that cannot run it";
  }
  for (std::size_t d = 0; d < figures.memory.size() && figures.violation.empty(); ++d) {
    if (figures.memory[d] > cluster.devices[d].memory_bytes) {
      figures.violation = cluster.devices[d].name + " would need " +
                          std::to_string(figures.memory[d] / 1e9) + " GB of memory and has " +
                          std::to_string(cluster.devices[d].memory_bytes / 1e9);
    }
  }
  figures.feasible = figures.violation.empty();
}

template <typename Simulator>
void simulate(const Graph& graph, const Cluster& cluster, const StepSetting& setting,
              const std::vector<DeviceId>& assignment, StepFigures& figures) {
  Simulator simulator(graph, cluster, setting);
  figures.cost = simulator.run(assignment);
  simulator.keep();
  figures.start = simulator.starts();
  figures.order = simulator.order();
  const StepTimes& times = simulator.times();
  std::vector<Ticks> busy(cluster.devices.size(), 0);
  for (NodeId id = 0; id < graph.size(); ++id) {
    const DeviceId d = assignment[at(id)];
    busy[at(d)] += setting.micro_batches * times.time(id, d);
  }
  for (std::size_t d = 0; d < busy.size(); ++d) figures.load[d] = times.ms(busy[d]);
}

}  // namespace

StepFigures evaluate_step(const Graph& graph, const Cluster& cluster, const StepSetting& setting,
                          const std::vector<DeviceId>& assignment) {
  StepFigures figures;
  figures.load.assign(at(cluster.size()), 0);
  figures.memory.assign(at(cluster.size()), 0);
  check(graph, cluster, assignment, figures);
  if (!(figures.cost < kInfinity)) return figures;
  if (setting.links == StepLinks::kRouted) {
    simulate<RoutedSimulator>(graph, cluster, setting, assignment, figures);
  } else {
    simulate<StepSimulator>(graph, cluster, setting, assignment, figures);
  }
  return figures;
}

}  // namespace optile::placement
