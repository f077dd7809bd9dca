#include "placement/assistants/assisted_devices.h"

#include <gtest/gtest.h>

namespace optile::placement {
namespace {

constexpr std::int64_t kMuch = 1'000'000;
constexpr int kCoolDown = 50;

std::vector<AssistantRule> rules() {
  AssistantRule rule;
  rule.samples = 2;
  rule.theta = 0.8;
  rule.gamma = 0.5;
  rule.choice = NodeChoice::kLargestDemand;
  rule.cool_down = kCoolDown;
  return {rule};
}

std::vector<PlacedNode> ten_nodes_on_first() {
  return std::vector<PlacedNode>(10, {0, Resource::kCompute, 0.09, 10});
}

std::vector<AssistantSample> samples(double first, double second, std::int64_t free_bytes = kMuch) {
  return {{{first, 0, 0}, free_bytes}, {{second, 0, 0}, free_bytes}};
}

std::size_t nodes_of(const AssistedDevices& devices, AssistantDevice device) {
  std::size_t count = 0;
  for (const AssistantDevice owner : devices.owners()) count += owner == device ? 1 : 0;
  return count;
}

TEST(AssistedDevices, ProposalsCountAsFollowedUntilProgramSaysWhatItRuns) {
  AssistedDevices devices(2);
  devices.begin(rules(), ten_nodes_on_first());
  std::size_t proposed = 0;
  // The program goes on with what it runs, so that it measures the same again and again.
  for (int window = 0; window < 20; ++window) {
    for (const Handover& one : devices.add(samples(0.9, 0.0), 5)) {
      EXPECT_EQ(one.offer.owner, 0U);
      EXPECT_EQ(one.taker, 1U);
      ++proposed;
    }
  }
  // 0.9 and 0 become 0.72 and 0.18: below theta.
  EXPECT_EQ(proposed, 2U);
  EXPECT_EQ(nodes_of(devices, 1), 2U);
}

TEST(AssistedDevices, DeclinedNodesStayForCoolDown) {
  AssistedDevices devices(2);
  std::vector<PlacedNode> nodes = ten_nodes_on_first();
  nodes[0].demand = 0.2;  // the one that is offered first
  devices.begin(rules(), nodes);
  std::vector<Handover> first;
  int epochs = 0;
  for (; first.empty(); ++epochs) first = devices.add(samples(0.95, 0.0), 1);
  EXPECT_EQ(first[0].offer.node, 0U);
  devices.begin(rules(), nodes, true);
  EXPECT_EQ(nodes_of(devices, 1), 0U);
  for (int step = 1; step < kCoolDown; ++step) {
    for (const Handover& one : devices.add(samples(0.95, 0.0), 1)) {
      EXPECT_NE(one.offer.node, 0U) << "after " << step << " steps";
    }
  }
}

TEST(AssistedDevices, FollowedProposalsAreNotProposedAgain) {
  AssistedDevices devices(2);
  std::vector<PlacedNode> nodes = ten_nodes_on_first();
  devices.begin(rules(), nodes);
  devices.add(samples(0.9, 0.0), 20);
  for (std::size_t i = 0; i < nodes.size(); ++i) nodes[i].owner = devices.owners()[i];
  devices.begin(rules(), nodes);
  EXPECT_TRUE(devices.add(samples(0.72, 0.18), 100).empty());
  EXPECT_EQ(nodes_of(devices, 1), 2U);
}

TEST(AssistedDevices, TakerWithoutMemoryTakesNothing) {
  AssistedDevices devices(2);
  devices.begin(rules(), ten_nodes_on_first());
  EXPECT_TRUE(devices.add(samples(0.9, 0.0, 9), 100).empty());
  // 15 bytes are room for one node.
  EXPECT_EQ(devices.add(samples(0.9, 0.0, 15), 100).size(), 1U);
}

}  // namespace
}  // namespace optile::placement
