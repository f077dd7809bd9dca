// Step graphs for the tests of strategies and of the simulator.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "perfmodel/machine/built_in_machines.h"
#include "perfmodel/synthetic/step_graph.h"
#include "sched/cores/core_map.h"
#include "sched/simulation/step_simulator.h"

namespace optile::sched::step_graphs {

using perfmodel::ConfigurationTimes;
using perfmodel::OpInstance;
using perfmodel::StepGraph;

inline CoreMap map_of(const std::string& machine) {
  return make_core_map(perfmodel::make_machine_source(machine)->read().value()).value();
}

// The same time for all bindings of a width.
inline ConfigurationTimes times_by_width(const CoreMap& map,
                                         const std::function<double(int)>& seconds) {
  ConfigurationTimes times;
  for (const perfmodel::Configuration which : map.space.all())
    times.set(which, seconds(which.width));
  return times;
}

// A part that is divided, a part that is not, and a cost for every thread: has one minimum.
inline ConfigurationTimes convex_times(const CoreMap& map, double divided, double serial,
                                       double thread) {
  return times_by_width(map, [=](int width) { return divided / width + serial + thread * width; });
}

inline OpInstance instance(std::string op, ConfigurationTimes times, double memory_share = 0) {
  OpInstance one;
  one.op = std::move(op);
  one.times = std::move(times);
  one.memory_share = memory_share;
  return one;
}

// Random instances, several of one op among them, some that want few threads and some that want
// many, some that may not be tuned; edges from a few of the latest nodes.
inline StepGraph random_graph(const CoreMap& map, int nodes, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto real = [&](double from, double to) {
    return std::uniform_real_distribution<double>(from, to)(random);
  };
  const auto whole = [&](int from, int to) {
    return std::uniform_int_distribution<int>(from, to)(random);
  };
  StepGraph graph;
  const int instances = std::clamp(nodes / 8, 4, 200);
  for (int i = 0; i < instances; ++i) {
    const double best = real(1.5, 1.5 * map.cores);
    const double divided = real(0.2, 5) * 1e-3;
    OpInstance one =
        instance("op" + std::to_string(i / 2),
                 convex_times(map, divided, real(0, 1e-4), divided / best / best), real(0, 0.8));
    one.tunable = whole(0, 9) > 0;
    one.default_width = one.tunable ? 0 : whole(0, map.cores);
    graph.instances.push_back(std::move(one));
  }
  for (int i = 0; i < nodes; ++i) {
    perfmodel::OpNode node;
    node.instance = whole(0, instances - 1);
    const int reach = std::min(i, 12);
    for (int back = 1; back <= reach; ++back) {
      if (whole(0, 5) == 0) node.inputs.push_back(i - back);
    }
    graph.nodes.push_back(std::move(node));
  }
  return graph;
}

// No neighbour disturbs, no change costs, nothing is noisy.
inline StepConditions ideal() {
  StepConditions conditions;
  conditions.interference = perfmodel::Interference::none();
  conditions.switching.learn(perfmodel::Nanoseconds(0), 1);
  return conditions;
}

}  // namespace optile::sched::step_graphs
