// A graph made small enough to be drawn: what is drawn as one box, in which column, and what flows
// between boxes. Pure; its size is bounded whatever the graph's is.
#pragma once

#include <vector>

#include "placement/cluster.h"
#include "placement/graph.h"

namespace optile::cli {

// Nodes of one device that are drawn as one.
struct DrawnBox {
  placement::DeviceId device = 0;
  placement::NodeId first = 0;  // of its nodes, in topological order
  int nodes = 0;
  double ms = 0;  // of all of them, on their device
  int column = 0;
  double row = 0;  // 0 is the top of the line that the column is in
};

struct DrawnFlow {
  int from = 0;  // boxes
  int to = 0;
  double bytes = 0;  // of tensors, each once for each box that reads it
};

struct DrawnGraph {
  std::vector<DrawnBox> boxes;
  std::vector<DrawnFlow> flows;
  int columns = 0;
  // Columns are read like a text: so many make a line.
  int columns_a_line = 0;
  std::vector<double> rows;  // of each line, how many it is high
  // Too large for boxes of chains: a box is all nodes of a device in a stretch of levels, a column
  // is a stretch, and rows mean nothing.
  bool stretches = false;
  std::vector<double> crossing_bytes;  // of each column: sent to other devices by its nodes
};

// Nodes of one device that follow each other alone are drawn as one box, and what only feeds or
// ends one, such as weights, belongs to it. Where there are few nodes each has a box of its own.
DrawnGraph drawn_graph(const placement::Graph& graph, const placement::Cluster& cluster,
                       const std::vector<placement::DeviceId>& assignment);

}  // namespace optile::cli
