#include "placement/assistants/assistant.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

namespace optile::placement {
namespace {

constexpr std::int64_t kPlenty = 1'000'000;

AssistantSample compute(double use, std::int64_t free_bytes = kPlenty) {
  return {{use, 0, 0}, free_bytes};
}

std::vector<AssistantRule> rule(int samples = 3) {
  AssistantRule one;
  one.samples = samples;
  return {one};
}

AssistantNode node(AssistantNodeId id, double demand, std::int64_t bytes) {
  return {id, Resource::kCompute, demand, bytes, 0};
}

TEST(Assistant, OffersSmallestNodeWithinHalfImbalance) {
  LocalOutBoxes boxes;
  Assistant loaded(0, rule(), {node(1, 0.3, 1), node(2, 0.2, 50), node(3, 0.1, 20)});
  for (std::uint64_t epoch = 1; epoch <= 2; ++epoch) {
    loaded.end_step(epoch, compute(1), boxes);
    EXPECT_TRUE(boxes.offers(Resource::kCompute).empty()) << "before three samples";
  }
  loaded.end_step(3, compute(1), boxes);
  const auto offers = boxes.offers(Resource::kCompute);
  ASSERT_EQ(offers.size(), 1U);
  EXPECT_EQ(offers[0].node, 3U);  // node 1 is smaller but exceeds (1 - 0.5) / 2
}

TEST(Assistant, OffersNothingWithoutConsecutiveBusySamples) {
  LocalOutBoxes boxes;
  Assistant loaded(0, rule(), {node(1, 0.1, 1)});
  for (std::uint64_t epoch = 1; epoch <= 20; ++epoch) {
    loaded.end_step(epoch, compute(epoch % 3 == 0 ? 0.9 : 1), boxes);
  }
  EXPECT_TRUE(boxes.offers(Resource::kCompute).empty());
}

TEST(Assistant, WithdrawsOfferWhenLoadDrops) {
  LocalOutBoxes boxes;
  Assistant loaded(0, rule(1), {node(1, 0.1, 1)});
  loaded.end_step(1, compute(1), boxes);
  EXPECT_EQ(boxes.offers(Resource::kCompute).size(), 1U);
  loaded.end_step(2, compute(0.8), boxes);
  EXPECT_TRUE(boxes.offers(Resource::kCompute).empty());
}

TEST(Assistant, ClaimsOfferOnlyWithFreeMemoryAndCapacity) {
  for (const auto& [use, free_bytes, taken] : std::vector<std::tuple<double, std::int64_t, bool>>{
           {0.4, kPlenty, true}, {0.4, 9, false}, {0.6, kPlenty, false}}) {
    LocalOutBoxes boxes;
    Assistant idle(1, rule(1), {});
    boxes.post({7, 0, Resource::kCompute, 0.2, 10, 1.0});
    idle.end_step(4, compute(use, free_bytes), boxes);
    EXPECT_EQ(boxes.offers(Resource::kCompute).empty(), taken);
  }
}

TEST(Assistant, OneClaimWinsAndNodeMovesAtEpochBoundary) {
  LocalOutBoxes boxes;
  Assistant owner(0, rule(1), {node(7, 0.2, 10)});
  Assistant first(1, rule(1), {});
  Assistant second(2, rule(1), {});
  owner.end_step(4, compute(1), boxes);
  first.end_step(4, compute(0.1), boxes);
  second.end_step(4, compute(0.1), boxes);
  EXPECT_FALSE(boxes.withdraw(7, 0)) << "claimed already";
  owner.begin_step(4, boxes);
  EXPECT_EQ(owner.nodes().size(), 1U) << "not before the boundary";
  for (Assistant* one : {&owner, &first, &second}) one->begin_step(5, boxes);
  EXPECT_TRUE(owner.nodes().empty());
  EXPECT_EQ(first.nodes().size(), 1U);
  EXPECT_TRUE(second.nodes().empty());
  EXPECT_TRUE(boxes.handovers(0).empty());
  EXPECT_TRUE(boxes.handovers(1).empty());
}

TEST(Assistant, PostsOffersByResource) {
  LocalOutBoxes boxes;
  AssistantRule network;
  network.resource = Resource::kNetwork;
  network.samples = 1;
  Assistant loaded(0, {rule(1)[0], network}, {{1, Resource::kNetwork, 0.1, 1, 0}});
  loaded.end_step(1, {{1, 0, 1}, kPlenty}, boxes);
  EXPECT_TRUE(boxes.offers(Resource::kCompute).empty());
  EXPECT_EQ(boxes.offers(Resource::kNetwork).size(), 1U);
}

// Devices with other people's load on them that jumps from time to time.
class Cluster {
 public:
  Cluster(std::uint64_t seed, AssistantDevice devices) : random_(seed), foreign_(devices, 0) {
    AssistantNodeId id = 0;
    for (AssistantDevice d = 0; d < devices; ++d) {
      std::vector<AssistantNode> nodes;
      for (int k = 0; k < 8; ++k) {
        nodes.push_back(
            node(id++, 0.02 + 0.06 * unit(), static_cast<std::int64_t>(random_() % 90)));
      }
      assistants_.emplace_back(d, std::vector<AssistantRule>{AssistantRule{}}, nodes);
    }
    count_ = id;
  }

  void interfere() {
    for (double& load : foreign_) load = unit() < 0.3 ? 0.6 * unit() + 0.2 : 0.05 * unit();
  }

  // The node moves of one step.
  std::vector<AssistantNodeId> step(std::uint64_t epoch) {
    const auto before = owners();
    for (Assistant& one : assistants_) one.begin_step(epoch, boxes_);
    const auto after = owners();
    EXPECT_EQ(after.size(), count_) << "every node has one owner";
    std::vector<AssistantNodeId> moved;
    for (const auto& [id, owner] : after) {
      if (before.at(id) != owner) moved.push_back(id);
    }
    for (std::size_t d = 0; d < assistants_.size(); ++d) {
      double use = foreign_[d] + 0.01 * (unit() - 0.5);
      for (const AssistantNode& one : assistants_[d].nodes()) use += one.demand;
      assistants_[d].end_step(epoch, compute(std::min(1.0, use)), boxes_);
    }
    return moved;
  }

  std::map<AssistantNodeId, AssistantDevice> owners() const {
    std::map<AssistantNodeId, AssistantDevice> owners;
    for (std::size_t d = 0; d < assistants_.size(); ++d) {
      for (const AssistantNode& one : assistants_[d].nodes()) {
        EXPECT_TRUE(owners.emplace(one.id, static_cast<AssistantDevice>(d)).second);
      }
    }
    return owners;
  }

 private:
  double unit() { return static_cast<double>(random_() >> 11) * 0x1.0p-53; }

  std::mt19937_64 random_;
  std::vector<double> foreign_;
  std::vector<Assistant> assistants_;
  LocalOutBoxes boxes_;
  std::size_t count_ = 0;
};

TEST(Assistant, NodesDoNotOscillateUnderChangingInterference) {
  constexpr std::uint64_t kSteps = 10'000;
  constexpr std::uint64_t kPhase = 1'000;
  for (std::uint64_t seed : {1U, 2U, 3U}) {
    Cluster cluster(seed, 8);
    std::size_t all = 0;
    std::map<AssistantNodeId, std::set<AssistantDevice>> homes;
    for (std::uint64_t epoch = 1; epoch <= kSteps; ++epoch) {
      const std::uint64_t at = epoch % kPhase;
      if (at == 1) {
        cluster.interfere();
        homes.clear();
        for (const auto& [id, owner] : cluster.owners()) homes[id].insert(owner);
      }
      for (AssistantNodeId id : cluster.step(epoch)) {
        ++all;
        EXPECT_TRUE(at == 0 || at < kPhase / 2) << "still moving at " << epoch << ", seed " << seed;
        const AssistantDevice owner = cluster.owners().at(id);
        EXPECT_TRUE(homes[id].insert(owner).second) << "back again at " << epoch;
      }
    }
    EXPECT_GT(all, 10U) << "seed " << seed;
  }
}

}  // namespace
}  // namespace optile::placement
