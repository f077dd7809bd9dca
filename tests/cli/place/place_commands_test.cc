// What commands about placement print, and how they refuse.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "bindings/cli/place/assistants_command.h"
#include "bindings/cli/place/compare_command.h"
#include "bindings/cli/place/parallelism_command.h"
#include "bindings/cli/place/place_output.h"
#include "placement/import/importer.h"
#include "tests/cli/fixtures/files.h"

namespace optile::cli {
namespace {

using testing::HasSubstr;

template <typename Command>
std::string refusal_of(Command command) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(command(), 125);
  return testing::internal::GetCapturedStderr();
}

TEST(PlaceOutput, ReplacesInvalidUtf8InNames) {
  const auto model = placement::read_model(
      "n\xff -- L -- forward_compute_time=1, backward_compute_time=1, activation_size=1, "
      "parameter_size=1\n");
  ASSERT_TRUE(model.ok()) << model.message();
  placement::Answer answer;
  answer.assignment = {0};
  answer.load = answer.memory = {2};
  const auto cluster = placement::Cluster::uniform(1, 0, 1e9);
  const auto json = nlohmann::json::parse(
      answer_json(answer, model.value(), cluster, placement::Objective::kLoad));
  EXPECT_EQ(json["nodes"][0], "n\xef\xbf\xbd");
}

TEST(Compare, NamesUnreadableFolder) {
  const TemporaryDirectory folder;
  CompareOptions options;
  options.graphs = folder / "none";
  const auto compare = [&] { return compare_methods(options); };
  EXPECT_THAT(refusal_of(compare), HasSubstr("none: No such file or directory"));
  options.graphs = write_file(folder / "graph.json", "{}");
  EXPECT_THAT(refusal_of(compare), HasSubstr("graph.json: Not a directory"));
}

std::string nodes_line(const std::string& rule = R"("theta":0.8,"gamma":0.5)") {
  return R"({"devices":2,"rules":[{"resource":"compute",)" + rule +
         R"(,"choice":"largest-demand","samples":2,"cool_down":9,"margin":0}],)"
         R"("nodes":[{"name":"a","owner":0,"bound":"compute","demand":0.1,"bytes":1},)"
         R"({"name":"b","owner":0,"bound":"memory","demand":0.1,"bytes":1}]})"
         "\n";
}

std::string sample_line(double first) {
  return R"({"steps":5,"samples":[{"compute":)" + std::to_string(first) +
         R"(,"free_bytes":9},{"compute":0.1,"free_bytes":9}]})"
         "\n";
}

TEST(Assistants, AnswerEachLineOfSamples) {
  std::istringstream in(nodes_line() + sample_line(0.7) + sample_line(0.9));
  std::ostringstream out;
  EXPECT_EQ(assist_devices(in, out), 0);
  std::istringstream answers(out.str());
  std::string first;
  std::string second;
  std::getline(answers, first);
  std::getline(answers, second);
  EXPECT_EQ(nlohmann::json::parse(first),
            nlohmann::json::parse(R"({"handovers":[],"owners":[0,0]})"));
  EXPECT_EQ(nlohmann::json::parse(second), nlohmann::json::parse(R"({"handovers":[{"node":"a",
      "from":0,"to":1,"resource":"compute","demand":0.1}],"owners":[1,0]})"));
}

TEST(Assistants, RefuseLineByItsNumber) {
  const auto refusal = [](const std::string& lines) {
    return refusal_of([&lines] {
      std::istringstream in(lines);
      std::ostringstream out;
      return assist_devices(in, out);
    });
  };
  EXPECT_THAT(refusal(nodes_line() + "\n"), HasSubstr("line 2: "));
  EXPECT_THAT(refusal(sample_line(1)), HasSubstr("line 1: samples before nodes"));
  EXPECT_THAT(refusal("{}\n"), HasSubstr("line 1: it has no nodes and no samples"));
  EXPECT_THAT(refusal(nodes_line(R"("theta":0.4,"gamma":0.5)")), HasSubstr("gamma is above theta"));
  EXPECT_THAT(refusal(nodes_line() + R"({"steps":1,"samples":[]})"
                                     "\n"),
              HasSubstr("line 2: 0 samples of 2 devices"));
  EXPECT_THAT(refusal(nodes_line() + R"({"devices":3,"rules":[],"nodes":[]})"
                                     "\n"),
              HasSubstr("there are no nodes in it"));
}

TEST(Parallelism, RejectsNonFiniteAndDuplicateNumbers) {
  ParallelismOptions options;
  options.devices = {64};
  options.epochs = {"32:4", "64:7"};
  options.speedups = {"2:1.3"};
  const auto advise = [&] { return advise_parallelism(options); };
  options.speedups = {"2:nan"};
  EXPECT_THAT(refusal_of(advise), HasSubstr("\"2:nan\" is no pair"));
  options.speedups = {"2:1.3"};
  options.epochs.emplace_back("32:5");
  EXPECT_THAT(refusal_of(advise), HasSubstr("\"32:5\" is the second number for 32"));
}

}  // namespace
}  // namespace optile::cli
