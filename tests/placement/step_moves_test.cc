// Candidates that are simulated from checkpoints of what was kept, against simulations from the
// beginning and against the second implementation: the same to the last bit.
#include <gtest/gtest.h>

#include <cmath>

#include "placement/import/importer.h"
#include "placement/step/step.h"
#include "placement/step/step_simulator.h"
#include "tests/placement/made_graphs.h"
#include "tests/placement/step_reference.h"
#include "tests/sanitized.h"

namespace optile::placement {
namespace {

// Stages of parallel branches that meet in one node, as networks have them; now and then an edge
// over stages. Times are no round numbers.
Graph staged_graph(int stages, int width, std::uint64_t seed) {
  Random random(seed);
  std::vector<Node> nodes;
  std::vector<Edge> edges;
  const auto add = [&] {
    Node& node = nodes.emplace_back();
    node.name = "n" + std::to_string(nodes.size());
    node.accelerator_ms = random.below(10) == 0 ? 0 : random.unit() * 3;
    node.cpu_ms = node.accelerator_ms * 3;
    node.output_ms = random.below(6) == 0 ? 0 : random.unit();
    return static_cast<NodeId>(nodes.size()) - 1;
  };
  NodeId waist = add();
  for (int stage = 0; stage < stages; ++stage) {
    std::vector<NodeId> ends;
    for (int branch = 0; branch <= random.below(width); ++branch) {
      NodeId last = waist;
      for (int length = 0; length <= random.below(4); ++length) {
        const NodeId next = add();
        edges.push_back({last, next, random.below(12) == 0});
        if (random.below(9) == 0) edges.push_back({random.below(next), next, false});
        last = next;
      }
      ends.push_back(last);
    }
    waist = add();
    for (const NodeId end : ends) edges.push_back({end, waist, false});
  }
  return make_graph(std::move(nodes), edges);
}

struct Walk {
  int moves = 0;
  int keeps = 0;
  std::uint64_t simulated = 0;
  std::uint64_t items = 0;  // that simulations from the beginning would have had
};

// One node, two, or neighbours in the graph's order go elsewhere.
void change(const Graph& graph, int devices, Random& random, std::vector<DeviceId>& assignment) {
  const int kind = random.below(8);
  const int count = kind < 5 ? 1 : kind < 7 ? 2 : 1 + random.below(12);
  const int first = random.below(graph.size());
  for (int i = 0; i < count; ++i) {
    const int place =
        kind == 7 ? std::min(first + i, graph.size() - 1) : random.below(graph.size());
    const NodeId id = graph.order()[static_cast<std::size_t>(place)];
    assignment[static_cast<std::size_t>(id)] = random.below(devices);
  }
}

void walk(const Graph& graph, const Cluster& cluster, const StepSetting& setting, int moves,
          std::uint64_t seed, Walk& totals) {
  Random random(seed);
  StepSimulator simulator(graph, cluster, setting);
  std::vector<DeviceId> kept(static_cast<std::size_t>(graph.size()), 0);
  simulator.run(kept);
  simulator.keep();
  const std::uint64_t items = simulator.simulated();
  const std::uint64_t before = simulator.simulated();
  for (int move = 0; move < moves; ++move) {
    std::vector<DeviceId> candidate = kept;
    change(graph, cluster.size(), random, candidate);
    const double cost = simulator.run(candidate);
    const StepFigures figures = reference_step(graph, cluster, setting, candidate);
    ASSERT_EQ(cost, figures.cost) << "seed " << seed << " move " << move;
    if (random.below(3) != 0) continue;
    simulator.keep();
    kept = candidate;
    ++totals.keeps;
    if (std::isinf(cost)) continue;
    ASSERT_EQ(simulator.starts(), figures.start) << "seed " << seed << " move " << move;
    StepSimulator fresh(graph, cluster, setting);
    ASSERT_EQ(fresh.run(candidate), cost);
  }
  totals.moves += moves;
  totals.simulated += simulator.simulated() - before;
  totals.items += items * static_cast<std::uint64_t>(moves);
}

constexpr int kRounds = test::kSanitized ? 6 : 30;
constexpr int kMoves = test::kSanitized ? 60 : 150;

const StepSetting kSettings[] = {{StepLinks::kEdge, 0, 1},
                                 {StepLinks::kBus, 0.01, 1},
                                 {StepLinks::kEdge, 0.003, 3},
                                 {StepLinks::kBus, 0, 2}};

TEST(StepMoves, MatchFullSimulationOnRandomGraphs) {
  Walk totals;
  for (std::uint64_t seed = 1; seed <= kRounds; ++seed) {
    const Graph graph = random_graph({30, seed % 2 == 0 ? 0.04 : 0.15, 0}, seed);
    for (const StepSetting& setting : kSettings) {
      walk(graph, Cluster::uniform(1 + static_cast<int>(seed % 4), 1, 1e9), setting, kMoves, seed,
           totals);
    }
  }
  EXPECT_GT(totals.keeps, totals.moves / 4);
  EXPECT_LT(totals.simulated, totals.items);
}

TEST(StepMoves, MatchFullSimulationOnStagedGraphs) {
  Walk totals;
  for (std::uint64_t seed = 1; seed <= kRounds; ++seed) {
    const Graph graph = staged_graph(12, 1 + static_cast<int>(seed % 4), seed);
    for (const StepSetting& setting : kSettings) {
      walk(graph, Cluster::uniform(2 + static_cast<int>(seed % 3), 0, 1e9), setting, kMoves, seed,
           totals);
    }
  }
  EXPECT_LT(totals.simulated, totals.items * 3 / 4);
}

TEST(StepMoves, ResimulateFewItemsOnChains) {
  std::vector<Node> nodes(400);
  std::vector<Edge> edges;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    nodes[i].accelerator_ms = nodes[i].cpu_ms = 1 + 0.1 * static_cast<double>(i % 7);
    nodes[i].output_ms = 0.3;
    if (i > 0) edges.push_back({static_cast<NodeId>(i) - 1, static_cast<NodeId>(i), false});
  }
  const Graph graph = make_graph(nodes, edges);
  for (const StepSetting& setting : {kSettings[0], kSettings[1]}) {
    Walk totals;
    walk(graph, Cluster::uniform(3, 0, 1e9), setting, kMoves, 7, totals);
    EXPECT_LT(totals.simulated * 6, totals.items);
  }
}

TEST(StepMoves, CostInfinityWhenNodeCannotRun) {
  std::vector<Node> nodes(3);
  for (Node& node : nodes) node.accelerator_ms = node.cpu_ms = 1;
  nodes[1].runs_on_accelerator = false;
  const Graph graph = make_graph(nodes, {{0, 1}, {1, 2}});
  const Cluster cluster = Cluster::uniform(1, 1, 1e9);
  StepSimulator simulator(graph, cluster, {});
  EXPECT_TRUE(std::isinf(simulator.run({0, 0, 0})));
  simulator.keep();
  EXPECT_EQ(simulator.run({0, 1, 0}), 3);
  EXPECT_EQ(simulator.run({1, 1, 0}), 3);
  simulator.keep();
  EXPECT_TRUE(std::isinf(simulator.run({1, 0, 0})));
  EXPECT_EQ(simulator.run({0, 1, 1}), 3);
}

TEST(StepMoves, MatchFullSimulationOnPublishedGraphs) {
  for (const char* name : {"inception_v3_profile.txt", "bert24_training.json"}) {
    const auto text = read_whole_file(std::string(OPTILE_PLACEMENT_DATA) + "/" + name);
    ASSERT_TRUE(text.ok()) << text.message();
    const auto model = read_model(text.value());
    ASSERT_TRUE(model.ok()) << model.message();
    for (const StepSetting& setting : kSettings) {
      Walk totals;
      walk(model.value().graph, Cluster::uniform(2, 0, 1e12), setting, kMoves, 3, totals);
      EXPECT_LT(totals.simulated, totals.items) << name;
    }
  }
}

// Micro-batches by hand: equal stages on devices of their own take as many rounds as there are
// micro-batches, and one more for each stage but the first.
TEST(StepMicroBatches, FillPipelineWithBubbles) {
  std::vector<Node> nodes(4);
  for (Node& node : nodes) {
    node.accelerator_ms = node.cpu_ms = 8;
    node.output_ms = 0;
  }
  const Graph graph = make_graph(nodes, {{0, 1}, {1, 2}, {2, 3}});
  const Cluster cluster = Cluster::uniform(4, 0, 1e9);
  for (const int batches : {1, 2, 4, 8}) {
    const StepSetting setting{StepLinks::kEdge, 0, batches};
    StepSimulator simulator(graph, cluster, setting);
    EXPECT_DOUBLE_EQ(simulator.run({0, 1, 2, 3}), (batches + 3) * 8.0 / batches);
    EXPECT_DOUBLE_EQ(simulator.run({0, 0, 0, 0}), 32);
    EXPECT_LE(step_bound(graph, cluster, setting), (batches + 3) * 8.0 / batches);
  }
}

TEST(StepMicroBatches, PayLatencyPerTransferAndOverheadPerOp) {
  std::vector<Node> nodes(2);
  for (Node& node : nodes) node.accelerator_ms = node.cpu_ms = 4;
  nodes[0].output_bytes = 4e6;
  const Graph graph = make_graph(nodes, {{0, 1}});
  Cluster cluster = Cluster::uniform(2, 0, 1e9);
  cluster.bytes_per_ms = 1e6;
  cluster.latency_ms = 0.5;
  // Two halves: 2 + 0.25 for a node, 2 + 0.5 for its tensor.
  const StepSetting setting{StepLinks::kBus, 0.25, 2};
  StepSimulator simulator(graph, cluster, setting);
  // The second half is made at 4.5, sent from 4.75 to 7.25, and takes 2.25.
  EXPECT_DOUBLE_EQ(simulator.run({0, 1}), 9.5);
}

}  // namespace
}  // namespace optile::placement
