#include "daemon/client/plan_page_writer.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <memory>
#include <set>

#include "bindings/abi/mask_word.h"
#include "daemon/transport/client_memory.h"

namespace optile::daemon {
namespace {

using perfmodel::Binding;

class PlanPageTest : public testing::Test {
 protected:
  PlanPageTest() : region_(std::make_unique<optile_plan_region>()), writer_(region_.get()) {}

  const optile_plan_page& page(uint64_t generation) const { return region_->pages[generation & 1]; }
  const optile_plan_entry* find(const optile_plan_page& in, uint64_t key, uint64_t context) const {
    for (uint32_t i = 0, slot = optile_plan_slot(key, context); i < OPTILE_PLAN_SLOTS; ++i) {
      const optile_plan_entry& entry = in.slots[(slot + i) % OPTILE_PLAN_SLOTS];
      if (entry.key == 0) return nullptr;
      if (entry.key == key && entry.context == context) return &entry;
    }
    return nullptr;
  }

  std::unique_ptr<optile_plan_region> region_;
  PlanPageWriter writer_;
};

TEST_F(PlanPageTest, ClientsMayRestUnderWidthCap) {
  tuner::PlanDraft draft;
  draft.may_pause_sampling = true;
  writer_.publish(1, draft, {});
  EXPECT_EQ(page(1).flags, OPTILE_PAGE_MAY_PAUSE_SAMPLING);
  writer_.publish(2, draft, {{}, {}, 3});
  EXPECT_EQ(page(2).flags, OPTILE_PAGE_MAY_PAUSE_SAMPLING);
  EXPECT_EQ(page(2).default_width_cap, 3u);
}

TEST_F(PlanPageTest, MarksEntriesWithSameBits) {
  tuner::PlanDraft draft;
  draft.entries = {{{7, 0}, 2, tuner::Rule::kFastest, false, {}, {}},
                   {{8, 0}, 0, tuner::Rule::kLeftAlone, true, {}, {}}};
  PageSurroundings surroundings;
  writer_.publish(1, draft, surroundings);
  EXPECT_EQ(find(page(1), 7, 0)->flags, 0u);
  surroundings.same_bits = true;
  writer_.publish(2, draft, surroundings);
  EXPECT_EQ(find(page(2), 7, 0)->flags, OPTILE_ENTRY_SAME_BITS);
  EXPECT_EQ(find(page(2), 8, 0)->flags, OPTILE_ENTRY_LEAVE);
}

TEST_F(PlanPageTest, RequestsCounters) {
  tuner::PlanDraft draft;
  draft.record_all = true;
  draft.count = true;
  writer_.publish(1, draft, {});
  EXPECT_EQ(page(1).flags, OPTILE_PAGE_RECORD_ALL | OPTILE_PAGE_COUNT);
}

TEST_F(PlanPageTest, TellsHowOpsOfExecutorPass) {
  using Kind = tuner::OpFlow::Kind;
  tuner::PlanDraft draft;
  draft.schedule_length = 3;
  writer_.publish(1, draft, {});
  EXPECT_EQ(page(1).flow, OPTILE_FLOW_FREE);
  draft.flow = {Kind::kSerial};
  draft.schedule_flow = {{}, {Kind::kFree, 2}, {Kind::kFilled}};
  draft.cores = 4;
  PageSurroundings surroundings;
  surroundings.hardware_threads = 2;
  writer_.publish(2, draft, surroundings);
  EXPECT_EQ(page(2).flow, OPTILE_FLOW_SERIAL);
  EXPECT_EQ(page(2).schedule_flow[0], OPTILE_FLOW_FREE);
  EXPECT_EQ(page(2).schedule_flow_cap[0], 0u);
  EXPECT_EQ(page(2).schedule_flow_cap[1], 2u);
  EXPECT_EQ(page(2).schedule_flow[2], OPTILE_FLOW_FILLED);
  EXPECT_EQ(page(2).admitting_cores, 4u);
  EXPECT_EQ(page(2).hardware_threads, 2u);
}

TEST_F(PlanPageTest, WritesMenuBesideItsEntry) {
  tuner::PlanDraft draft;
  draft.flow = {tuner::OpFlow::Kind::kPacked};
  draft.entries = {{{7, 70}, 2, tuner::Rule::kFastest, false, {}},
                   {{8, 80}, 0, tuner::Rule::kDefaultWidth, false, {}}};
  draft.entries[1].menu = {3, 5, {{2, 0.25}, {1, 0.5}}};
  writer_.publish(1, draft, {});
  const auto menu_of = [&](uint64_t key, uint64_t context) {
    return page(1).menus[find(page(1), key, context) - page(1).slots];
  };
  EXPECT_EQ(menu_of(7, 70).per_step, 0u);
  EXPECT_EQ(menu_of(8, 80).op, 3u);
  EXPECT_EQ(menu_of(8, 80).per_step, 5u);
  EXPECT_EQ(menu_of(8, 80).width[0], 2u);
  EXPECT_EQ(menu_of(8, 80).seconds[1], 0.5F);
  EXPECT_EQ(menu_of(8, 80).width[2], 0u);
  // Two pages later the same memory has none.
  draft.entries[1].menu = {};
  writer_.publish(2, draft, {});
  writer_.publish(3, draft, {});
  EXPECT_EQ(menu_of(8, 80).per_step, 0u);
}

TEST_F(PlanPageTest, PublishesAllDraftFields) {
  tuner::PlanDraft draft;
  draft.record_all = true;
  draft.marker = tuner::Marker{{7, 70}, 3};
  draft.binding = Binding::kCompact;
  draft.schedule_length = 3;
  draft.schedule_binding = {Binding::kNone, Binding::kSpread, Binding::kCompact};
  draft.entries = {{{7, 70}, 2, tuner::Rule::kFastest, false, {1, 2, 4}},
                   {{7, 0}, 3, tuner::Rule::kFastest, false, {}},
                   {{8, 0}, 0, tuner::Rule::kLeftAlone, true, {}}};
  EXPECT_EQ(writer_.publish(1, draft, {{0, 1, 2}, {0, 2, 1}, 3}), 0u);
  EXPECT_EQ(region_->generation, 1u);
  const optile_plan_page& p = page(1);
  EXPECT_EQ(p.generation, 1u);
  EXPECT_EQ(p.flags, OPTILE_PAGE_RECORD_ALL);
  EXPECT_EQ(p.marker_key, 7u);
  EXPECT_EQ(p.marker_context, 70u);
  EXPECT_EQ(p.schedule_length, 3u);
  EXPECT_EQ(p.binding, OPTILE_BINDING_COMPACT);
  EXPECT_EQ(p.schedule_binding[1], OPTILE_BINDING_SPREAD);
  EXPECT_EQ(p.cpu_count, 3u);
  EXPECT_EQ(p.spread_order[1], 2u);
  EXPECT_EQ(p.default_width_cap, 3u);
  EXPECT_EQ(p.entry_count, 3u);
  ASSERT_NE(find(p, 7, 70), nullptr);
  EXPECT_EQ(find(p, 7, 70)->schedule[2], 4u);
  EXPECT_EQ(find(p, 7, 70)->flags, OPTILE_ENTRY_RECORD);
  EXPECT_EQ(find(p, 7, 0)->schedule[2], 3u);  // unscheduled ops keep their width
  EXPECT_EQ(find(p, 8, 0)->flags, OPTILE_ENTRY_LEAVE);
}

TEST_F(PlanPageTest, PublishesHeldMaskAsSingleValue) {
  writer_.set_held_mask({0, 65, 1023});
  std::vector<uint64_t> mask(OPTILE_MASK_WORDS);
  mask[0] = 1;
  mask[1] = 2;
  mask[15] = uint64_t{1} << 63;
  EXPECT_EQ(region_->held_mask, optile_mask_word(mask.data()));
  mask[15] = 0;
  EXPECT_NE(region_->held_mask, optile_mask_word(mask.data()));
  writer_.set_held_mask({});
  EXPECT_EQ(region_->held_mask, 0u);
}

TEST_F(PlanPageTest, PublishLeavesPreviousPageUnchanged) {
  tuner::PlanDraft draft;
  draft.entries = {{{1, 0}, 2, tuner::Rule::kFastest, false, {}}};
  writer_.publish(1, draft, {});
  draft.entries[0].width = 4;
  writer_.publish(2, draft, {});
  EXPECT_EQ(find(page(1), 1, 0)->width, 2u);
  EXPECT_EQ(find(page(2), 1, 0)->width, 4u);
  EXPECT_EQ(page(1).generation, 1u);
  draft.entries.clear();
  writer_.publish(3, draft, {});  // nothing of generation 1 is left
  EXPECT_EQ(find(page(3), 1, 0), nullptr);
  EXPECT_EQ(page(3).entry_count, 0u);
}

// A page has room for thousands of ops; a client with few of them takes memory for few.
TEST(PlanPageMemory, SmallPlansUseLittleMemory) {
  ClientMemory memory = ClientMemory::make().value();
  const ClientMemory::Descriptors files = memory.take_descriptors();
  PlanPageWriter writer(memory.plan());
  tuner::PlanDraft draft;
  for (uint64_t generation = 1; generation <= 6; ++generation) {
    draft.entries.clear();
    for (uint64_t key = 1; key <= 5; ++key) {
      draft.entries.push_back({{key, 0}, 1, tuner::Rule::kFastest, false, {}});
    }
    EXPECT_EQ(writer.publish(generation, draft, {{0, 1}, {1, 0}, 2}), 0u);
  }
  struct stat found {};
  ASSERT_EQ(fstat(files.plan.get(), &found), 0);
  constexpr int64_t kBlock = 512, kPage = 4096;
  // The region's own words, each page's, and a page of memory for each op in each of the two.
  EXPECT_LE(found.st_blocks * kBlock, (2 + 2 * (2 + 5)) * kPage);
}

TEST_F(PlanPageTest, FillsHalfOfSlotsAndCountsRest) {
  tuner::PlanDraft draft;
  for (uint64_t key = 1; key <= OPTILE_PLAN_SLOTS; ++key) {
    draft.entries.push_back({{key, 0}, 1, tuner::Rule::kFastest, false, {}});
  }
  EXPECT_EQ(writer_.publish(1, draft, {}), OPTILE_PLAN_SLOTS / 2);
  EXPECT_EQ(page(1).entry_count, OPTILE_PLAN_SLOTS / 2);
  EXPECT_NE(find(page(1), 1, 0), nullptr);
}

TEST_F(PlanPageTest, InvalidDraftsAreClamped) {
  tuner::PlanDraft draft;
  draft.schedule_length = 1000;
  draft.entries = {{{0, 0}, 1, tuner::Rule::kFastest, false, {}},        // key 0 is a free slot
                   {{5, 0}, 1 << 20, tuner::Rule::kFastest, false, {}},  // no such width
                   {{5, 0}, 1, tuner::Rule::kFastest, false, {}}};       // twice
  EXPECT_EQ(writer_.publish(1, draft, {std::vector<int>(5000), std::vector<int>(5000), -4}), 2u);
  EXPECT_EQ(page(1).schedule_length, OPTILE_MAX_SCHEDULE);
  EXPECT_EQ(page(1).cpu_count, OPTILE_MAX_CPUS);
  EXPECT_EQ(page(1).default_width_cap, 0u);
  EXPECT_EQ(find(page(1), 5, 0)->width, 0u);
}

}  // namespace
}  // namespace optile::daemon
