#include "perfmodel/synthetic/step_graph.h"

#include <functional>
#include <queue>
#include <set>

#include "base/at.h"
#include "base/result.h"

namespace optile::perfmodel {
namespace {

using base::at;
using base::invalid;

constexpr std::size_t kNamedNodes = 12;  // of a cycle, in a message

std::string place_of(const char* list, std::size_t index) {
  return std::string(list) + "[" + std::to_string(index) + "]";
}

base::Status check_instance(const OpInstance& instance, const std::string& place,
                            const CaseSpace& space) {
  if (instance.op.empty()) return invalid(place + ".op", "an op needs a name");
  if (!(instance.memory_share >= 0.0 && instance.memory_share <= 1.0)) {
    return invalid(place + ".memory_share",
                   std::to_string(instance.memory_share) + " is not between 0 and 1");
  }
  if (instance.default_width < 0 || instance.default_width > kMaxDefaultWidth) {
    return invalid(place + ".default_width", std::to_string(instance.default_width) +
                                                 " is not a width from 0 to " +
                                                 std::to_string(kMaxDefaultWidth));
  }
  const std::pair<const char*, const std::vector<double>*> lists[] = {
      {"spread", &instance.times.spread},
      {"compact", &instance.times.compact},
      {"mixed", &instance.times.mixed}};
  for (const auto& [name, list] : lists) {
    for (std::size_t i = 0; i < list->size(); ++i) {
      const double seconds = (*list)[i];
      if (seconds == kInfinity || (seconds > 0 && seconds <= kMaxOpSeconds)) continue;
      return invalid(place + ".times." + place_of(name, i),
                     seconds > 0 ? "longer than a thousand million seconds"
                                 : std::to_string(seconds) + " seconds are not a positive time");
    }
  }
  for (int width = 1; width <= space.cores; ++width) {
    if (instance.times.best_of_width(width).width == 0) {
      return invalid(place + ".times", "no time at width " + std::to_string(width) +
                                           "; the machine has " + std::to_string(space.cores) +
                                           " cores");
    }
  }
  for (const Binding binding : {Binding::kSpread, Binding::kCompact, Binding::kMixed}) {
    for (int width = 1; width <= space.cores; ++width) {
      const Configuration which{width, binding};
      if (instance.times.at(which) < kInfinity && !space.admits(which)) {
        return invalid(place + ".times." + binding_name(binding),
                       "the machine has no such case at width " + std::to_string(width));
      }
    }
  }
  return {};
}

base::Status check_node(const StepGraph& graph, std::size_t index) {
  const OpNode& node = graph.nodes[index];
  const std::string place = place_of("nodes", index);
  if (node.instance < 0 || at(node.instance) >= graph.instances.size()) {
    return invalid(place + ".instance", "there is no instance " + std::to_string(node.instance) +
                                            "; there are " +
                                            std::to_string(graph.instances.size()));
  }
  std::set<int> seen;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const int input = node.inputs[i];
    const std::string here = place + "." + place_of("inputs", i);
    if (input < 0 || at(input) >= graph.nodes.size()) {
      return invalid(here, "there is no node " + std::to_string(input) + "; there are " +
                               std::to_string(graph.nodes.size()));
    }
    if (!seen.insert(input).second) {
      return invalid(here, "node " + std::to_string(input) + " is an input twice");
    }
  }
  return {};
}

// Some cycle among the nodes that no order could hold, each node before the one that waits for it.
std::vector<int> find_cycle(const StepGraph& graph, const std::vector<int>& ordered) {
  std::vector<bool> done(graph.nodes.size(), false);
  for (const int node : ordered) done[at(node)] = true;
  int node = 0;
  while (done[at(node)]) ++node;
  // Every node that is left waits for another that is left, so going back must come round.
  std::vector<int> way;
  std::vector<int> place(graph.nodes.size(), -1);
  while (place[at(node)] < 0) {
    place[at(node)] = static_cast<int>(way.size());
    way.push_back(node);
    for (const int input : graph.nodes[at(node)].inputs) {
      if (!done[at(input)]) {
        node = input;
        break;
      }
    }
  }
  return {way.rbegin(), way.rend() - place[at(node)]};
}

base::Error cycle_error(const StepGraph& graph, const std::vector<int>& cycle) {
  std::string text;
  for (std::size_t i = 0; i < cycle.size() && i < kNamedNodes; ++i) {
    const int node = cycle[i];
    const OpNode& here = graph.nodes[at(node)];
    text += std::to_string(node) + " (" + graph.instances[at(here.instance)].op + ") -> ";
  }
  if (cycle.size() > kNamedNodes) text += "… -> ";
  return invalid(place_of("nodes", at(cycle.front())),
                 "a cycle of " + std::to_string(cycle.size()) + " nodes: " + text +
                     std::to_string(cycle.front()));
}

}  // namespace

std::vector<int> topological_order(const StepGraph& graph) {
  std::vector<int> waiting(graph.nodes.size(), 0);
  std::vector<std::vector<int>> users(graph.nodes.size());
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    for (const int input : graph.nodes[i].inputs) {
      if (input < 0 || at(input) >= graph.nodes.size()) continue;
      ++waiting[i];
      users[at(input)].push_back(static_cast<int>(i));
    }
  }
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (std::size_t i = 0; i < waiting.size(); ++i) {
    if (waiting[i] == 0) ready.push(static_cast<int>(i));
  }
  std::vector<int> order;
  order.reserve(graph.nodes.size());
  while (!ready.empty()) {
    const int node = ready.top();
    ready.pop();
    order.push_back(node);
    for (const int user : users[at(node)]) {
      if (--waiting[at(user)] == 0) ready.push(user);
    }
  }
  return order;
}

base::Status check_step_graph(const StepGraph& graph, const CaseSpace& space) {
  if (graph.nodes.empty()) return invalid("nodes", "a step needs at least one op");
  if (graph.nodes.size() > kMaxStepNodes) {
    return invalid("nodes", "more than " + std::to_string(kMaxStepNodes));
  }
  if (graph.instances.size() > kMaxStepInstances) {
    return invalid("instances", "more than " + std::to_string(kMaxStepInstances));
  }
  for (std::size_t i = 0; i < graph.instances.size(); ++i) {
    base::Status status = check_instance(graph.instances[i], place_of("instances", i), space);
    if (!status.ok()) return status;
  }
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    base::Status status = check_node(graph, i);
    if (!status.ok()) return status;
  }
  const std::vector<int> order = topological_order(graph);
  if (order.size() != graph.nodes.size()) return cycle_error(graph, find_cycle(graph, order));
  return {};
}

}  // namespace optile::perfmodel
