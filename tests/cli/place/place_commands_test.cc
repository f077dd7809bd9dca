// What commands about placement print, and how they refuse.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

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
