// What commands about placement print.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "bindings/cli/place/place_output.h"
#include "placement/import/importer.h"

namespace optile::cli {
namespace {

TEST(PlaceOutput, NamesThatAreNoUtf8AreReplaced) {
  const auto model = placement::read_model(
      "n\xff -- L -- forward_compute_time=1, backward_compute_time=1, activation_size=1, "
      "parameter_size=1\n");
  ASSERT_TRUE(model.ok()) << model.message();
  placement::Answer answer;
  answer.assignment = {0};
  answer.load = answer.memory = {2};
  const auto cluster = placement::Cluster::uniform(1, 0, 1e9);
  const auto json = nlohmann::json::parse(answer_json(answer, model.value(), cluster, "load"));
  EXPECT_EQ(json["nodes"][0], "n\xef\xbf\xbd");
}

}  // namespace
}  // namespace optile::cli
