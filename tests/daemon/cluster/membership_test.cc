#include "daemon/cluster/membership.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "daemon/cluster/memory_store.h"

namespace optile::daemon {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

constexpr milliseconds kStep{50};
const ClusterKeys kKeys = {"u"};

// A node, and its way to the store.
struct Node {
  Node(MemoryServer& server, const std::string& name, const std::string& instance) : store(server) {
    Membership::Settings settings;
    settings.keys = kKeys;
    settings.node.name = name;
    settings.node.cores = 2;
    settings.node.instance = instance;
    settings.measured = [this] { return measured; };
    settings.nodes_read = [this](const std::vector<NodeRecord>& nodes) {
      ++reads;
      read = nodes.size();
    };
    membership = std::make_unique<Membership>(store, std::move(settings));
  }
  MemoryStore store;
  NodeMeasurements measured;
  int reads = 0;         // of the list of nodes
  std::size_t read = 0;  // nodes, then
  std::unique_ptr<Membership> membership;
};

class MembershipTest : public testing::Test {
 protected:
  Node& add(const std::string& name) {
    nodes_.push_back(std::make_unique<Node>(server_, name, "i" + std::to_string(++instances_)));
    return *nodes_.back();
  }
  void start_anew(const std::vector<std::string>& names) {
    server_ = MemoryServer();
    nodes_.clear();
    for (const std::string& name : names) add(name);
  }
  // As a daemon that is killed: nothing is told to the store.
  void kill(const Node& node) {
    std::erase_if(nodes_, [&](const auto& one) { return one.get() == &node; });
  }
  void run(milliseconds time) {
    for (milliseconds passed{0}; passed < time; passed += kStep) {
      server_.advance(kStep);
      for (const auto& node : nodes_) {
        node->membership->tick(server_.now());
        while (node->store.deliver()) node->membership->tick(server_.now());
      }
      check();
    }
  }
  // At every moment: who counts itself leader is the one in the store, so that there are not two.
  void check() {
    int leaders = 0;
    for (const auto& node : nodes_) {
      if (!node->membership->is_leader(server_.now())) continue;
      ++leaders;
      const KeyRange leader = server_.get(kKeys.leader());
      ASSERT_FALSE(leader.entries.empty());
      EXPECT_EQ(leader.entries.front().key, kKeys.leader());
      EXPECT_EQ(leader.entries.front().lease, node->membership->lease());
    }
    EXPECT_LE(leaders, 1);
  }
  Node* leader() {
    for (const auto& node : nodes_) {
      if (node->membership->is_leader(server_.now())) return node.get();
    }
    return nullptr;
  }
  Membership::View view(const Node& node) { return node.membership->view(server_.now()); }
  std::string epoch() { return server_.get(kKeys.epoch()).entries.at(0).value; }

  MemoryServer server_;
  std::vector<std::unique_ptr<Node>> nodes_;
  int instances_ = 0;
};

TEST_F(MembershipTest, NodesAreToldOnceEachTimeThatTheyAreRead) {
  const Node& node = add("n0");
  run(seconds(1));
  EXPECT_EQ(node.read, 1u);
  add("n1");
  const int before = node.reads;
  run(seconds(10));
  EXPECT_EQ(node.read, 2u);
  EXPECT_EQ(node.reads - before, 3);  // a round in a third of the lease
  EXPECT_EQ(node.membership->own_view(server_.now()).nodes.size(), 0u);
  EXPECT_TRUE(node.membership->own_view(server_.now()).leader);
}

TEST_F(MembershipTest, NodesAreListedAndOneLeads) {
  for (const char* name : {"a", "b", "c"}) add(name);
  run(seconds(8));
  ASSERT_NE(leader(), nullptr);
  EXPECT_EQ(epoch(), "1");
  for (const auto& node : nodes_) {
    const Membership::View seen = view(*node);
    EXPECT_TRUE(seen.member);
    EXPECT_TRUE(seen.reachable);
    EXPECT_EQ(seen.epoch, 1);
    ASSERT_EQ(seen.nodes.size(), 3u);
    EXPECT_EQ(seen.nodes[1].record.name, "b");
    EXPECT_EQ(seen.nodes[1].record.cores, 2);
    EXPECT_TRUE(seen.messages.empty());
  }
}

TEST_F(MembershipTest, AsksAboutOnceASecondWhenNothingChanges) {
  Node& a = add("a");
  add("b");
  run(seconds(10));
  const std::size_t before = a.store.delivered();
  run(seconds(100));
  EXPECT_LE(a.store.delivered() - before, 100u);
}

// fault: F53
TEST_F(MembershipTest, LeaderThatDiesIsReplacedAtNextEpoch) {
  for (const char* name : {"a", "b", "c"}) add(name);
  run(seconds(8));
  Node* const first = leader();
  ASSERT_NE(first, nullptr);
  const std::string name = view(*first).leader_name;
  kill(*first);
  run(seconds(20));
  ASSERT_NE(leader(), nullptr);
  EXPECT_NE(view(*leader()).leader_name, name);
  EXPECT_EQ(epoch(), "2");
  for (const auto& node : nodes_) {
    EXPECT_EQ(view(*node).nodes.size(), 2u);
    EXPECT_EQ(view(*node).epoch, 2);
  }
}

// fault: F53
TEST_F(MembershipTest, LeaderThatIsCutOffStopsBeforeItsLeaseEnds) {
  Node& a = add("a");
  run(seconds(8));
  ASSERT_EQ(leader(), &a);
  a.store.cut_off(true);
  while (a.membership->is_leader(server_.now())) run(kStep);
  EXPECT_FALSE(a.membership->is_member(server_.now()));
  // The store still counts it.
  EXPECT_EQ(server_.get(kKeys.leader()).entries.front().key, kKeys.leader());
  EXPECT_EQ(server_.get(kKeys.nodes()).entries.size(), 1u);
}

// fault: F52
TEST_F(MembershipTest, RejoinsWhenStoreIsBack) {
  Node& a = add("a");
  Node& b = add("b");
  run(seconds(8));
  for (Node* node : {&a, &b}) node->store.cut_off(true);
  run(seconds(60));
  EXPECT_EQ(leader(), nullptr);
  EXPECT_FALSE(view(a).member);
  EXPECT_FALSE(view(a).reachable);
  ASSERT_FALSE(view(a).messages.empty());
  EXPECT_THAT(view(a).messages[0], HasSubstr("nobody answers"));
  EXPECT_EQ(view(a).nodes.size(), 2u);  // as last seen, and how long ago
  EXPECT_GT(view(a).nodes[0].age, seconds(50));
  for (Node* node : {&a, &b}) node->store.cut_off(false);
  run(seconds(12));
  EXPECT_TRUE(view(a).member);
  EXPECT_TRUE(view(b).member);
  EXPECT_NE(leader(), nullptr);
  EXPECT_EQ(epoch(), "2");
}

// Whoever is cut off, loses replies or comes back: check() holds at every step.
// fault: F53
TEST_F(MembershipTest, NeverTwoLeadersWhateverIsLost) {
  for (unsigned seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    start_anew({"a", "b", "c"});
    for (int turn = 0; turn < 60; ++turn) {
      for (const auto& node : nodes_) {
        if (random() % 4 == 0) node->store.cut_off(random() % 2 == 0);
        if (random() % 3 == 0) node->store.lose_next_reply();
      }
      run(milliseconds(random() % 4000));
      if (HasFatalFailure()) return;
    }
    const int64_t before = std::stoll(epoch());
    for (const auto& node : nodes_) node->store.cut_off(false);
    run(seconds(30));
    EXPECT_NE(leader(), nullptr);
    EXPECT_LE(std::stoll(epoch()), before + 1);
  }
}

// fault: F53
TEST_F(MembershipTest, LostRepliesAreSettledByReading) {
  for (unsigned seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    start_anew({"a", "b", "c"});
    // Long enough to join, too short to lose a lease.
    for (int turn = 0; turn < 20; ++turn) {
      for (const auto& node : nodes_) {
        if (random() % 2 == 0) node->store.lose_next_reply();
      }
      run(milliseconds(200));
    }
    run(seconds(12));
    ASSERT_NE(leader(), nullptr);
    EXPECT_EQ(epoch(), "1");  // one change of leader, however often it was asked for
    EXPECT_EQ(view(*leader()).nodes.size(), 3u);
  }
}

TEST_F(MembershipTest, TakenNameIsToldAndWaitedFor) {
  Node& a = add("a");
  run(seconds(8));
  Node& again = add("a");
  run(seconds(8));
  EXPECT_FALSE(view(again).member);
  ASSERT_FALSE(view(again).messages.empty());
  EXPECT_THAT(view(again).messages[0], HasSubstr("another process is node a"));
  kill(a);
  run(seconds(20));
  EXPECT_TRUE(view(again).member);
  EXPECT_TRUE(view(again).leader);
}

TEST_F(MembershipTest, NodesOfOtherVersionsAreTold) {
  Node& a = add("a");
  NodeRecord later;
  later.protocol = kClusterProtocol + 1;
  later.name = "z";
  ASSERT_TRUE(server_
                  .commit({{},
                           {put_key(kKeys.node("z"), to_text(later)),
                            put_key(kKeys.node("y\n"), "no record")}})
                  .ok());
  run(seconds(8));
  EXPECT_TRUE(view(a).member);
  ASSERT_EQ(view(a).messages.size(), 2u);
  EXPECT_THAT(view(a).messages[0], HasSubstr("node y? cannot be read"));
  EXPECT_THAT(view(a).messages[1], HasSubstr("node z speaks version 2"));
}

TEST_F(MembershipTest, MeasurementsArePutWhileItStaysLeader) {
  Node& a = add("a");
  Node& b = add("b");
  run(seconds(8));
  Node* const first = leader();
  ASSERT_NE(first, nullptr);
  for (Node* node : {&a, &b}) {
    node->measured.gflop_per_second = node == &a ? 1.0 : 2.0;
  }
  for (int i = 0; i < 200; ++i) {
    run(kStep);
    EXPECT_EQ(leader(), first);
    EXPECT_TRUE(view(a).member && view(b).member);
  }
  EXPECT_EQ(epoch(), "1");
  for (Node* node : {&a, &b}) {
    ASSERT_EQ(view(*node).nodes.size(), 2u);
    EXPECT_EQ(view(*node).nodes[0].record.measured.gflop_per_second, 1.0);
    EXPECT_EQ(view(*node).nodes[1].record.measured.gflop_per_second, 2.0);
  }
  const int64_t revision = server_.get(kKeys.node("a")).entries.at(0).mod_revision;
  run(seconds(10));
  EXPECT_EQ(server_.get(kKeys.node("a")).entries.at(0).mod_revision, revision);
}

TEST_F(MembershipTest, RecordThatIsDeletedIsPutAgain) {
  Node& a = add("a");
  run(seconds(8));
  ASSERT_TRUE(server_.commit({{}, {delete_key(kKeys.node("a")), delete_key(kKeys.leader())}}).ok());
  server_.advance(seconds(0));
  // Between the deletion and the next look it still counts itself leader: check() is not asked.
  for (int i = 0; i < 100; ++i) {
    server_.advance(kStep);
    a.membership->tick(server_.now());
    while (a.store.deliver()) a.membership->tick(server_.now());
  }
  EXPECT_TRUE(view(a).leader);
  EXPECT_EQ(epoch(), "2");
  EXPECT_EQ(server_.get(kKeys.nodes()).entries.size(), 1u);
}

}  // namespace
}  // namespace optile::daemon
