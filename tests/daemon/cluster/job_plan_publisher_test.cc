#include "daemon/cluster/job_plan_publisher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "daemon/cluster/memory_store.h"
#include "tests/daemon/cluster/plan_samples.h"

namespace optile::daemon {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;
using PublicationState = JobPlanPublisher::State;

const ClusterKeys kOwnerKeys = {"u"};

LaunchClaim claim_of(const std::string& token, int64_t generation = 0) {
  return {"u", "train", token, generation};
}

class JobPlanPublisherTest : public testing::Test {
 protected:
  // A node, its way to the store, and the process that asks.
  struct Node {
    explicit Node(MemoryServer& server, int asks_as = 100)
        : store(server), publisher(store, [] {}), pid(asks_as) {}
    MemoryStore store;
    JobPlanPublisher publisher;
    int pid;
  };

  static PublicationState ask(Node& node, const LaunchClaim& claim, int64_t epoch) {
    const auto answer = node.publisher.publish(claim, plan(epoch), node.pid);
    EXPECT_TRUE(answer.ok());
    return answer.value().state;
  }
  static std::string reason(Node& node, const LaunchClaim& claim, int64_t epoch) {
    return node.publisher.publish(claim, plan(epoch), node.pid).value().reason;
  }
  static void serve(Node& node) {
    node.publisher.tick();
    while (node.store.deliver()) node.publisher.tick();
  }
  static PublicationState settle(Node& node, const LaunchClaim& claim, int64_t epoch) {
    EXPECT_EQ(ask(node, claim, epoch), PublicationState::kAsked);
    serve(node);
    return ask(node, claim, epoch);
  }
  static JobPlan plan(int64_t epoch) { return pipeline_plan("train", epoch, 10 * epoch); }

  // As RankClaim and GenerationClaim put them.
  ClusterLease claim(const std::string& token) {
    const ClusterLease lease = server_.grant_lease(seconds(1000)).id;
    put(kOwnerKeys.job("train") + "ranks/0", R"({"token": ")" + token + R"(", "node": "a"})",
        lease);
    return lease;
  }
  void put_member(const std::string& token, const std::string& state, int64_t generation, int rank,
                  ClusterLease lease) {
    const nlohmann::json json = {{"state", state}, {"generation", generation}, {"rank", rank}};
    put(kOwnerKeys.job("train") + "members/" + token, json.dump(), lease);
  }
  void put(const std::string& key, const std::string& value, ClusterLease lease) {
    ASSERT_TRUE(server_.commit({{}, {put_key(key, value, lease)}}).value().succeeded);
  }
  // What is published; of no number: nothing.
  PublishedPlan published() {
    const KeyRange range = server_.get(kOwnerKeys.published("train"));
    if (range.entries.empty()) return {};
    return read_published_plan(range.entries.at(0).value).value();
  }

  MemoryServer server_;
};

TEST_F(JobPlanPublisherTest, OwnersPlanIsPublishedUnderItsClaimsLease) {
  Node node(server_);
  const ClusterLease lease = claim("t1");
  EXPECT_EQ(settle(node, claim_of("t1"), 2), PublicationState::kAccepted);
  const PublishedPlan there = published();
  EXPECT_EQ(there.token, "t1");
  EXPECT_EQ(there.epoch, 2);
  EXPECT_EQ(there.division.parts, (std::vector<double>{6, 2}));
  EXPECT_EQ(there.division.micro_batches, 4);
  EXPECT_FALSE(there.way_back);  // its change has been measured
  EXPECT_EQ(server_.get(kOwnerKeys.published("train")).entries.at(0).lease, lease);
  EXPECT_TRUE(server_.revoke_lease(lease).ok());
  EXPECT_EQ(published().epoch, 0);
}

TEST_F(JobPlanPublisherTest, WayBackOfTrialIsPublishedWithIt) {
  Node node(server_);
  claim("t1");
  JobPlan tried = plan(2);
  tried.changes.back().measured.reset();
  ASSERT_TRUE(node.publisher.publish(claim_of("t1"), tried, node.pid).ok());
  serve(node);
  ASSERT_TRUE(published().way_back);
  EXPECT_EQ(published().way_back->parts, (std::vector<double>{4, 4}));
}

TEST_F(JobPlanPublisherTest, LaterPlanReplacesEarlierOneAndNotTheOtherWayRound) {
  Node node(server_);
  claim("t1");
  EXPECT_EQ(settle(node, claim_of("t1"), 2), PublicationState::kAccepted);
  EXPECT_EQ(settle(node, claim_of("t1"), 4), PublicationState::kAccepted);
  EXPECT_FALSE(node.publisher.publish(claim_of("t1"), plan(3), node.pid).ok());
  Node restarted(server_);  // knows nothing of what was asked before
  EXPECT_EQ(settle(restarted, claim_of("t1"), 3), PublicationState::kRefused);
  EXPECT_THAT(reason(restarted, claim_of("t1"), 3), HasSubstr("a later plan"));
  EXPECT_EQ(settle(restarted, claim_of("t1"), 5), PublicationState::kAccepted);
  EXPECT_EQ(published().epoch, 5);
}

TEST_F(JobPlanPublisherTest, WhoHasNoClaimIsRefused) {
  Node node(server_);
  EXPECT_EQ(settle(node, claim_of("t1"), 1), PublicationState::kRefused);
  EXPECT_THAT(reason(node, claim_of("t1"), 1), HasSubstr("is not in etcd"));
  claim("t2");
  EXPECT_EQ(settle(node, claim_of("t1"), 2), PublicationState::kRefused);
  EXPECT_THAT(reason(node, claim_of("t1"), 2), HasSubstr("is a later launch's by now, on node a"));
  EXPECT_EQ(published().epoch, 0);
}

// Of one name, one behind the other, under the same key.
TEST_F(JobPlanPublisherTest, LaterLaunchReplacesWhatFormerOneHasPublished) {
  Node former(server_);
  Node later(server_);
  claim("t1");
  EXPECT_EQ(settle(former, claim_of("t1"), 7), PublicationState::kAccepted);
  claim("t2");
  EXPECT_EQ(settle(later, claim_of("t2"), 1), PublicationState::kAccepted);
  EXPECT_EQ(settle(former, claim_of("t1"), 8), PublicationState::kRefused);
  EXPECT_EQ(published().token, "t2");
}

// It has read that the claim is its own, and then it is another's.
TEST_F(JobPlanPublisherTest, TransactionOfFormerOwnerThatComesLateChangesNothing) {
  Node former(server_);
  Node later(server_);
  claim("t1");
  ask(former, claim_of("t1"), 2);
  former.publisher.tick();
  ASSERT_TRUE(former.store.deliver());
  ASSERT_TRUE(former.store.deliver());  // both are read
  ASSERT_EQ(former.store.waiting(), 1u);
  claim("t2");
  serve(former);
  EXPECT_EQ(ask(former, claim_of("t1"), 2), PublicationState::kRefused);
  EXPECT_EQ(published().epoch, 0);
  EXPECT_EQ(settle(later, claim_of("t2"), 1), PublicationState::kAccepted);
}

// Two daemons of one owner, one of which was stopped: each has read that nothing is published.
TEST_F(JobPlanPublisherTest, OfTwoPlansThatFollowTheSameOneOnlyOneIsAccepted) {
  Node slow(server_);
  Node node(server_);
  claim("t1");
  ask(slow, claim_of("t1"), 2);
  slow.publisher.tick();
  ASSERT_TRUE(slow.store.deliver());
  ASSERT_TRUE(slow.store.deliver());
  EXPECT_EQ(settle(node, claim_of("t1"), 3), PublicationState::kAccepted);
  serve(slow);
  EXPECT_EQ(ask(slow, claim_of("t1"), 2), PublicationState::kRefused);
  EXPECT_EQ(published().epoch, 3);
}

TEST_F(JobPlanPublisherTest, LostReplyIsSettledByReading) {
  Node node(server_);
  claim("t1");
  ask(node, claim_of("t1"), 2);
  node.publisher.tick();
  ASSERT_TRUE(node.store.deliver());
  ASSERT_TRUE(node.store.deliver());
  node.store.lose_next_reply();
  serve(node);
  EXPECT_EQ(ask(node, claim_of("t1"), 2), PublicationState::kAccepted);
  EXPECT_EQ(published().epoch, 2);
  // The one change is the plan's.
  EXPECT_EQ(server_.get(kOwnerKeys.published("train")).entries.at(0).create_revision,
            server_.get(kOwnerKeys.published("train")).entries.at(0).mod_revision);
}

TEST_F(JobPlanPublisherTest, StoreThatDoesNotAnswerIsSaidAndLaterPlanSettlesIt) {
  Node node(server_);
  claim("t1");
  ask(node, claim_of("t1"), 2);
  node.publisher.tick();
  node.store.lose_next_reply();
  serve(node);
  EXPECT_EQ(ask(node, claim_of("t1"), 2), PublicationState::kUnreachable);
  EXPECT_NE(reason(node, claim_of("t1"), 2), "");
  EXPECT_EQ(settle(node, claim_of("t1"), 3), PublicationState::kAccepted);
  EXPECT_EQ(published().epoch, 3);
}

TEST_F(JobPlanPublisherTest, PlanThatWasReplacedWhileItWasAskedForIsNotAnsweredFor) {
  Node node(server_);
  claim("t1");
  ask(node, claim_of("t1"), 2);
  node.publisher.tick();
  EXPECT_EQ(ask(node, claim_of("t1"), 3), PublicationState::kAsked);
  ASSERT_TRUE(node.store.deliver());
  ASSERT_TRUE(node.store.deliver());
  ASSERT_TRUE(node.store.deliver());
  EXPECT_EQ(published().epoch, 2);
  EXPECT_EQ(ask(node, claim_of("t1"), 3), PublicationState::kAsked);
  serve(node);
  EXPECT_EQ(ask(node, claim_of("t1"), 3), PublicationState::kAccepted);
  EXPECT_EQ(published().epoch, 3);
}

TEST_F(JobPlanPublisherTest, GenerationThatHasEndedIsRefused) {
  Node node(server_);
  const ClusterLease lease = server_.grant_lease(seconds(1000)).id;
  put_member("t1", "in", 1, 0, lease);
  EXPECT_EQ(settle(node, claim_of("t1", 1), 5), PublicationState::kAccepted);
  EXPECT_EQ(published().generation, 1);
  put_member("t1", "ready", 1, -1, lease);
  EXPECT_EQ(settle(node, claim_of("t1", 1), 6), PublicationState::kRefused);
  EXPECT_THAT(reason(node, claim_of("t1", 1), 6), HasSubstr("generation 1 of job train has ended"));
  // The next one, of whatever node.
  put_member("t2", "in", 2, 0, lease);
  put_member("t1", "in", 2, 1, lease);
  EXPECT_EQ(settle(node, claim_of("t1", 2), 7), PublicationState::kRefused);
  EXPECT_THAT(reason(node, claim_of("t1", 2), 7), HasSubstr("has not rank 0"));
  Node other(server_);
  EXPECT_EQ(settle(other, claim_of("t2", 2), 1), PublicationState::kAccepted);
  EXPECT_EQ(published().generation, 2);
  EXPECT_EQ(settle(node, claim_of("t1", 1), 8), PublicationState::kRefused);
}

TEST_F(JobPlanPublisherTest, SecondProcessOfOneClaimIsRefusedWhileTheFirstOneLives) {
  Node node(server_);
  claim("t1");
  EXPECT_EQ(settle(node, claim_of("t1"), 4), PublicationState::kAccepted);
  JobPlan another = plan(1);
  another.run = "another";
  const auto refused = node.publisher.publish(claim_of("t1"), another, 200);
  ASSERT_TRUE(refused.ok());
  EXPECT_EQ(refused.value().state, PublicationState::kRefused);
  EXPECT_THAT(refused.value().reason, HasSubstr("process 100 publishes"));
  node.publisher.forget(100);
  ASSERT_TRUE(node.publisher.publish(claim_of("t1"), another, 200).ok());
  serve(node);
  EXPECT_EQ(node.publisher.publish(claim_of("t1"), another, 200).value().state,
            PublicationState::kAccepted);
  EXPECT_EQ(published().run, "another");
}

TEST_F(JobPlanPublisherTest, JobsOfAUserAreBounded) {
  Node node(server_);
  for (std::size_t i = 0; i <= kMaxPublishedJobsOfUser; ++i) {
    const LaunchClaim one = {"u", "job" + std::to_string(i), "t", 0};
    EXPECT_EQ(node.publisher.publish(one, plan(1), 100).ok(), i < kMaxPublishedJobsOfUser);
  }
  EXPECT_TRUE(node.publisher.publish({"v", "job", "t", 0}, plan(1), 100).ok());
}

TEST_F(JobPlanPublisherTest, HostileKeysAreNoClaimsAndNoPlans) {
  Node node(server_);
  const ClusterLease lease = server_.grant_lease(seconds(1000)).id;
  int64_t epoch = 0;
  for (const char* text : {"", "{", "[]", "null", R"({"token": 7})", R"({"node": "a"})"}) {
    put(kOwnerKeys.job("train") + "ranks/0", text, lease);
    EXPECT_EQ(settle(node, claim_of("t1"), ++epoch), PublicationState::kRefused) << text;
  }
  claim("t1");
  for (const char* text :
       {"{", "[]", R"({"protocol": 1})", R"({"protocol": 2})", R"({"protocol": 1e300})"}) {
    put(kOwnerKeys.published("train"), text, 0);
    EXPECT_EQ(settle(node, claim_of("t1"), ++epoch), PublicationState::kRefused) << text;
    EXPECT_THAT(reason(node, claim_of("t1"), epoch), HasSubstr("another version of optile"));
  }
}

}  // namespace
}  // namespace optile::daemon
