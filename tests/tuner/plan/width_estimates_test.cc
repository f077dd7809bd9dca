#include "tuner/plan/width_estimates.h"

#include <gtest/gtest.h>

#include <cmath>

namespace optile::tuner {
namespace {

using perfmodel::Binding;
using perfmodel::Nanoseconds;

void record(OpSamples& samples, int width, std::vector<double> ms) {
  for (double one : ms) {
    samples.profile.record({width, Binding::kNone}, Nanoseconds(std::llround(1e6 * one)));
  }
}

EstimateOptions estimate_options(int own) {
  EstimateOptions options;
  options.own = {own, Binding::kNone};
  for (int width = 1; width < own; ++width) options.widths.push_back(width);
  return options;
}

TEST(WidthEstimates, ErrorGrowsFromMeasuredToExtrapolatedWidths) {
  OpSamples samples;
  record(samples, 8, {10, 10, 10});
  record(samples, 4, {12, 12, 12});
  samples.touched[{2, Binding::kNone}] = Nanoseconds(40'000'000);
  const auto found = estimate_widths({{1, &samples}}, estimate_options(8));
  ASSERT_EQ(found.size(), 1u);
  std::map<int, WidthEstimate> by_width;
  for (const WidthEstimate& one : found[0]) by_width[one.width] = one;
  EXPECT_DOUBLE_EQ(by_width.at(4).ns, 12e6);
  EXPECT_NEAR(by_width.at(6).ns, 11e6, 1);
  EXPECT_DOUBLE_EQ(by_width.at(2).ns, 40e6) << "a first touch is better than a guess";
  EXPECT_GT(by_width.at(6).error_ns, by_width.at(4).error_ns);
  EXPECT_GT(by_width.at(1).error_ns, by_width.at(6).error_ns);

  const OpSamples nothing;
  EXPECT_TRUE(estimate_widths({{1, &nothing}}, estimate_options(8))[0].empty());
}

TEST(WidthEstimates, OpPlacesOfOneKeyShareSamples) {
  OpSamples places[10];
  std::vector<EstimateSource> sources;
  for (int i = 0; i < 10; ++i) {
    record(places[i], 4, {10, 10.4, 9.6, 10.2, 9.8});
    const double off = 0.2 * (i % 5 - 2);
    record(places[i], 2, {8.0 + off, 8.4 + off, 7.6 + off, 8.2 + off});
    sources.push_back({7, &places[i]});
  }
  const auto alone = estimate_widths({sources[0]}, estimate_options(4));
  const auto together = estimate_widths(sources, estimate_options(4));
  ASSERT_EQ(together[0].size(), alone[0].size());
  for (std::size_t i = 0; i < alone[0].size(); ++i) {
    if (alone[0][i].width != 2) continue;
    EXPECT_LT(together[0][i].error_ns, alone[0][i].error_ns);
    EXPECT_NEAR(together[0][i].ns, 8e6, 0.15e6);
    EXPECT_NEAR(alone[0][i].ns, 7.7e6, 0.1e6);
  }
}

TEST(WidthEstimates, ClearlyDifferentOpPlaceKeepsOwnEstimate) {
  OpSamples places[6];
  std::vector<EstimateSource> sources;
  for (int i = 0; i < 6; ++i) {
    record(places[i], 4, {10, 10.1, 9.9, 10, 10});
    const double at_two = i == 0 ? 14 : 8;
    record(places[i], 2, {at_two, at_two + 0.1, at_two - 0.1, at_two});
    sources.push_back({7, &places[i]});
  }
  const auto found = estimate_widths(sources, estimate_options(4));
  for (const WidthEstimate& one : found[0]) {
    if (one.width != 2) continue;
    EXPECT_NEAR(one.ns, 14e6, 0.2e6);
  }
}

}  // namespace
}  // namespace optile::tuner
