#include "tuner/search/scaling_law.h"

#include <gtest/gtest.h>

namespace optile::tuner {
namespace {

TEST(ScalingLaw, RecoversTermsFromExactPoints) {
  const ScalingLaw truth{2e6, 30e6, 0.1e6};
  std::vector<LawPoint> points;
  for (int width : {1, 2, 4, 8, 16}) points.push_back({width, truth.at(width)});
  const std::optional<ScalingLaw> law = fit_scaling_law(points);
  ASSERT_TRUE(law.has_value());
  EXPECT_NEAR(law->serial_ns / truth.serial_ns, 1, 1e-6);
  EXPECT_NEAR(law->parallel_ns / truth.parallel_ns, 1, 1e-6);
  EXPECT_NEAR(law->overhead_ns / truth.overhead_ns, 1, 1e-6);
}

TEST(ScalingLaw, NeedsThreeDifferentWidths) {
  EXPECT_FALSE(fit_scaling_law({}).has_value());
  EXPECT_FALSE(fit_scaling_law({{1, 5e6}, {2, 3e6}, {2, 3.1e6}}).has_value());
}

TEST(ScalingLaw, IgnoresInvalidPoints) {
  EXPECT_FALSE(fit_scaling_law({{1, 5e6}, {2, 3e6}, {4, 0}, {0, 1e6}}).has_value());
}

}  // namespace
}  // namespace optile::tuner
