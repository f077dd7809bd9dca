#include "perfmodel/profile/profile.h"

#include <gtest/gtest.h>

namespace optile::perfmodel {
namespace {

TEST(SampleSet, MedianIsRobustAgainstOneOutlier) {
  SampleSet set;
  for (int i = 0; i < 9; ++i) set.add(Nanoseconds(100 + i));
  set.add(Nanoseconds(1'000'000));
  EXPECT_EQ(set.count(), 10u);
  EXPECT_EQ(set.min(), Nanoseconds(100));
  EXPECT_NEAR(static_cast<double>(set.median().count()), 104.5, 1.0);
  EXPECT_GT(set.mean(), Nanoseconds(100'000));
  EXPECT_LT(set.median_error(), Nanoseconds(10));
}

TEST(SampleSet, MedianErrorIsUnboundedForTwoSamples) {
  SampleSet set;
  set.add(Nanoseconds(1));
  set.add(Nanoseconds(1));
  EXPECT_EQ(set.median_error(), Nanoseconds::max());
}

TEST(SampleSet, MeanErrorMatchesStudentIntervalOfBimodalSamples) {
  SampleSet set;
  for (int i = 0; i < 10; ++i) set.add(Nanoseconds(i % 2 == 0 ? 100 : 300));
  // Standard deviation 105.4, over the root of ten, times Student's 2.262, over 200.
  EXPECT_NEAR(relative_mean_error(set), 0.377, 0.01);
  EXPECT_EQ(relative_mean_error(SampleSet()), 0);
}

TEST(SampleSet, KeepsLatestSamples) {
  SampleSet set;
  for (int i = 0; i < 64; ++i) set.add(Nanoseconds(10));
  for (int i = 0; i < 64; ++i) set.add(Nanoseconds(20));
  EXPECT_EQ(set.kept().size(), SampleSet::kKept);
  EXPECT_EQ(set.median(), Nanoseconds(20));
  EXPECT_EQ(set.min(), Nanoseconds(10));
}

TEST(Profile, SeparatesSamplesByConfiguration) {
  Profile profile;
  profile.record({2, Binding::kCompact}, Nanoseconds(5));
  profile.record({2, Binding::kSpread}, Nanoseconds(7));
  EXPECT_EQ(profile.samples(), 2u);
  ASSERT_NE(profile.find({2, Binding::kSpread}), nullptr);
  EXPECT_EQ(profile.find({2, Binding::kSpread})->median(), Nanoseconds(7));
  EXPECT_EQ(profile.find({3, Binding::kSpread}), nullptr);
}

}  // namespace
}  // namespace optile::perfmodel
