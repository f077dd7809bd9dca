// step_moves GRAPH LINKS DEVICES MOVES HOW REPETITIONS: how many moves a second are simulated.
// LINKS is edge, bus or routed (one switch, 7.6 GB/s and 25 us). From all nodes on one device,
// single nodes and pairs of them go elsewhere; what is better is kept, and so is a little of what
// is worse. HOW is moves, which simulates from checkpoints, or beginning. Both do the same moves
// and end at the same cost. Prints the median of the repetitions, their range, and how many of a
// step's nodes were simulated for a move.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "placement/import/importer.h"
#include "placement/random.h"
#include "placement/step/routed_simulator.h"
#include "placement/step/step_simulator.h"

namespace {

using namespace optile::placement;
using Clock = std::chrono::steady_clock;

struct Walked {
  double seconds = 0;
  double cost = 0;
  double simulated = 0;  // nodes a move
};

template <typename Simulator>
Walked walk(const Graph& graph, const Cluster& cluster, const StepSetting& setting, int moves,
            bool from_checkpoints) {
  Simulator simulator(graph, cluster, setting);
  std::vector<DeviceId> nodes(static_cast<std::size_t>(graph.size()), 0);
  double current = simulator.run(nodes);
  if (from_checkpoints) simulator.keep();
  const std::uint64_t before = simulator.simulated();
  Random random(1);
  const Clock::time_point start = Clock::now();
  for (int move = 0; move < moves; ++move) {
    std::vector<std::pair<NodeId, DeviceId>> undo;
    std::vector<NodeId> changed;
    for (int i = random.below(4) == 0 ? 2 : 1; i > 0; --i) {
      const NodeId id = random.below(graph.size());
      if (!changed.empty() && changed.front() == id) continue;
      DeviceId& device = nodes[static_cast<std::size_t>(id)];
      undo.emplace_back(id, device);
      changed.push_back(id);
      device = random.below(cluster.size());
    }
    const double cost = simulator.run_changed(nodes, changed);
    const double worse = 1 + 1e-3 * random.unit() * (moves - move) / moves;
    if (cost <= current * worse) {
      current = cost;
      if (from_checkpoints) simulator.keep();
      continue;
    }
    for (const auto& [id, device] : undo) nodes[static_cast<std::size_t>(id)] = device;
  }
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  return {seconds, current, static_cast<double>(simulator.simulated() - before) / moves};
}

int complain(const std::string& what) {
  std::fprintf(stderr, "step_moves: %s\n", what.c_str());
  return 2;
}

}  // namespace

int main(int count, char** words) {
  if (count != 7) return complain("GRAPH LINKS DEVICES MOVES HOW REPETITIONS are expected");
  const auto text = read_whole_file(words[1]);
  if (!text.ok()) return complain(text.message());
  const auto model = read_model(text.value());
  if (!model.ok()) return complain(model.message());
  StepSetting setting;
  Cluster cluster = Cluster::uniform(std::max(1, std::atoi(words[3])), 0, 1e18);
  cluster.latency_ms = 0.002;
  const bool routed = std::string(words[2]) == "routed";
  if (routed || std::string(words[2]) == "bus") {
    setting = {routed ? StepLinks::kRouted : StepLinks::kBus, 0.0057, 1};
    cluster.bytes_per_ms = 7.6e6;
    cluster.latency_ms = 0.025;
  } else if (std::string(words[2]) != "edge") {
    return complain("LINKS is edge, bus or routed");
  }
  const int moves = std::max(1, std::atoi(words[4]));
  const std::string how = words[5];
  if (how != "moves" && how != "beginning") return complain("HOW is moves or beginning");
  std::vector<double> speeds;
  Walked walked;
  for (int i = 0; i < std::max(1, std::atoi(words[6])); ++i) {
    const auto way = routed ? walk<RoutedSimulator> : walk<StepSimulator>;
    walked = way(model.value().graph, cluster, setting, moves, how == "moves");
    speeds.push_back(moves / walked.seconds);
  }
  std::sort(speeds.begin(), speeds.end());
  std::printf("%d nodes, %s, %s: %.0f moves a second (%.0f to %.0f), %.1f nodes a move, %.6f ms\n",
              model.value().graph.size(), words[2], words[5], speeds[speeds.size() / 2],
              speeds.front(), speeds.back(), walked.simulated, walked.cost);
  return 0;
}
