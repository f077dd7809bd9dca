#include "tuner/search/trial_schedule.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/tuner/cases.h"

namespace optile::tuner {
namespace {

using perfmodel::Binding;
using perfmodel::Configuration;

// A search that wishes what it is told.
class FixedSearch final : public Search {
 public:
  FixedSearch(std::vector<Wish> wishes, Configuration best, double loss_ns)
      : wishes_(std::move(wishes)), best_(best), loss_ns_(loss_ns) {}
  void review() override {}
  std::vector<Wish> wishes() const override { return wishes_; }
  bool tolerates(Configuration, double slack_ns) const override { return loss_ns_ <= slack_ns; }
  Configuration best() const override { return best_; }
  Rule rule() const override { return Rule::kFastest; }

 private:
  std::vector<Wish> wishes_;
  Configuration best_;
  double loss_ns_;
};

TrialOptions trial_options(int own) {
  TrialOptions options;
  options.own = threads(own);
  options.switching_ns = 25e3;
  return options;
}

TEST(TrialSchedule, RunsEveryWishAndAddsControls) {
  const FixedSearch search({{threads(1), 1}, {threads(2), 3}, {threads(3), 3}}, threads(4), 0);
  const TrialPage page = make_trial_page({{&search, 1e6, 1}}, trial_options(4));
  ASSERT_LE(page.bindings.size(), 16u);
  const std::vector<int>& widths = page.widths[0];
  EXPECT_EQ(std::count(widths.begin(), widths.end(), 1), 1);
  EXPECT_EQ(std::count(widths.begin(), widths.end(), 2), 3);
  EXPECT_EQ(std::count(widths.begin(), widths.end(), 3), 3);
  for (std::size_t i = 0; i < widths.size(); ++i) EXPECT_EQ(widths[i] == 0, page.control[i]);
  const auto first = std::find(page.control.begin(), page.control.end(), true);
  EXPECT_NE(first, page.control.end());
  EXPECT_TRUE(page.control.back());
}

TEST(TrialSchedule, LimitsPageToSixteenSteps) {
  std::vector<Wish> wishes;
  for (int width = 1; width < 32; ++width) wishes.push_back({threads(width), 3});
  const FixedSearch search(wishes, threads(32), 0);
  EXPECT_EQ(make_trial_page({{&search, 1e6, 1}}, trial_options(32)).bindings.size(), 16u);
}

TEST(TrialSchedule, IsEmptyWithoutWishes) {
  const FixedSearch decided({}, threads(2), 0);
  EXPECT_TRUE(make_trial_page({{&decided, 1e6, 1}, {nullptr, 1e6, 1}}, trial_options(4)).empty());
}

TEST(TrialSchedule, LosingOpsKeepBestWidthAndCheapOpsFollow) {
  const FixedSearch wants({{threads(2), 1}}, threads(4), 0);
  const FixedSearch loses({}, threads(1), 5e6);
  const FixedSearch cheap({}, threads(4), 10e3);
  const TrialPage page = make_trial_page(
      {{&wants, 1e6, 1}, {&loses, 1e6, 1}, {&cheap, 1e6, 1}, {nullptr, 1e6, 1}}, trial_options(4));
  ASSERT_FALSE(page.empty());
  EXPECT_EQ(page.widths[0][0], 2);
  EXPECT_EQ(page.widths[1][0], 1);
  EXPECT_EQ(page.widths[2][0], 2);
  EXPECT_EQ(page.widths[3][0], 0);
}

TEST(TrialSchedule, LongOpsTryDifferentWidthsInOneStep) {
  const FixedSearch a({{threads(20), 1}}, threads(32), 5e9);
  const FixedSearch b({{threads(12), 1}}, threads(32), 5e9);
  TrialOptions options = trial_options(32);
  options.controls = false;
  const TrialPage long_ops = make_trial_page({{&a, 50e6, 1}, {&b, 50e6, 1}}, options);
  EXPECT_EQ(long_ops.bindings.size(), 1u);
  const TrialPage short_ops = make_trial_page({{&a, 50e3, 1}, {&b, 50e3, 1}}, options);
  EXPECT_EQ(short_ops.bindings.size(), 2u);
}

TEST(TrialSchedule, UsesOneBindingPerStep) {
  const FixedSearch search({{threads(4, Binding::kSpread), 2}, {threads(4, Binding::kCompact), 2}},
                           threads(8), 5e9);
  const TrialPage page = make_trial_page({{&search, 50e6, 1}}, trial_options(8));
  int spread = 0;
  int compact = 0;
  for (std::size_t i = 0; i < page.bindings.size(); ++i) {
    EXPECT_TRUE(!page.control[i] || page.bindings[i] == Binding::kNone);
    spread += page.bindings[i] == Binding::kSpread ? 1 : 0;
    compact += page.bindings[i] == Binding::kCompact ? 1 : 0;
  }
  EXPECT_EQ(spread, 2);
  EXPECT_EQ(compact, 2);
}

TEST(TrialSchedule, DropsWishesOfNegligibleOps) {
  const FixedSearch sliver({{threads(1), 1}}, threads(4), 0);
  const FixedSearch decided({}, threads(4), 0);
  EXPECT_TRUE(make_trial_page({{&sliver, 1e3, 1}, {&decided, 900e6, 1}}, trial_options(4)).empty());
}

TEST(TrialSchedule, PaperOrderIsNarrowFirstWithoutControls) {
  const FixedSearch search({{threads(4), 2}, {threads(1), 2}}, threads(8), 0);
  TrialOptions options = trial_options(8);
  options.controls = false;
  options.narrow_first = true;
  const TrialPage page = make_trial_page({{&search, 1e6, 1}}, options);
  EXPECT_EQ(page.widths[0], (std::vector<int>{1, 1, 4, 4}));
}

}  // namespace
}  // namespace optile::tuner
