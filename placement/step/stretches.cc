#include "placement/step/stretches.h"

#include <algorithm>
#include <utility>

#include "base/at.h"

namespace optile::placement {
namespace {

using base::at;

constexpr NodeId kOutside = -1;

// Nodes [first, last] of the order, with the waist before them; `number` is room for all nodes.
Stretch stretch_of(const Graph& graph, int first, int last, bool ends_in_waist,
                   std::vector<NodeId>& number) {
  Stretch stretch;
  stretch.has_source = first > 0;
  for (int i = stretch.has_source ? first - 1 : first; i <= last; ++i) {
    stretch.nodes.push_back(graph.order()[at(i)]);
  }
  std::vector<Node> nodes;
  for (const NodeId id : stretch.nodes) {
    number[at(id)] = static_cast<NodeId>(nodes.size());
    nodes.push_back(graph.node(id));
  }
  if (stretch.has_source) {
    Node& source = nodes.front();
    source.accelerator_ms = source.cpu_ms = source.memory_bytes = 0;
    source.runs_on_accelerator = true;
    source.colour = -1;
  }
  std::vector<Edge> edges;
  for (const NodeId id : stretch.nodes) {
    const auto readers = graph.readers(id);
    for (const NodeId next : graph.successors(id)) {
      if (number[at(next)] == kOutside) continue;
      const bool reads = std::binary_search(readers.begin(), readers.end(), next);
      edges.push_back({number[at(id)], number[at(next)], !reads});
    }
  }
  if (ends_in_waist) stretch.sink = static_cast<NodeId>(nodes.size()) - 1;
  const auto where = [](std::size_t) { return std::string(); };
  // A part of a graph that is good is good.
  stretch.graph = std::move(Graph::make(std::move(nodes), edges, where, where)).value();
  for (const NodeId id : stretch.nodes) number[at(id)] = kOutside;
  return stretch;
}

}  // namespace

std::vector<int> waists(const Graph& graph) {
  // A node at place i is a waist when no edge jumps over it and it has edges to what is around it:
  // then every path from before to after passes it, and sources and sinks lie on its right side.
  const auto count = at(graph.size());
  std::vector<int> place(count);
  for (std::size_t i = 0; i < count; ++i) place[at(graph.order()[i])] = static_cast<int>(i);
  std::vector<int> found;
  int reach = -1;  // the furthest end of an edge that begins before i
  // Sinks that end early and sources that begin late may run beside a waist.
  bool early_sink = false;
  std::vector<bool> late_source(count + 1, false);
  for (std::size_t i = count; i-- > 0;) {
    late_source[i] = late_source[i + 1] || graph.predecessors(graph.order()[i]).empty();
  }
  for (std::size_t i = 0; i < count; ++i) {
    const NodeId id = graph.order()[i];
    if (reach <= static_cast<int>(i) && !early_sink && !late_source[i + 1]) {
      found.push_back(static_cast<int>(i));
    }
    for (const NodeId next : graph.successors(id)) reach = std::max(reach, place[at(next)]);
    early_sink = early_sink || graph.successors(id).empty();
  }
  return found;
}

std::vector<Stretch> stretches_of(const Graph& graph) {
  std::vector<NodeId> number(at(graph.size()), kOutside);
  std::vector<Stretch> stretches;
  int first = 0;
  for (const int waist : waists(graph)) {
    stretches.push_back(stretch_of(graph, first, waist, true, number));
    first = waist + 1;
  }
  if (first < graph.size()) {
    stretches.push_back(stretch_of(graph, first, graph.size() - 1, false, number));
  }
  return stretches;
}

}  // namespace optile::placement
