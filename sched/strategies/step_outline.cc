#include "sched/strategies/step_outline.h"

#include <algorithm>
#include <map>
#include <string>

#include "base/at.h"

namespace optile::sched {
namespace {

using base::at;

using perfmodel::Configuration;
using perfmodel::ConfigurationTimes;
using perfmodel::OpInstance;
using perfmodel::StepGraph;

TimedCase timed(const ConfigurationTimes& times, Configuration which) {
  return {which, times.at(which)};
}

void find_fastest(const ConfigurationTimes& times, const std::vector<Configuration>& cases,
                  InstanceOutline* out) {
  std::vector<TimedCase> all;
  for (const Configuration which : cases) {
    if (times.at(which) < perfmodel::kInfinity) all.push_back(timed(times, which));
  }
  // Of equally fast ones the narrower leaves more to others.
  std::stable_sort(all.begin(), all.end(),
                   [](const TimedCase& a, const TimedCase& b) { return a.seconds < b.seconds; });
  out->fastest_count = std::min(all.size(), InstanceOutline::kCandidates);
  std::copy_n(all.begin(), out->fastest_count, out->fastest.begin());
}

// Strategy 2: by op, the best case of the instance that takes longest at its own best.
std::map<std::string, Configuration> slowest_cases(const StepGraph& graph,
                                                   const std::vector<InstanceOutline>& instances) {
  std::map<std::string, std::pair<double, Configuration>> slowest;
  for (std::size_t i = 0; i < instances.size(); ++i) {
    if (!instances[i].tunable) continue;
    auto& [seconds, which] = slowest[graph.instances[i].op];
    if (instances[i].best.seconds > seconds) {
      seconds = instances[i].best.seconds;
      which = instances[i].best.which;
    }
  }
  std::map<std::string, Configuration> cases;
  for (const auto& [op, entry] : slowest) cases[op] = entry.second;
  return cases;
}

void connect(const StepGraph& graph, StepOutline* outline) {
  const std::size_t nodes = graph.nodes.size();
  outline->first_user.assign(nodes + 1, 0);
  for (const auto& node : graph.nodes) {
    outline->input_count.push_back(static_cast<int>(node.inputs.size()));
    for (const int input : node.inputs) ++outline->first_user[at(input) + 1];
  }
  for (std::size_t i = 0; i < nodes; ++i) outline->first_user[i + 1] += outline->first_user[i];
  outline->users.resize(at(outline->first_user.back()));
  std::vector<int> next(outline->first_user.begin(), outline->first_user.end() - 1);
  for (std::size_t i = 0; i < nodes; ++i) {
    for (const int input : graph.nodes[i].inputs) {
      outline->users[at(next[at(input)]++)] = static_cast<int>(i);
    }
  }
}

}  // namespace

TimedCase timed_width(const ConfigurationTimes& times, int width, const CoreMap& map) {
  const int within = std::clamp(width, 1, map.cores);
  return timed(times, times.best_of_width(within));
}

StepOutline make_step_outline(const StepGraph& graph, const CoreMap& map) {
  StepOutline outline;
  outline.graph = &graph;
  outline.map = &map;
  const std::vector<Configuration> cases = map.space.all();
  for (const OpInstance& instance : graph.instances) {
    InstanceOutline one;
    one.tunable = instance.tunable;
    one.serial_seconds = timed_width(instance.times, 1, map).seconds;
    if (instance.tunable) {
      find_fastest(instance.times, cases, &one);
    } else {
      const int own = instance.default_width == 0 ? map.cores : instance.default_width;
      one.fastest[0] = timed_width(instance.times, own, map);
      one.fastest_count = 1;
    }
    one.best = one.fastest[0];
    one.per_op = one.best;
    outline.instances.push_back(one);
  }
  const std::map<std::string, Configuration> slowest = slowest_cases(graph, outline.instances);
  for (std::size_t i = 0; i < graph.instances.size(); ++i) {
    if (!outline.instances[i].tunable) continue;
    outline.instances[i].per_op =
        timed(graph.instances[i].times, slowest.at(graph.instances[i].op));
  }
  outline.instance_of.reserve(graph.nodes.size());
  for (const auto& node : graph.nodes) outline.instance_of.push_back(node.instance);
  connect(graph, &outline);
  return outline;
}

}  // namespace optile::sched
