#include "bindings/cli/simulate/simulation_trace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "bindings/cli/options.h"
#include "bindings/cli/simulate/simulation.h"
#include "sched/simulation/step_study.h"
#include "tests/cli/fixtures/files.h"
#include "tests/sched/strategies/step_graphs.h"

namespace optile::cli {
namespace {

using Json = nlohmann::json;

TEST(SimulationTrace, ShowsEveryOpOnTracksOfCoreGroups) {
  for (const char* machine :
       {"knl", "core:4 pu:1", "pack:2 numa:1 l3:24 core:8 pu:2", "numa:5 l2:19 core:2 pu:1"}) {
    const sched::CoreMap map = sched::step_graphs::map_of(machine);
    const auto graph = sched::step_graphs::random_graph(map, 40, 3);
    const sched::StepOutline outline = sched::make_step_outline(graph, map);
    const auto study = sched::study_step(outline, {}, "paper");
    ASSERT_TRUE(study.ok());
    const Json trace = Json::parse(simulation_trace(outline, study.value().step, "a \"title\""));
    std::set<int> tracks;
    std::set<int> nodes;
    std::set<std::string> groups;
    for (const Json& event : trace["traceEvents"]) {
      if (event["name"] != "thread_name") continue;
      tracks.insert(event["tid"].get<int>());
      const auto name = event["args"]["name"].get<std::string>();
      groups.insert(name.substr(0, name.find(" (")));
    }
    for (const Json& event : trace["traceEvents"]) {
      if (event["ph"] != "X") continue;
      nodes.insert(event["args"]["node"].get<int>());
      EXPECT_TRUE(tracks.contains(event["tid"].get<int>()));
      EXPECT_GE(event["ts"].get<double>(), 0.0);
      EXPECT_GT(event["dur"].get<double>(), 0.0);
    }
    EXPECT_EQ(nodes.size(), graph.nodes.size());
    EXPECT_GE(groups.size(), 4u);
    const auto own = std::count_if(groups.begin(), groups.end(), [](const std::string& name) {
      return name.find("hardware threads") == std::string::npos;
    });
    EXPECT_LE(own, kMostTraceGroups) << machine;
    EXPECT_LE(static_cast<int>(groups.size()), 2 * kMostTraceGroups) << machine;
  }
}

// What viewers ask of complete events: every field of its type, whole numbers as tracks, and slices
// of one track that follow each other, also once their times are cut to nanoseconds.
TEST(SimulationTrace, OpsOnTrackDoNotOverlap) {
  for (const char* strategy : {"paper", "auto", "uniform:5,7"}) {
    SCOPED_TRACE(strategy);
    const sched::CoreMap map = sched::step_graphs::map_of("pack:2 numa:1 l3:24 core:8 pu:2");
    const auto graph = sched::step_graphs::random_graph(map, 60, 4);
    const sched::StepOutline outline = sched::make_step_outline(graph, map);
    const auto study = sched::study_step(outline, {}, strategy);
    ASSERT_TRUE(study.ok());
    const Json trace = Json::parse(simulation_trace(outline, study.value().step, "a step"));
    EXPECT_EQ(trace["displayTimeUnit"], "ms");
    std::map<int, std::string> names;
    std::map<int, std::map<std::int64_t, std::int64_t>> slices;  // by track: ends by start
    for (const Json& event : trace["traceEvents"]) {
      EXPECT_TRUE(event["pid"].is_number_integer());
      EXPECT_TRUE(event["name"].is_string());
      if (event["name"] == "thread_name") names[event["tid"]] = event["args"]["name"];
      if (event["ph"] != "X") {
        EXPECT_EQ(event["ph"], "M");
        continue;
      }
      const auto start = static_cast<std::int64_t>(event["ts"].get<double>() * 1000.0);
      const auto lasts = static_cast<std::int64_t>(event["dur"].get<double>() * 1000.0);
      EXPECT_TRUE(slices[event["tid"]].emplace(start, start + lasts).second);
    }
    EXPECT_LE(slices.size(), names.size());
    for (const auto& [track, ends] : slices) {
      EXPECT_TRUE(names.contains(track));
      std::int64_t free = 0;
      for (const auto& [start, end] : ends) {
        EXPECT_GE(start, free) << names[track];
        free = end;
      }
    }
  }
}

TEST(SimulateOptions, ParsesFlagsAndRejectsInvalidOnes) {
  const auto parsed =
      parse_options({"simulate", "--machine", "knl", "--graph", "g.json", "--strategy", "s12",
                     "--json", "--trace", "t.json", "--seed", "7", "--noise", "0.1"});
  ASSERT_TRUE(parsed.ok()) << parsed.message();
  const Options& options = parsed.value().options;
  EXPECT_EQ(options.verb, Verb::kSimulate);
  EXPECT_EQ(options.simulation.machine, "knl");
  EXPECT_EQ(options.simulation.graph, "g.json");
  EXPECT_EQ(options.simulation.strategy, "s12");
  EXPECT_EQ(options.simulation.trace, "t.json");
  EXPECT_EQ(options.simulation.seed, 7u);
  EXPECT_EQ(options.simulation.noise, 0.1);
  EXPECT_FALSE(parse_options({"simulate"}).ok());
  EXPECT_FALSE(parse_options({"simulate", "--graph", "g", "--noise", "-1"}).ok());
}

TEST(Simulate, ReportsUnknownMachineOrGraph) {
  const auto refusal = [](Options options) {
    testing::internal::CaptureStderr();
    EXPECT_NE(simulate(options), 0);
    return testing::internal::GetCapturedStderr();
  };
  Options options;
  options.verb = Verb::kSimulate;
  options.simulation.machine = "a toaster";
  EXPECT_NE(refusal(options).find("a toaster"), std::string::npos);
  options.simulation.machine = "knl";
  options.simulation.graph = "no-such-graph";
  EXPECT_NE(refusal(options).find("no network \"no-such-graph\""), std::string::npos);
}

TEST(Simulate, AcceptsMachineFileWithNonUtf8Name) {
  const TemporaryDirectory folder;
  Options options;
  options.verb = Verb::kSimulate;
  options.simulation.machine = write_file(folder / "\xff.xml", read_file(OPTILE_MACHINE_FILE));
  options.simulation.graph = "dcgan";
  options.simulation.strategy = "recommendation";
  options.json = true;
  testing::internal::CaptureStdout();
  EXPECT_EQ(simulate(options), 0);
  const Json told = Json::parse(testing::internal::GetCapturedStdout());
  EXPECT_TRUE(told["machine"].get<std::string>().ends_with("\xef\xbf\xbd.xml")) << told;
}

}  // namespace
}  // namespace optile::cli
