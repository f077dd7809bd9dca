// layer_search NETWORK DEVICES METHOD REPETITIONS: how long it takes to build the problem of
// splitting a network's layers, and to solve it; of each the least of the repetitions. METHOD is
// optcnn, elimination or auto; none only builds, so that instructions of the two can be told apart
// by a counting tool.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "placement/layers/layer_strategies.h"
#include "placement/strategy/solver.h"

namespace {

using namespace optile::placement;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

optile::base::Result<LayerStrategies> build(const std::string& network, int devices) {
  TrainingSetting setting;
  setting.devices = devices;
  auto graph = published_network(network, setting.samples());
  if (!graph.ok()) return graph.error();
  return strategies_of(std::move(graph).value(), setting);
}

int complain(const std::string& what) {
  std::fprintf(stderr, "layer_search: %s\n", what.c_str());
  return 2;
}

}  // namespace

int main(int count, char** words) {
  if (count != 5) return complain("NETWORK DEVICES METHOD REPETITIONS are expected");
  const bool only_build = std::string_view(words[3]) == "none";
  const auto method = choice_of<StrategyMethod>(words[3]);
  if (!only_build && !method) return complain("METHOD is auto, elimination, bound, optcnn or none");
  double building = 1e9;
  double solving = 1e9;
  double cost = 0;
  const int repetitions = std::max(1, std::atoi(words[4]));
  for (int i = 0; i < repetitions; ++i) {
    Clock::time_point start = Clock::now();
    const auto strategies = build(words[1], std::atoi(words[2]));
    if (!strategies.ok()) return complain(strategies.message());
    building = std::min(building, seconds_since(start));
    if (only_build) continue;
    start = Clock::now();
    Budget budget;
    const auto answer = solve_strategy(strategies.value().problem, {.method = *method}, budget);
    if (!answer.ok()) return complain(answer.message());
    solving = std::min(solving, seconds_since(start));
    cost = answer.value().cost;
  }
  std::printf("%s on %s devices: built in %.3f ms", words[1], words[2], building * 1e3);
  if (!only_build) std::printf(", %s in %.3f ms, %.0f ns", words[3], solving * 1e3, cost);
  std::printf("\n");
  return 0;
}
