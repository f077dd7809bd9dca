#include "bindings/cli/cluster/plan_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bindings/cli/cluster/plan_words.h"
#include "tests/cli/fixtures/golden.h"

namespace optile::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

Json pipeline() {
  return Json::parse(R"({
    "job": "train.py", "run": "r", "node": "node0", "seen_seconds": 1.24, "epoch": 3, "step": 120,
    "since_step": 80, "kind": "pipeline", "schedule": "1f1b", "micro_batches": 4,
    "predicted_seconds": 0.0121, "measured_seconds": 0.0126,
    "ranks": [
      {"node": "node0", "part": 6, "busy_seconds": 0.0101, "busy": 0.8, "whole_seconds": 0.016},
      {"node": "node1", "part": 2, "busy_seconds": 0.0098, "busy": 0.78, "whole_seconds": 0.04}],
    "changes": [
      {"step": 30, "before": {"parts": [4, 4], "micro_batches": 4},
       "after": {"parts": [6, 2], "micro_batches": 4}, "whole_seconds": [0.016, 0.04],
       "predicted": 1.3, "measured": 1.28, "kept": true, "reason": ""},
      {"step": 70, "before": {"parts": [6, 2], "micro_batches": 4},
       "after": {"parts": [5, 3], "micro_batches": 8}, "whole_seconds": [0.016, 0.03],
       "predicted": 1.2, "measured": 1.01, "kept": false,
       "reason": "steps were 1.01 times as fast and not 1.20"}]})");
}

Json shares() {
  return Json::parse(R"({
    "job": "shares.py", "run": "r", "node": "node0", "seen_seconds": 0.3, "epoch": 2, "step": 30,
    "since_step": 20, "kind": "shares", "schedule": "", "micro_batches": 0,
    "predicted_seconds": 2.4, "measured_seconds": null,
    "ranks": [
      {"node": "node0", "part": 0.6667, "busy_seconds": null, "busy": null, "whole_seconds": null},
      {"node": "node2", "part": 0.3333, "busy_seconds": 0.5, "busy": 1, "whole_seconds": 1.5}],
    "changes": [
      {"step": 20, "before": {"parts": [0.5, 0.5], "micro_batches": 0},
       "after": {"parts": [0.6667, 0.3333], "micro_batches": 0}, "whole_seconds": [0.75, 1.5],
       "predicted": 1.33, "measured": null, "kept": true, "reason": ""}]})");
}

Json placement() {
  return Json::parse(R"({
    "job": "placed.py", "run": "r", "node": "node0", "seen_seconds": 0.3, "epoch": 2, "step": 60,
    "since_step": 40, "kind": "placement", "schedule": "", "micro_batches": 0,
    "predicted_seconds": 0.31, "measured_seconds": 0.33,
    "ranks": [
      {"node": "node0", "part": 12, "busy_seconds": 0.3, "busy": 0.9, "whole_seconds": 0.5},
      {"node": "node1", "part": 4, "busy_seconds": 0.2, "busy": 0.6, "whole_seconds": 1.1}],
    "changes": [
      {"step": 40, "before": {"parts": [8, 8], "micro_batches": 0},
       "after": {"parts": [12, 4], "micro_batches": 0}, "whole_seconds": [0.5, 1.1],
       "predicted": 1.5, "measured": 1.4, "kept": true, "reason": ""}]})");
}

// Two replicas of two ranks.
Json hybrid() {
  Json plan = pipeline();
  plan["job"] = "hybrid.py";
  plan["replicas"] = 2;
  plan["choice"] = "2 ranks run a model 1.31 times as fast as one (measured), epochs as given";
  for (const char* node : {"node2", "node3"}) {
    Json rank = plan["ranks"][plan["ranks"].size() - 2];
    rank["node"] = node;
    plan["ranks"].push_back(rank);
  }
  const auto repeat = [](Json& of_ranks) {
    of_ranks.push_back(of_ranks[0]);
    of_ranks.push_back(of_ranks[1]);
  };
  for (Json& change : plan["changes"]) {
    repeat(change["before"]["parts"]);
    repeat(change["after"]["parts"]);
    repeat(change["whole_seconds"]);
  }
  return plan;
}

Json splits() {
  return Json::parse(R"({
    "job": "vgg.py", "run": "r", "node": "node0", "seen_seconds": 0.2, "epoch": 1, "step": 30,
    "since_step": 0, "kind": "splits", "schedule": "", "micro_batches": 0,
    "predicted_seconds": 0.41, "measured_seconds": 0.43,
    "ranks": [
      {"node": "node0", "part": 0.525, "busy_seconds": 0.4, "busy": 0.93, "whole_seconds": 0.8},
      {"node": "node1", "part": 0.525, "busy_seconds": 0.3, "busy": 0.7, "whole_seconds": 0.6}],
    "changes": []})");
}

Json answer(const std::vector<Json>& plans) {
  return {{"plans", plans}, {"messages", Json::array()}};
}

Json cluster() {
  return Json::parse(R"({
    "state": "member",
    "nodes": [{"name": "node0"}, {"name": "node1"}, {"name": "node3"}]})");
}

TEST(PlanText, MatchesGoldenFile) {
  Golden golden("cluster_plan");
  const Json both = answer({shares(), pipeline()});
  golden.add("plan", plan_text(both, "").value());
  golden.add("explain 0", explanation_of_stage(both, "train.py", "0").value());
  golden.add("explain node1", explanation_of_stage(both, "train.py", "node1").value());
  golden.add("explain a share", explanation_of_stage(both, "shares.py", "1").value());
  golden.add("nodes", node_table(cluster(), both));
  golden.add("a placement", plan_text(answer({placement()}), "").value());
  golden.add("explain a placement",
             explanation_of_stage(answer({placement()}), "", "node1").value());
  golden.add("a hybrid", plan_text(answer({hybrid()}), "").value());
  golden.add("explain a hybrid", explanation_of_stage(answer({hybrid()}), "", "node3").value());
  for (const char* state : {"accepted", "asked", "unreachable", "refused", "none"}) {
    Json published = splits();
    published["publication"] = state;
    published["publication_reason"] = "etcd does not answer at 10.0.0.1:2379";
    golden.add(state, plan_text(answer({published}), "").value());
  }
  golden.add("splits", plan_text(answer({splits()}), "").value());
  golden.add("explain splits", explanation_of_stage(answer({splits()}), "", "node1").value());
  golden.check();
}

TEST(PlanText, WhatIsNotThereIsSaid) {
  const Json both = answer({shares(), pipeline()});
  EXPECT_THAT(plan_text(answer({}), "").message(), HasSubstr("optile.distributed"));
  EXPECT_THAT(explanation_of_stage(answer({}), "", "0").message(), HasSubstr("no job has told"));
  EXPECT_THAT(plan_text(both, "other").message(),
              HasSubstr("no job is called other here; there is shares.py, train.py"));
  EXPECT_THAT(explanation_of_stage(both, "", "0").message(),
              HasSubstr("several jobs: say --job, one of shares.py, train.py"));
  EXPECT_EQ(explanation_of_stage(answer({pipeline()}), "", "7").message(),
            "there is no stage 7; job train.py has 0 (node0), 1 (node1)");
  EXPECT_EQ(explanation_of_stage(answer({shares()}), "", "node1").message(),
            "there is no rank node1; job shares.py has 0 (node0), 1 (node2)");
  Json here = pipeline();
  here["ranks"][1]["node"] = "node0";
  EXPECT_THAT(explanation_of_stage(answer({here}), "", "node0").message(),
              HasSubstr("node node0 runs several"));
}

TEST(StageJson, HasTheRankAndTheWholePlan) {
  const base::Result<Json> found = stage_json(answer({pipeline(), shares()}), "shares.py", "node2");
  ASSERT_TRUE(found.ok()) << found.message();
  EXPECT_EQ(found.value(), (Json{{"rank", 1}, {"plan", shares()}, {"messages", Json::array()}}));
  EXPECT_FALSE(stage_json(answer({pipeline(), shares()}), "", "1").ok());
  EXPECT_FALSE(stage_json(answer({pipeline()}), "", "7").ok());
}

// Whatever a daemon of another version, or a liar, sends.
TEST(PlanText, ChangeThatCouldNotBeComparedIsKeptAndSaysWhy) {
  Json tried = pipeline();
  tried["changes"][1]["measured"] = nullptr;
  tried["changes"][1]["kept"] = true;
  tried["changes"][1]["reason"] = "not compared: the speed of a rank changed meanwhile";
  EXPECT_THAT(plan_text(answer({tried}), "").value(),
              HasSubstr("1.20 times as fast: kept; not compared: the speed of a rank changed"));
}

TEST(PlanText, GenerationAndLostNodesAreShownOfJobsThatOutliveTheirNodes) {
  Json elastic = pipeline();
  elastic["generation"] = 3;
  elastic["lost_nodes"] = {"node2", "node4"};
  const Json plans = answer({elastic, shares()});
  EXPECT_EQ(generation_lines(plans), "job train.py: generation 3, without node2, node4\n");
  EXPECT_THAT(plan_text(plans, "").value(),
              HasSubstr("4 micro-batches; generation 3, without node2, node4\nplan "));
  EXPECT_THAT(node_table(cluster(), plans), HasSubstr("\njob train.py: generation 3, without"));
  elastic["lost_nodes"] = Json::array();
  EXPECT_EQ(generation_lines(answer({elastic})), "job train.py: generation 3\n");
  EXPECT_EQ(generation_lines(answer({shares(), pipeline()})), "");
}

TEST(PlanText, HostileAnswersMoveNoCursor) {
  Json hostile = pipeline();
  hostile["job"] = "\x1b[2Jjob";
  hostile["schedule"] = "a\nb";
  hostile["generation"] = 2;
  hostile["lost_nodes"] = {"\x1b[2J", 7};
  hostile["ranks"][0]["node"] = "\x1b]0;title\x07";
  hostile["changes"][1]["reason"] = "\r\x1b[31m";
  hostile["changes"][0]["before"]["parts"] = {1e300, -5, "x"};
  hostile["changes"][0]["whole_seconds"] = Json::array();
  Json with_note = answer({hostile});
  with_note["messages"] = {"\x1b[0m"};
  for (const std::string& text :
       {plan_text(with_note, "").value(), explanation_of_stage(with_note, "", "0").value(),
        explanation_of_stage(with_note, "", "1").value(), node_table(cluster(), with_note)}) {
    EXPECT_THAT(text, Not(HasSubstr("\x1b")));
    EXPECT_THAT(text, Not(HasSubstr("\r")));
    EXPECT_THAT(text, Not(HasSubstr("a\nb")));
  }
  EXPECT_FALSE(plan_text(Json::object(), "").ok());
}

}  // namespace
}  // namespace optile::cli
