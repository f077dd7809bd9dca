// The work to be placed: nodes with times, memory and one output tensor each, and edges. Immutable
// once made; several threads may read it.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace optile::placement {

using NodeId = std::int32_t;

inline constexpr std::size_t kMaxNodes = 2'000'000;
inline constexpr std::size_t kMaxEdges = 20'000'000;
inline constexpr double kMaxQuantity = 1e18;  // of milliseconds or bytes, one by one and summed

// What a node's time is spent on, where that is known (spec 2, scheduling assistants).
enum class Bound { kUnknown, kCompute, kMemory, kNetwork };

struct Node {
  std::string name;
  std::string kind;
  std::int64_t file_id = -1;  // its number in the file, where nodes are numbered there
  double accelerator_ms = 0;
  double cpu_ms = 0;
  bool runs_on_accelerator = true;
  double memory_bytes = 0;  // while it is placed somewhere: parameters and what it keeps
  double output_bytes = 0;  // one tensor, however many read it
  // Of moving its output, where the file says so; negative: bytes over the link.
  double output_ms = -1;
  bool stateful = false;
  bool backward = false;     // belongs to the backward pass
  std::int32_t colour = -1;  // nodes of one colour stay together; -1: it has none
  Bound bound = Bound::kUnknown;
};

struct Edge {
  NodeId source = 0;
  NodeId target = 0;
  bool control = false;  // orders and carries nothing
};

class Graph {
 public:
  // Names an edge of the input in an error: "line 12", "edges[3]".
  using Where = std::function<std::string(std::size_t)>;

  // kInvalid for a cycle, an end that no node has, a negative or infinite quantity, too much of
  // anything. Edges that occur twice count once.
  static base::Result<Graph> make(std::vector<Node> nodes, const std::vector<Edge>& edges,
                                  const Where& where_node, const Where& where_edge);

  int size() const { return static_cast<int>(nodes_.size()); }
  const std::vector<Node>& nodes() const { return nodes_; }
  const Node& node(NodeId id) const { return nodes_[static_cast<std::size_t>(id)]; }
  std::size_t edge_count() const { return successors_.targets.size(); }

  // All, in increasing order; control edges among them.
  std::span<const NodeId> successors(NodeId id) const { return successors_.of(id); }
  std::span<const NodeId> predecessors(NodeId id) const { return predecessors_.of(id); }
  // Those that read the output.
  std::span<const NodeId> readers(NodeId id) const { return readers_.of(id); }
  std::span<const NodeId> inputs(NodeId id) const { return inputs_.of(id); }
  // Topological; of nodes that are ready at once the smaller id first.
  const std::vector<NodeId>& order() const { return order_; }

 private:
  struct Lists {
    std::vector<std::size_t> first;
    std::vector<NodeId> targets;
    std::span<const NodeId> of(NodeId id) const {
      const auto at = static_cast<std::size_t>(id);
      return {targets.data() + first[at], first[at + 1] - first[at]};
    }
  };
  static Lists lists(std::size_t nodes, std::vector<std::pair<NodeId, NodeId>> pairs);
  base::Status sort(const std::vector<Edge>& edges, const Where& where_edge);

  std::vector<Node> nodes_;
  Lists successors_;
  Lists predecessors_;
  Lists readers_;
  Lists inputs_;
  std::vector<NodeId> order_;
};

}  // namespace optile::placement
