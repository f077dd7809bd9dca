// The shim judges the daemon's entries by itself (F42): what condemns one, what does not.
#include "bindings/preload/entry_guard.h"

#include "tests/preload/boundary_fixture.h"

namespace optile::preload {
namespace {

using test::FakeDaemon;

constexpr uint32_t kWindow = 32;
constexpr uint32_t kTried = 16;

EntryRecord fresh(uint64_t baseline) {
  EntryRecord record{};
  record.baseline = baseline;
  record.window = kWindow;
  return record;
}

EntryStage stage_of(const EntryRecord& record) {
  return static_cast<EntryStage>(record.stage);
}

// Executions of that length; true when one of them condemned the entry.
bool run(EntryRecord& record, uint32_t count, uint64_t ticks) {
  bool condemned = false;
  for (uint32_t i = 0; i < count; ++i) condemned = judge_execution(&record, ticks) || condemned;
  return condemned;
}

TEST(EntryGuard, AFasterEntryIsNeverTried) {
  EntryRecord record = fresh(1000);
  EXPECT_FALSE(run(record, 1000, 900));
  EXPECT_EQ(stage_of(record), EntryStage::kObeyed);
}

TEST(EntryGuard, FivePercentAreLeftToTheDaemon) {
  EntryRecord record = fresh(1000);
  EXPECT_FALSE(run(record, 1000, 1050));
  EXPECT_EQ(stage_of(record), EntryStage::kObeyed);
}

TEST(EntryGuard, ASlowerEntryIsCondemnedByWhatIsMeasuredNow) {
  EntryRecord record = fresh(1000);
  EXPECT_FALSE(run(record, kWindow, 1200));
  ASSERT_EQ(stage_of(record), EntryStage::kTrying);
  EXPECT_FALSE(run(record, kTried - 1, 1000));
  EXPECT_TRUE(run(record, 1, 1000));
  EXPECT_EQ(stage_of(record), EntryStage::kDisabled);
  EXPECT_EQ(record.entry_mean, 1200u);
  EXPECT_EQ(record.baseline, 1000u);
}

TEST(EntryGuard, AMachineThatBecameSlowCondemnsNothing) {
  EntryRecord record = fresh(1000);
  run(record, kWindow, 1500);
  ASSERT_EQ(stage_of(record), EntryStage::kTrying);
  EXPECT_FALSE(run(record, kTried, 1600));
  EXPECT_EQ(stage_of(record), EntryStage::kObeyed);
  EXPECT_EQ(record.baseline, 1600u) << "what the machine is like now";
  EXPECT_EQ(record.window, 2 * kWindow) << "the next look comes later";
}

TEST(EntryGuard, AFewSlowExecutionsAreNoReason) {
  EntryRecord record = fresh(1000);
  for (int i = 0; i < 100; ++i) {
    run(record, 3, 5000);
    run(record, 2, 990);
  }
  EXPECT_EQ(stage_of(record), EntryStage::kObeyed);
}

TEST(EntryGuard, WhatThePlanKnowinglyCostsIsAccepted) {
  EntryRecord record = fresh(1000);
  record.accepted_loss = 200;
  EXPECT_FALSE(run(record, 1000, 1240));
  EXPECT_EQ(stage_of(record), EntryStage::kObeyed);
  run(record, kWindow * 2, 1300);
  EXPECT_EQ(stage_of(record), EntryStage::kTrying);
}

void with_baseline(optile_plan_page& page) {
  for (optile_plan_entry& entry : page.slots) {
    if (entry.key != 0) entry.baseline_ticks = 1;  // whatever happens is slower
  }
}

// Everything is slower than a baseline of one tick, the program's own width as well.
TEST_F(OpBoundary, ASuspectedEntryIsTriedAtTheOwnWidthAndThenObeyedAgain) {
  in_child([](FakeDaemon& daemon) {
    attach(daemon);
    run_op(kOp);
    daemon.publish({{kOp, 2, {}, 0}}, 0, with_baseline);
    for (uint32_t i = 0; i < kWindow; ++i) CHECK_OR_EXIT(run_op(kOp) == 2);
    for (uint32_t i = 0; i < kTried; ++i) CHECK_OR_EXIT(run_op(kOp) == kOwn);
    for (uint32_t i = 0; i < 2 * kWindow; ++i) CHECK_OR_EXIT(run_op(kOp) == 2);
    CHECK_OR_EXIT(daemon.client().header.disabled_count == 0);
  });
}

// Works for long where it meets the narrow width, and not at all at its own.
int run_op_that_hates_two(uint64_t key) {
  const optile_op_identity identity = identity_of(key);
  optile_open_op open{};
  op_begin(&identity, &open);
  const int seen = omp_get_max_threads();
  if (seen == 2) {
    for (int i = 0; i < 300'000; ++i) __asm__ volatile("" ::: "memory");
  }
  op_end(&open);
  return seen;
}

TEST_F(OpBoundary, ACondemnedEntryIsNotObeyedAndTheDaemonIsTold) {
  in_child([](FakeDaemon& daemon) {
    attach(daemon);
    run_op_that_hates_two(kOp);
    const auto generous = [](optile_plan_page& page) {
      for (optile_plan_entry& entry : page.slots) {
        if (entry.key != 0) entry.baseline_ticks = 50'000;
      }
    };
    daemon.publish({{kOp, 2, {}, 0}}, 0, generous);
    for (uint32_t i = 0; i < kWindow + kTried; ++i) run_op_that_hates_two(kOp);
    for (uint32_t i = 0; i < 100; ++i) CHECK_OR_EXIT(run_op_that_hates_two(kOp) == kOwn);
    const optile_client_header& header = daemon.client().header;
    CHECK_OR_EXIT(header.disabled_count == 1);
    CHECK_OR_EXIT(header.disabled[0].key == kOp);
    CHECK_OR_EXIT(header.disabled[0].width == 2);
    CHECK_OR_EXIT(header.disabled[0].entry_ticks > header.disabled[0].own_ticks);
    CHECK_OR_EXIT((header.fallbacks & OPTILE_FALLBACK_ENTRY_DISABLED) != 0);
    // The same word again is not news, another width is.
    daemon.publish({{kOp, 2, {}, 0}}, 0, generous);
    CHECK_OR_EXIT(run_op_that_hates_two(kOp) == kOwn);
    daemon.publish({{kOp, 3, {}, 0}}, 0, generous);
    CHECK_OR_EXIT(run_op_that_hates_two(kOp) == 3);
  });
}

TEST_F(OpBoundary, FreezeKeepsItsWidthsWhateverTheyCost) {
  in_child([](FakeDaemon& daemon) {
    setenv("OPTILE_MODE", "freeze", 1);
    read_environment();
    attach(daemon);
    run_op(kOp);
    daemon.publish({{kOp, 2, {}, 0}}, 0, with_baseline);
    for (uint32_t i = 0; i < 3 * kWindow; ++i) CHECK_OR_EXIT(run_op(kOp) == 2);
  });
}

TEST_F(OpBoundary, AnEntryWithoutABaselineIsNotJudged) {
  in_child([](FakeDaemon& daemon) {
    attach(daemon);
    run_op(kOp);
    daemon.publish({{kOp, 2, {}, 0}});
    for (uint32_t i = 0; i < 3 * kWindow; ++i) CHECK_OR_EXIT(run_op(kOp) == 2);
  });
}

}  // namespace
}  // namespace optile::preload
