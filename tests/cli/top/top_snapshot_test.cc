#include "bindings/cli/top/snapshot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace optile::cli {
namespace {

using testing::ElementsAre;

Answers good_answers() {
  Answers answers;
  answers.status = Json::parse(R"({"pid": 9, "version": "1.0",
      "machine": {"name": "box", "numa_nodes": 1, "cores": 4},
      "clients": [
        {"id": 4, "pid": 44, "program": "infer", "arguments": "", "mode": "observe",
         "state": "stopped", "phase": "observing", "steps": 3,
         "steps_per_second": null, "widths": null, "trials": null},
        {"id": 2, "pid": 22, "program": "./src/train.py",
         "arguments": "python3 ./src/train.py --fast", "mode": "tune",
         "state": "running", "phase": "tuned", "steps": 12, "sampled_steps": 5,
         "decision": "planned widths won", "steps_per_second": 6.6,
         "widths": {"least": 1, "most": 3}, "trials": {"ops": 2, "widths": [1, 2]}}]})");
  answers.leases =
      Json::parse(R"({"budget": {"cores": 3, "units": [0, 1, 4], "limited_by": "cpuset"},
      "held_cores": 1.5, "lent_cores": 1, "cause": "client 2 arrived",
      "recent": [{"at": "2026-11-21T10:20:30Z", "client": 2, "text": "client 2 from no core"}],
      "clients": [{"id": 2, "cores": [1, 0], "fraction": 1.0, "lends": [0], "borrowed": 1,
                   "share": 2.5, "priority": "batch", "idle": true, "paused": true, "pinned": true,
                   "late": true, "reason": "why",
                   "progress": {"value": 0.5, "measured": true}}]})");
  answers.machine = Json::parse(R"({"tiles": [
      {"numa_node": 0, "cores": [{"core": 0, "units": [0, 4]}, {"core": 1, "units": [1, 5]}]},
      {"numa_node": 0, "cores": [{"core": 2, "units": [2, 6]}]}]})");
  return answers;
}

TEST(ReadSnapshot, ReadsDaemonAnswers) {
  const auto read = read_snapshot(good_answers(), false);
  ASSERT_TRUE(read.ok());
  const Snapshot& seen = read.value();
  EXPECT_EQ(seen.daemon_pid, 9);
  EXPECT_EQ(seen.budget_cores, 3u);
  EXPECT_EQ(seen.limited_by, "cpuset");
  EXPECT_EQ(seen.leased_cores, 1.5);
  EXPECT_EQ(seen.cause, "client 2 arrived");
  ASSERT_EQ(seen.recent.size(), 1u);
  EXPECT_EQ(seen.recent[0].at, "10:20:30");
  EXPECT_EQ(seen.cores, 3u);
  ASSERT_EQ(seen.tiles.size(), 2u);
  EXPECT_TRUE(seen.tiles[0].cores[1].granted);
  EXPECT_FALSE(seen.tiles[1].cores[0].granted);
  ASSERT_EQ(seen.clients.size(), 2u);
  const ClientSeen& train = seen.clients[0];  // by id
  EXPECT_EQ(train.command, "train.py --fast");
  EXPECT_THAT(train.cores, ElementsAre(0, 1));
  EXPECT_THAT(train.lends, ElementsAre(0));
  EXPECT_EQ(train.steps_per_second, 6.6);
  EXPECT_EQ(train.progress, 0.5);
  EXPECT_TRUE(train.leased && train.borrows && train.idle && train.paused && train.pinned &&
              train.late && train.progress_measured);
  EXPECT_EQ(train.trial_ops, 2u);
  const ClientSeen& infer = seen.clients[1];
  EXPECT_FALSE(infer.leased);
  EXPECT_FALSE(infer.steps_per_second);
  EXPECT_FALSE(infer.progress);
  EXPECT_EQ(seen.find(4), &infer);
  EXPECT_EQ(seen.find(5), nullptr);
}

TEST(ReadSnapshot, MissingFieldsHaveDefaults) {
  const auto read = read_snapshot({Json::object(), Json::object(), Json::object()}, false);
  ASSERT_TRUE(read.ok());
  EXPECT_TRUE(read.value().clients.empty());
  EXPECT_EQ(read.value().numa_nodes, 1u);
}

TEST(ReadSnapshot, SanitisesForeignTexts) {
  Answers answers = good_answers();
  answers.status["clients"][0]["program"] = "evil\x1b[31m\nname";
  answers.leases["cause"] = "tr\xc3\xa4ne\x07";
  const auto read = read_snapshot(answers, false);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read.value().clients[1].command, "evil?[31m?name");
  EXPECT_EQ(read.value().cause, "tr?ne?");
}

// Every field of every answer in turn becomes something else: never a crash, and an error says so.
TEST(ReadSnapshot, SurvivesFieldsOfWrongType) {
  const std::vector<Json> odd = {
      nullptr,           -1,          1e300, "text", true, Json::array(), Json::object(),
      {1, "x", nullptr}, {{"id", -5}}};
  std::size_t tried = 0;
  for (int which = 0; which < 3; ++which) {
    const Answers good = good_answers();
    const Json& whole = which == 0 ? good.status : (which == 1 ? good.leases : good.machine);
    const Json fields = whole.flatten();
    for (const auto& [pointer, value] : fields.items()) {
      for (const Json& other : odd) {
        // The field itself, and what it lies in.
        for (Json::json_pointer at(pointer); !at.empty(); at.pop_back()) {
          Answers answers = good;
          Json& part =
              which == 0 ? answers.status : (which == 1 ? answers.leases : answers.machine);
          part[at] = other;
          const auto read = read_snapshot(answers, true);
          EXPECT_TRUE(read.ok() || !read.message().empty());
          ++tried;
        }
      }
    }
  }
  EXPECT_GT(tried, 500u);
}

}  // namespace
}  // namespace optile::cli
