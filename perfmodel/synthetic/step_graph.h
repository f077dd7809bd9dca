// One step as a graph: which ops there are, what each costs in every case on one machine, and which
// waits for which. What the simulator runs and what a scheduler that drives a graph is told. Plain
// value; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "perfmodel/synthetic/configuration_times.h"

namespace optile::perfmodel {

struct OpInstance {
  std::string op;     // what instances of one op share: "Conv2DBackpropFilter"
  std::string shape;  // "(32,8,8,384)"
  // Whether a strategy may choose the width. Where not, the op runs at `default_width`.
  bool tunable = true;
  int default_width = 0;  // of an op that is not tunable; 0: the program's uniform width
  // Share of the op's time at its fastest case in which it waits for memory, 0 … 1: how much it
  // draws of the machine's bandwidth and how much it suffers from others that draw.
  double memory_share = 0.0;
  double output_bytes = -1;  // of its result; -1 = not said
  bool backward = false;     // of the backward pass
  bool estimated = false;    // the times are no measurements of a run
  ConfigurationTimes times;
};

struct OpNode {
  int instance = 0;         // index into StepGraph::instances
  std::vector<int> inputs;  // indices into StepGraph::nodes, each once
  std::string name{};       // in the model; "" = not said
  int colour = -1;          // nodes of one colour stay on one device; -1 = alone
};

struct StepGraph {
  std::string name;
  std::string machine;  // for which machine the times are; "" = not said
  std::vector<OpInstance> instances;
  std::vector<OpNode> nodes;
};

inline constexpr std::size_t kMaxStepNodes = 1U << 20;
inline constexpr std::size_t kMaxStepInstances = 1U << 16;
inline constexpr int kMaxDefaultWidth = 4096;
inline constexpr double kMaxOpSeconds = 1e9;

// What may be handed to a simulator: every index exists, every time is positive and no longer than
// kMaxOpSeconds, default widths are from 0 to kMaxDefaultWidth, memory shares are within 0 … 1,
// every instance has a case for every width of the space, and no node waits for itself. The message
// names the place as "nodes[3].inputs[0]" and a cycle by its nodes.
base::Status check_step_graph(const StepGraph& graph, const CaseSpace& space);

// Nodes so that every one comes after its inputs, in the order of the graph where that is free.
// Only of a graph without cycles; otherwise the nodes of cycles and those behind them are missing.
std::vector<int> topological_order(const StepGraph& graph);

}  // namespace optile::perfmodel
