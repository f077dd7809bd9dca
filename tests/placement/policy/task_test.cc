// A graph as a policy sees it, and what it asks for.
#include "placement/policy/task.h"

#include <gtest/gtest.h>

#include "tests/placement/made_graphs.h"

namespace optile::placement::policy {
namespace {

TEST(Task, CountsEvaluationsAndKeepsBest) {
  const Graph graph = random_graph({10, 0.3, 0}, 4);
  const Cluster cluster = Cluster::uniform(2, 0, 1e9);
  Task task(graph, cluster, {}, 64);
  ASSERT_EQ(task.groups(), 10);
  Limits limits;
  limits.evaluations = 1000;
  Budget budget(limits);
  EXPECT_DOUBLE_EQ(task.ask(task.start(), budget), 1);
  EXPECT_EQ(budget.evaluations(), 2U);
  EXPECT_TRUE(task.fits());
  double least = evaluate_step(graph, cluster, {}, task.start()).cost;
  const double reference = least;
  Random random(1);
  for (int i = 0; i < 50; ++i) {
    std::vector<DeviceId> devices;
    for (int group = 0; group < 10; ++group) devices.push_back(random.below(2));
    const double asked = task.ask(devices, budget);
    const double cost = evaluate_step(graph, cluster, {}, devices).cost;
    EXPECT_NEAR(asked, cost / reference, 1e-9);
    least = std::min(least, cost);
  }
  EXPECT_EQ(budget.evaluations(), 52U);
  EXPECT_NEAR(task.best_cost(), least, 1e-9);
  EXPECT_NEAR(evaluate_step(graph, cluster, {}, task.best()).cost, least, 1e-9);
}

TEST(Task, PenalisesMemoryBeyondCapacity) {
  std::vector<Node> nodes(2);
  for (Node& node : nodes) {
    node.accelerator_ms = node.cpu_ms = 1;
    node.memory_bytes = 6;
  }
  const Graph graph = make_graph(nodes, {{0, 1}});
  const Cluster cluster = Cluster::uniform(2, 0, 10);
  Task task(graph, cluster, {}, 64);
  Budget budget;
  const double together = task.ask({0, 0}, budget);
  EXPECT_FALSE(task.fits());
  const double apart = task.ask({0, 1}, budget);
  EXPECT_TRUE(task.fits());
  EXPECT_GT(together, apart);
  EXPECT_EQ(task.best(), (std::vector<DeviceId>{0, 1}));
}

TEST(Task, MasksDevicesThatCannotRunGroup) {
  std::vector<Node> nodes(2);
  for (Node& node : nodes) node.accelerator_ms = node.cpu_ms = 1;
  nodes[1].runs_on_accelerator = false;
  const Graph graph = make_graph(nodes, {{0, 1}});
  const Cluster cluster = Cluster::uniform(1, 1, 1e9);
  const Task task(graph, cluster, {}, 64);
  EXPECT_EQ(task.mask()(0, 0), 0);
  EXPECT_LT(task.mask()(1, 0), -1000);
  EXPECT_EQ(task.mask()(1, 1), 0);
  EXPECT_TRUE(task.may_run(1, 1));
  EXPECT_FALSE(task.may_run(1, 0));
}

}  // namespace
}  // namespace optile::placement::policy
