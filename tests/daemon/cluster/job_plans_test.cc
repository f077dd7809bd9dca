#include "daemon/cluster/job_plans.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <memory>

#include "daemon/cluster/local_plans.h"
#include "daemon/cluster/memory_store.h"
#include "tests/daemon/cluster/plan_samples.h"

namespace optile::daemon {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const ClusterKeys kPlanKeys = {"u"};

TEST(JobPlan, IsReadAsItWasWritten) {
  for (const JobPlan& plan :
       {pipeline_plan("train", 3, 120), shares_plan("train", 1, 10), placement_plan("train", 2, 20),
        hybrid_plan("train", 1, 10), splits_plan("train", 1, 30)}) {
    const nlohmann::json json = to_json(plan);
    const base::Result<JobPlan> read = read_job_plan(json);
    ASSERT_TRUE(read.ok()) << read.message();
    EXPECT_EQ(to_json(read.value()), json);
  }
}

TEST(JobPlan, WithoutGenerationIsOfNoJobThatOutlivesItsNodes) {
  nlohmann::json json = to_json(pipeline_plan("train", 1, 1));
  json["generation"] = 2;
  json["lost_nodes"] = {"node2"};
  const base::Result<JobPlan> second = read_job_plan(json);
  ASSERT_TRUE(second.ok()) << second.message();
  EXPECT_EQ(to_json(second.value()), json);
  json.erase("generation");
  json.erase("lost_nodes");
  const base::Result<JobPlan> read = read_job_plan(json);
  ASSERT_TRUE(read.ok()) << read.message();
  EXPECT_EQ(read.value().generation.number, 0);
  EXPECT_THAT(read.value().generation.lost_nodes, IsEmpty());
}

TEST(JobPlan, WithoutReplicasHasOne) {
  nlohmann::json json = to_json(hybrid_plan("train", 1, 1));
  json.erase("replicas");
  json.erase("choice");
  const base::Result<JobPlan> read = read_job_plan(json);
  ASSERT_TRUE(read.ok()) << read.message();
  EXPECT_EQ(read.value().replicas.count, 1);
  EXPECT_EQ(read.value().replicas.choice, "");
}

TEST(JobPlan, TellsHowFarTheClusterHasAgreed) {
  JobPlan plan = shares_plan("train", 1, 10);
  plan.publication.state = "refused";
  plan.publication.reason = "generation 1 of job train has ended";
  nlohmann::json json = to_json(plan);
  EXPECT_EQ(to_json(read_job_plan(json).value()), json);
  json["publication"] = "maybe";
  EXPECT_THAT(read_job_plan(json).message(), HasSubstr("publication is none, asked"));
  json.erase("publication");
  json.erase("publication_reason");
  EXPECT_EQ(read_job_plan(json).value().publication.state, "");
}

TEST(JobPlan, FieldsThatNobodyKnowsAreLeftOut) {
  nlohmann::json json = to_json(pipeline_plan("train", 1, 1));
  const nlohmann::json before = json;
  json["command"] = "rm -rf /";
  json["ranks"][0]["command"] = "rm -rf /";
  const base::Result<JobPlan> read = read_job_plan(json);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(to_json(read.value()), before);
}

TEST(JobPlan, WhatIsWrongIsRefusedByName) {
  const nlohmann::json usual = to_json(pipeline_plan("train", 2, 20));
  const auto refusal = [&](const char* pointer, const nlohmann::json& value) {
    nlohmann::json json = usual;
    json[nlohmann::json::json_pointer(pointer)] = value;
    const base::Result<JobPlan> read = read_job_plan(json);
    EXPECT_FALSE(read.ok()) << pointer << " " << value;
    return read.ok() ? "" : read.message();
  };
  EXPECT_THAT(refusal("/job", "../../nodes/a"), HasSubstr("job has to be letters"));
  EXPECT_THAT(refusal("/job", "\x1b[2J"), HasSubstr("job has to be printable"));
  EXPECT_THAT(refusal("/run", ""), HasSubstr("run has to be letters"));
  EXPECT_THAT(refusal("/epoch", 0.5), HasSubstr("epoch has to be a whole number"));
  EXPECT_THAT(refusal("/epoch", -1), HasSubstr("epoch is out of range"));
  EXPECT_THAT(refusal("/step", 1e300), HasSubstr("step has to be a whole number"));
  EXPECT_THAT(refusal("/step", std::numeric_limits<uint64_t>::max()), HasSubstr("step is out"));
  EXPECT_THAT(refusal("/kind", "magic"), HasSubstr("kind is shares, pipeline, placement"));
  EXPECT_THAT(refusal("/kind", nullptr), HasSubstr("kind has to be text"));
  EXPECT_THAT(refusal("/kind", "shares"), HasSubstr("part of a batch is at most 1"));
  EXPECT_THAT(refusal("/measured_seconds", std::numeric_limits<double>::quiet_NaN()),
              HasSubstr("measured_seconds is out of range"));
  EXPECT_THAT(refusal("/measured_seconds", "1"), HasSubstr("measured_seconds has to be a number"));
  EXPECT_THAT(refusal("/ranks", nlohmann::json::array()), HasSubstr("ranks has one rank"));
  EXPECT_THAT(refusal("/ranks", 7), HasSubstr("ranks has to be a list"));
  EXPECT_THAT(refusal("/ranks/0", "node"), HasSubstr("node has to be in an object"));
  EXPECT_THAT(refusal("/ranks/0/node", "a\nb"), HasSubstr("node has to be printable"));
  EXPECT_THAT(refusal("/ranks/0/part", 1.5), HasSubstr("whole number of layers"));
  EXPECT_THAT(refusal("/ranks/0/busy", 1.5), HasSubstr("busy is out of range"));
  EXPECT_THAT(refusal("/changes/0/reason", std::string(300, 'x')), HasSubstr("reason is too long"));
  EXPECT_THAT(refusal("/changes/0/kept", 1), HasSubstr("kept has to be true or false"));
  EXPECT_THAT(refusal("/changes/0/before/parts", {1}), HasSubstr("as many as there are ranks"));
  EXPECT_THAT(refusal("/changes/0/after", nullptr), HasSubstr("parts has to be in an object"));
  EXPECT_THAT(refusal("/micro_batches", 0), HasSubstr("micro_batches are a pipeline's"));
  EXPECT_THAT(refusal("/replicas", 0), HasSubstr("replicas are 1 at least"));
  EXPECT_THAT(refusal("/replicas", 3), HasSubstr("equal parts of its ranks"));
  EXPECT_THAT(refusal("/choice", "a\nb"), HasSubstr("choice has to be printable"));
  EXPECT_THAT(refusal("/generation", -1), HasSubstr("generation is out of range"));
  EXPECT_THAT(refusal("/lost_nodes", {"a b"}), HasSubstr("node has to be letters"));
  nlohmann::json divided = to_json(shares_plan("train", 1, 10));
  divided["replicas"] = 2;
  EXPECT_THAT(read_job_plan(divided).message(), HasSubstr("of a pipeline or a placement"));
  nlohmann::json placed = to_json(placement_plan("train", 2, 20));
  placed["ranks"][1]["part"] = 0.5;
  EXPECT_THAT(read_job_plan(placed).message(), HasSubstr("whole number of units"));
  nlohmann::json split = to_json(splits_plan("train", 1, 30));
  split["ranks"][1]["part"] = 1.5;
  EXPECT_THAT(read_job_plan(split).message(), HasSubstr("of the weights is at most 1"));
  nlohmann::json many = usual;
  while (many["changes"].size() <= kMaxPlanChanges) many["changes"].push_back(many["changes"][0]);
  EXPECT_THAT(read_job_plan(many).message(), HasSubstr("changes has too many entries"));
  EXPECT_FALSE(read_job_plan("text").ok());
  EXPECT_FALSE(read_job_plan(nullptr).ok());
}

TEST(PlanRecord, HostileTextIsNoRecord) {
  const std::string usual = to_text({1, "i", "a", 7, pipeline_plan("train", 1, 1)});
  ASSERT_TRUE(read_plan_record(usual).ok());
  EXPECT_EQ(read_plan_record(R"({"protocol": 9})").value().protocol, 9);
  for (const std::string& text :
       {std::string(), std::string("{"), std::string("[]"), std::string("null"),
        std::string(R"({"protocol": 1})"), std::string(1 << 20, '['),
        usual.substr(0, usual.size() / 2), std::string(kMaxPlanBytes + 1024, ' ') + usual}) {
    EXPECT_FALSE(read_plan_record(text).ok()) << text.substr(0, 40);
  }
}

TEST(LocalPlans, LaterPlanOfTheSameProcessTakesItsPlace) {
  LocalPlans plans;
  const PlanSource source = {7, 100};
  EXPECT_TRUE(plans.take(pipeline_plan("a", 2, 20), source, seconds(1)).ok());
  EXPECT_FALSE(plans.take(pipeline_plan("a", 1, 30), source, seconds(2)).ok());
  EXPECT_FALSE(plans.take(pipeline_plan("a", 2, 19), source, seconds(2)).ok());
  EXPECT_TRUE(plans.take(pipeline_plan("a", 2, 30), source, seconds(3)).ok());
  ASSERT_EQ(plans.all().size(), 1u);
  EXPECT_EQ(plans.all()[0].plan.step, 30);
  EXPECT_EQ(plans.all()[0].told, seconds(3));
  JobPlan anew = pipeline_plan("a", 1, 0);
  anew.run = "another";
  EXPECT_TRUE(plans.take(anew, source, seconds(4)).ok());
  plans.forget(101);
  EXPECT_EQ(plans.all().size(), 1u);
  plans.forget(100);
  EXPECT_THAT(plans.all(), IsEmpty());
}

TEST(LocalPlans, JobIsItsProcesssAndUsersAreApart) {
  LocalPlans plans;
  EXPECT_TRUE(plans.take(pipeline_plan("a", 1, 1), {7, 100}, seconds(1)).ok());
  EXPECT_TRUE(plans.take(pipeline_plan("a", 9, 9), {7, 101}, seconds(1)).ok());
  EXPECT_EQ(plans.all().size(), 2u);
  plans.forget(101);
  EXPECT_TRUE(plans.take(pipeline_plan("a", 1, 1), {8, 102}, seconds(1)).ok());
  for (std::size_t i = 1; i < kMaxLocalPlansOfUser; ++i) {
    EXPECT_TRUE(
        plans.take(pipeline_plan("b" + std::to_string(i), 1, 1), {7, 100}, seconds(1)).ok());
  }
  EXPECT_FALSE(plans.take(pipeline_plan("c", 1, 1), {7, 100}, seconds(1)).ok());
  EXPECT_EQ(plans.own().size(), kMaxLocalPlansOfUser + 1);
}

// A node with a lease, and its way to the store.
struct PlanNode {
  PlanNode(MemoryServer& server, const std::string& name, const std::string& owner)
      : store(server),
        lease(server.grant_lease(seconds(1000)).id),
        plans(std::make_unique<JobPlans>(store, JobPlans::Settings{kPlanKeys, name, owner})) {}

  void set_plan(const JobPlan& plan) { plans->set_own({{7, plan}}); }

  MemoryStore store;
  ClusterLease lease;
  std::unique_ptr<JobPlans> plans;
};

class JobPlansTest : public testing::Test {
 protected:
  void run(const std::vector<PlanNode*>& nodes, milliseconds time = seconds(8)) {
    for (milliseconds passed{0}; passed < time; passed += milliseconds(100)) {
      server_.advance(milliseconds(100));
      for (PlanNode* node : nodes) {
        node->plans->tick(server_.now(), node->lease);
        while (node->store.deliver()) node->plans->tick(server_.now(), node->lease);
      }
    }
  }
  JobPlans::View view(const PlanNode& node) { return node.plans->view(server_.now()); }
  PlanRecord stored(const std::string& job) {
    const KeyRange range = server_.get(kPlanKeys.plan(7, job, "run-of-" + job));
    return range.entries.empty() ? PlanRecord()
                                 : read_plan_record(range.entries.at(0).value).value();
  }

  MemoryServer server_;
};

TEST_F(JobPlansTest, EveryNodeSeesThePlanWhileTheLeaseLasts) {
  PlanNode a(server_, "a", "ia");
  PlanNode b(server_, "b", "ib");
  a.set_plan(pipeline_plan("train", 1, 10));
  run({&a, &b});
  ASSERT_EQ(view(b).plans.size(), 1u);
  EXPECT_EQ(view(b).plans[0].record.node, "a");
  EXPECT_EQ(view(b).plans[0].record.plan.step, 10);
  EXPECT_THAT(view(a).plans, IsEmpty());  // its own are known without the store
  a.set_plan(pipeline_plan("train", 2, 30));
  run({&a, &b});
  EXPECT_EQ(view(b).plans[0].record.plan.epoch, 2);
  EXPECT_TRUE(server_.revoke_lease(a.lease).ok());
  run({&b});
  EXPECT_THAT(view(b).plans, IsEmpty());
}

TEST_F(JobPlansTest, PlanOfJobThatEndedIsDeleted) {
  PlanNode a(server_, "a", "ia");
  a.set_plan(pipeline_plan("train", 1, 10));
  run({&a});
  EXPECT_EQ(stored("train").node, "a");
  a.plans->set_own({});
  run({&a});
  EXPECT_THAT(server_.get("").entries, IsEmpty());
}

TEST_F(JobPlansTest, NothingChangesWhileNothingIsTold) {
  PlanNode a(server_, "a", "ia");
  a.set_plan(pipeline_plan("train", 1, 10));
  run({&a});
  const int64_t revision = server_.get("").revision;
  const std::size_t delivered = a.store.delivered();
  run({&a}, seconds(30));
  EXPECT_EQ(server_.get("").revision, revision);
  EXPECT_LE(a.store.delivered() - delivered, 11u);
}

TEST_F(JobPlansTest, PlansToldInQuickSuccessionAreWrittenOnceASecond) {
  PlanNode a(server_, "a", "ia");
  for (int step = 0; step < 100; ++step) {
    a.set_plan(pipeline_plan("train", 1, step));
    run({&a}, milliseconds(100));
  }
  EXPECT_LE(a.store.delivered(), 33u);
  run({&a});
  EXPECT_EQ(stored("train").plan.step, 99);
}

// A daemon that is cut off and has the run's former plan, and another that has a later one.
TEST_F(JobPlansTest, EarlierPlanNeverTakesThePlaceOfLaterOne) {
  PlanNode a(server_, "a", "ia");
  PlanNode b(server_, "b", "ib");
  b.set_plan(pipeline_plan("train", 3, 50));
  run({&b});
  a.set_plan(pipeline_plan("train", 2, 90));
  run({&a, &b});
  EXPECT_EQ(stored("train").plan.epoch, 3);
  EXPECT_EQ(stored("train").node, "b");
  a.set_plan(pipeline_plan("train", 3, 60));
  run({&a});
  EXPECT_EQ(stored("train").plan.step, 60);
}

// What was read is compared in the transaction, however long that is under way.
TEST_F(JobPlansTest, TransactionThatComesLateChangesNothing) {
  PlanNode a(server_, "a", "ia");
  PlanNode b(server_, "b", "ib");
  a.set_plan(pipeline_plan("train", 1, 10));
  server_.advance(seconds(2));
  a.plans->tick(server_.now(), a.lease);
  ASSERT_TRUE(a.store.deliver());  // it has read that nothing is there
  ASSERT_EQ(a.store.waiting(), 1u);
  b.set_plan(pipeline_plan("train", 2, 20));
  run({&b});
  ASSERT_TRUE(a.store.deliver());
  EXPECT_EQ(stored("train").plan.epoch, 2);
}

TEST_F(JobPlansTest, JobsOfOneNameAreEachShown) {
  PlanNode a(server_, "a", "ia");
  PlanNode b(server_, "b", "ib");
  a.set_plan(pipeline_plan("train", 1, 10));
  JobPlan other = pipeline_plan("train", 9, 90);
  other.run = "another";
  b.set_plan(other);
  run({&a, &b});
  ASSERT_EQ(view(a).plans.size(), 1u);
  EXPECT_EQ(view(a).plans[0].record.plan.epoch, 9);
  ASSERT_EQ(view(b).plans.size(), 1u);
  EXPECT_EQ(view(b).plans[0].record.plan.epoch, 1);
  EXPECT_THAT(view(b).messages, IsEmpty());
  EXPECT_TRUE(server_.revoke_lease(a.lease).ok());
  run({&b});
  EXPECT_EQ(server_.get(kPlanKeys.plans()).entries.size(), 1u);
}

TEST_F(JobPlansTest, LostReplyIsSettledByReading) {
  PlanNode a(server_, "a", "ia");
  a.set_plan(pipeline_plan("train", 1, 10));
  server_.advance(seconds(2));
  a.plans->tick(server_.now(), a.lease);
  ASSERT_TRUE(a.store.deliver());
  a.store.lose_next_reply();
  ASSERT_TRUE(a.store.deliver());
  EXPECT_THAT(view(a).messages, ElementsAre(HasSubstr("plans of other nodes are not known")));
  run({&a});
  EXPECT_EQ(stored("train").plan.step, 10);
  EXPECT_THAT(view(a).messages, IsEmpty());
}

TEST_F(JobPlansTest, HostileKeysAreSaidAndShowNothing) {
  PlanNode a(server_, "a", "ia");
  const std::string elsewhere = to_text({1, "x", "b", 8, pipeline_plan("train", 1, 1)});
  ASSERT_TRUE(server_
                  .commit({{},
                           {put_key(kPlanKeys.plans() + "7/\x1b[2J", "{}"),
                            put_key(kPlanKeys.plan(7, "moved", "r"), elsewhere),
                            put_key(kPlanKeys.plan(7, "new", "r"), R"({"protocol": 2})")}})
                  .ok());
  run({&a});
  EXPECT_THAT(view(a).plans, IsEmpty());
  EXPECT_THAT(view(a).messages,
              ElementsAre(HasSubstr("job 7/?[2J cannot be read"),
                          HasSubstr("job 7/moved/r stands under another job's name"),
                          HasSubstr("job 7/new/r is of another version")));
}

TEST_F(JobPlansTest, NodeThatIsNoMemberAsksNothingAndKnowsNothing) {
  PlanNode a(server_, "a", "ia");
  PlanNode b(server_, "b", "ib");
  b.set_plan(pipeline_plan("train", 1, 10));
  run({&a, &b});
  EXPECT_EQ(view(a).plans.size(), 1u);
  const std::size_t delivered = a.store.delivered();
  a.lease = 0;
  run({&a});
  EXPECT_EQ(a.store.delivered(), delivered);
  EXPECT_THAT(view(a).plans, IsEmpty());
}

TEST_F(JobPlansTest, AnswerThatComesWhenItIsNoMemberAnyMoreCountsNothing) {
  PlanNode a(server_, "a", "ia");
  PlanNode b(server_, "b", "ib");
  a.set_plan(pipeline_plan("train", 1, 10));
  run({&a, &b});
  ASSERT_EQ(view(b).plans.size(), 1u);
  server_.advance(kPlanLook);
  b.plans->tick(server_.now(), b.lease);
  ASSERT_EQ(b.store.waiting(), 1u);
  b.plans->tick(server_.now(), 0);
  ASSERT_TRUE(b.store.deliver());
  EXPECT_THAT(view(b).plans, IsEmpty());
  run({&b});
  EXPECT_EQ(view(b).plans.size(), 1u);
}

}  // namespace
}  // namespace optile::daemon
