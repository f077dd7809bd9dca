#include "perfmodel/profile/curve.h"

#include <gtest/gtest.h>

namespace optile::perfmodel {
namespace {

Profile profile_of(const std::vector<std::pair<Configuration, int>>& points) {
  Profile profile;
  for (const auto& [at, ns] : points) profile.record(at, Nanoseconds(ns));
  return profile;
}

TEST(Curve, InterpolatesBetweenNeighboursOfSameBinding) {
  const Curve curve(profile_of(
      {{{4, Binding::kSpread}, 400}, {{8, Binding::kSpread}, 200}, {{6, Binding::kCompact}, 999}}));
  const auto point = curve.at({6, Binding::kSpread});
  ASSERT_TRUE(point.has_value());
  EXPECT_EQ(point->time, Nanoseconds(300));
  EXPECT_EQ(point->kind, PointKind::kInterpolated);
  EXPECT_FALSE(curve.at({6, Binding::kNone}).has_value());
}

TEST(Curve, ExtrapolatesWithLastSlope) {
  const Curve curve(profile_of(
      {{{1, Binding::kNone}, 100}, {{2, Binding::kNone}, 80}, {{3, Binding::kNone}, 70}}));
  EXPECT_EQ(curve.at({5, Binding::kNone})->time, Nanoseconds(50));
  EXPECT_EQ(curve.at({5, Binding::kNone})->kind, PointKind::kExtrapolated);
  EXPECT_EQ(curve.at({50, Binding::kNone})->time, Nanoseconds(1));
}

TEST(Curve, BestIsFastestSampledPoint) {
  const Curve curve(profile_of(
      {{{1, Binding::kNone}, 100}, {{2, Binding::kNone}, 60}, {{4, Binding::kNone}, 75}}));
  EXPECT_EQ(curve.best()->at.width, 2);
  EXPECT_FALSE(Curve().best().has_value());
}

TEST(PredictionAccuracy, FollowsFormulaOfPaper) {
  EXPECT_DOUBLE_EQ(*prediction_accuracy({{90, 100}, {120, 100}}), 0.85);
  EXPECT_FALSE(prediction_accuracy({}).has_value());
}

}  // namespace
}  // namespace optile::perfmodel
