#include "placement/graph.h"

#include <algorithm>
#include <cmath>
#include <queue>
#include <utility>

#include "base/result.h"

namespace optile::placement {
namespace {

using base::invalid;

bool is_quantity(double value) {
  return std::isfinite(value) && value >= 0 && value <= kMaxQuantity;
}

base::Status check_nodes(const std::vector<Node>& nodes, const Graph::Where& where) {
  if (nodes.empty()) return invalid("the graph has no nodes");
  if (nodes.size() > kMaxNodes) {
    return invalid("the graph has " + std::to_string(nodes.size()) + " nodes, at most " +
                   std::to_string(kMaxNodes) + " are taken");
  }
  double time = 0;
  double bytes = 0;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const Node& node = nodes[i];
    const std::pair<const char*, double> quantities[] = {
        {"time on an accelerator", node.accelerator_ms},
        {"time on a CPU", node.cpu_ms},
        {"memory", node.memory_bytes},
        {"output", node.output_bytes},
        {"output time", node.output_ms < 0 && node.output_ms == -1 ? 0 : node.output_ms}};
    for (const auto& [what, value] : quantities) {
      if (is_quantity(value)) continue;
      return invalid(where(i) + ": the " + what + " of node " + node.name +
                     " is negative or too large");
    }
    time += std::max(node.accelerator_ms, node.cpu_ms) + std::max(node.output_ms, 0.0);
    bytes += node.memory_bytes + node.output_bytes;
    if (!is_quantity(time) || !is_quantity(bytes)) {
      return invalid(where(i) + ": times or bytes add up to more than 1e18");
    }
  }
  return {};
}

base::Status check_edges(std::size_t nodes, const std::vector<Edge>& edges,
                         const Graph::Where& where) {
  if (edges.size() > kMaxEdges) {
    return invalid("the graph has " + std::to_string(edges.size()) + " edges, at most " +
                   std::to_string(kMaxEdges) + " are taken");
  }
  for (std::size_t i = 0; i < edges.size(); ++i) {
    for (const NodeId end : {edges[i].source, edges[i].target}) {
      if (end < 0 || static_cast<std::size_t>(end) >= nodes) {
        return invalid(where(i) + ": the edge has an end that is no node");
      }
    }
    if (edges[i].source == edges[i].target) {
      return invalid(where(i) + ": the edge leads from a node to itself");
    }
  }
  return {};
}

}  // namespace

Graph::Lists Graph::lists(std::size_t nodes, std::vector<std::pair<NodeId, NodeId>> pairs) {
  std::sort(pairs.begin(), pairs.end());
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  Lists made;
  made.first.assign(nodes + 1, 0);
  made.targets.reserve(pairs.size());
  for (const auto& [source, target] : pairs) {
    ++made.first[static_cast<std::size_t>(source) + 1];
    made.targets.push_back(target);
  }
  for (std::size_t i = 0; i < nodes; ++i) made.first[i + 1] += made.first[i];
  return made;
}

base::Status Graph::sort(const std::vector<Edge>& edges, const Where& where_edge) {
  std::vector<int> waiting(nodes_.size());
  std::priority_queue<NodeId, std::vector<NodeId>, std::greater<>> ready;
  for (NodeId id = 0; id < size(); ++id) {
    waiting[static_cast<std::size_t>(id)] = static_cast<int>(predecessors(id).size());
    if (predecessors(id).empty()) ready.push(id);
  }
  while (!ready.empty()) {
    const NodeId id = ready.top();
    ready.pop();
    order_.push_back(id);
    for (const NodeId next : successors(id)) {
      if (--waiting[static_cast<std::size_t>(next)] == 0) ready.push(next);
    }
  }
  if (order_.size() == nodes_.size()) return {};
  // Backwards along nodes that wait, one is met twice: it lies on a cycle.
  const auto waits = [&](NodeId id) { return waiting[static_cast<std::size_t>(id)] > 0; };
  NodeId at = 0;
  while (!waits(at)) ++at;
  std::vector<bool> seen(nodes_.size());
  while (!seen[static_cast<std::size_t>(at)]) {
    seen[static_cast<std::size_t>(at)] = true;
    for (const NodeId before : predecessors(at)) {
      if (!waits(before)) continue;
      at = before;
      break;
    }
  }
  for (std::size_t i = 0; i < edges.size(); ++i) {
    if (edges[i].target != at || !waits(edges[i].source)) continue;
    return invalid(where_edge(i) + ": the edge from " + node(edges[i].source).name + " to " +
                   node(at).name + " closes a cycle");
  }
  return invalid("the graph has a cycle through " + node(at).name);
}

base::Result<Graph> Graph::make(std::vector<Node> nodes, const std::vector<Edge>& edges,
                                const Where& where_node, const Where& where_edge) {
  const base::Status good_nodes = check_nodes(nodes, where_node);
  if (!good_nodes.ok()) return good_nodes.error();
  const base::Status good_edges = check_edges(nodes.size(), edges, where_edge);
  if (!good_edges.ok()) return good_edges.error();
  std::vector<std::pair<NodeId, NodeId>> all;
  std::vector<std::pair<NodeId, NodeId>> data;
  for (const Edge& edge : edges) {
    all.emplace_back(edge.source, edge.target);
    if (!edge.control) data.emplace_back(edge.source, edge.target);
  }
  const auto turned = [](std::vector<std::pair<NodeId, NodeId>> pairs) {
    for (auto& [source, target] : pairs) std::swap(source, target);
    return pairs;
  };
  Graph graph;
  graph.predecessors_ = lists(nodes.size(), turned(all));
  graph.successors_ = lists(nodes.size(), std::move(all));
  graph.inputs_ = lists(nodes.size(), turned(data));
  graph.readers_ = lists(nodes.size(), std::move(data));
  graph.nodes_ = std::move(nodes);
  const base::Status sorted = graph.sort(edges, where_edge);
  if (!sorted.ok()) return sorted.error();
  return graph;
}

}  // namespace optile::placement
