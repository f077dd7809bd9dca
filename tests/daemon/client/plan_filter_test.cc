#include "daemon/client/plan_filter.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "bindings/abi/layout.h"

namespace optile::daemon {
namespace {

constexpr uint64_t kHung = 7;
constexpr uint64_t kSameBits = 8;
constexpr uint64_t kOtherBits = 9;

class PlanFilterTest : public testing::Test {
 protected:
  PlanFilterTest() {
    perfmodel::OpDescription op;
    op.probe = OPTILE_PROBE_TORCH;
    op.shape = "[8,16] [8,16]";
    op.key = kSameBits;
    op.name = "aten::add";
    ops_[kSameBits] = op;
    op.key = kOtherBits;
    op.name = "aten::mm";
    ops_[kOtherBits] = op;
    draft_.may_pause_sampling = true;
    for (const uint64_t key : {kHung, kSameBits, kOtherBits}) {
      draft_.entries.push_back({{key, 70}, 2, tuner::Rule::kFastest, false, {}, {}});
    }
  }

  // The name of the rule that withheld the plan; nullopt: none did.
  std::optional<std::string> filter() {
    const PlanRule* rule = filter_plan(draft_, conditions_);
    return rule == nullptr ? std::nullopt : std::optional<std::string>(rule->name);
  }
  std::vector<uint64_t> keys() const {
    std::vector<uint64_t> keys;
    for (const tuner::PlanEntry& entry : draft_.entries) keys.push_back(entry.place.key);
    return keys;
  }

  std::map<uint64_t, HangRecord> hangs_;
  std::map<uint64_t, perfmodel::OpDescription> ops_;
  PlanConditions conditions_{hangs_, ops_};
  tuner::PlanDraft draft_;
};

TEST(PlanRules, RunInDocumentedOrder) {
  std::vector<std::string> names;
  for (const PlanRule& rule : plan_rules()) {
    names.emplace_back(rule.name);
    EXPECT_FALSE(std::string(rule.reason).empty()) << rule.name;
  }
  EXPECT_EQ(names, (std::vector<std::string>{"hung regions", "same bits", "no trials",
                                             "no sampling pause", "core cap"}));
}

TEST_F(PlanFilterTest, ChangesNothingWithoutReason) {
  const tuner::PlanDraft before = draft_;
  EXPECT_EQ(filter(), std::nullopt);
  EXPECT_EQ(draft_, before);
}

TEST_F(PlanFilterTest, LeavesHungRegionsFirst) {
  hangs_[kHung] = {};
  EXPECT_EQ(filter(), std::nullopt);
  EXPECT_EQ(keys(), (std::vector<uint64_t>{kHung, kSameBits, kOtherBits}));
  EXPECT_EQ(draft_.entries[0].place.context, 0u);
  EXPECT_TRUE(draft_.entries[0].leave);
  EXPECT_FALSE(draft_.may_pause_sampling);
}

TEST_F(PlanFilterTest, KeepsHungRegionsAndSameBitsAsUntuned) {
  hangs_[kHung] = {};
  conditions_.as_untuned = true;
  draft_.default_width_cap = 2;
  EXPECT_EQ(filter(), std::nullopt);
  EXPECT_EQ(keys(), (std::vector<uint64_t>{kHung, kSameBits}));
  EXPECT_EQ(draft_.default_width_cap, 0);
}

TEST_F(PlanFilterTest, WithholdsTrialsInFreezeMode) {
  conditions_.freeze = true;
  EXPECT_EQ(filter(), std::nullopt);
  draft_.schedule_length = 1;
  EXPECT_EQ(filter(), "no trials");
  conditions_.freeze = false;
  EXPECT_EQ(filter(), std::nullopt);
}

TEST_F(PlanFilterTest, ObservedClientDoesNotRest) {
  conditions_.observed = true;
  EXPECT_EQ(filter(), std::nullopt);
  EXPECT_FALSE(draft_.may_pause_sampling);
}

TEST_F(PlanFilterTest, LowerOfBothCapsHolds) {
  conditions_.core_cap = 3;
  EXPECT_EQ(filter(), std::nullopt);
  EXPECT_EQ(draft_.default_width_cap, 3);
  draft_.default_width_cap = 2;
  EXPECT_EQ(filter(), std::nullopt);
  EXPECT_EQ(draft_.default_width_cap, 2);
}

}  // namespace
}  // namespace optile::daemon
