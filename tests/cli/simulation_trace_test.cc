#include "bindings/cli/simulation_trace.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "bindings/cli/options.h"
#include "bindings/cli/simulation.h"
#include "sched/simulation/step_study.h"
#include "tests/sched/step_graphs.h"

namespace optile::cli {
namespace {

using Json = nlohmann::json;

TEST(SimulationTrace, HasOneTrackForEachGroupOfCoresAndEveryOpOnItsOwn) {
  for (const char* machine : {"knl", "core:4 pu:1", "pack:2 numa:1 l3:24 core:8 pu:2"}) {
    const sched::CoreMap map = sched::step_graphs::map_of(machine);
    const auto graph = sched::step_graphs::random_graph(map, 40, 3);
    const sched::StepOutline outline = sched::make_step_outline(graph, map);
    const auto study = sched::study_step(outline, {}, "paper");
    ASSERT_TRUE(study.ok());
    const Json trace = Json::parse(simulation_trace(outline, study.value().step, "a \"title\""));
    std::set<int> tracks;
    std::set<int> nodes;
    std::map<int, double> last_end;
    for (const Json& event : trace["traceEvents"]) {
      if (event["name"] == "thread_name") tracks.insert(event["tid"].get<int>());
    }
    for (const Json& event : trace["traceEvents"]) {
      if (event["ph"] != "X") continue;
      nodes.insert(event["args"]["node"].get<int>());
      EXPECT_TRUE(tracks.contains(event["tid"].get<int>()));
      EXPECT_GE(event["ts"].get<double>(), 0.0);
      EXPECT_GT(event["dur"].get<double>(), 0.0);
    }
    EXPECT_EQ(nodes.size(), graph.nodes.size());
    EXPECT_GE(tracks.size(), 4u);
    EXPECT_LE(static_cast<int>(tracks.size()), 2 * kMostTraceGroups) << machine;
  }
}

TEST(SimulateOptions, AreRead) {
  const auto parsed =
      parse_options({"simulate", "--machine", "knl", "--graph", "g.json", "--strategy", "s12",
                     "--json", "--trace", "t.json", "--seed", "7", "--noise", "0.1"});
  ASSERT_TRUE(parsed.ok()) << parsed.message();
  const Options& options = parsed.value().options;
  EXPECT_EQ(options.verb, Verb::kSimulate);
  EXPECT_EQ(options.machine, "knl");
  EXPECT_EQ(options.simulation.graph, "g.json");
  EXPECT_EQ(options.strategy, "s12");
  EXPECT_EQ(options.simulation.trace, "t.json");
  EXPECT_EQ(options.simulation.seed, 7u);
  EXPECT_EQ(options.simulation.noise, 0.1);
  EXPECT_FALSE(parse_options({"simulate"}).ok());
  EXPECT_FALSE(parse_options({"simulate", "--graph", "g", "--noise", "-1"}).ok());
}

TEST(Simulate, SaysWhatIsWrongAndFails) {
  const auto refusal = [](Options options) {
    testing::internal::CaptureStderr();
    EXPECT_NE(simulate(options), 0);
    return testing::internal::GetCapturedStderr();
  };
  Options options;
  options.verb = Verb::kSimulate;
  options.machine = "a toaster";
  EXPECT_NE(refusal(options).find("a toaster"), std::string::npos);
  options.machine = "knl";
  options.simulation.graph = "no-such-graph";
  EXPECT_NE(refusal(options).find("no network \"no-such-graph\""), std::string::npos);
}

}  // namespace
}  // namespace optile::cli
