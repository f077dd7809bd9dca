// The shim judges the daemon's entries by itself (F42): what condemns one, what does not.
#include "bindings/preload/core/circuit_breaker.h"

#include <random>

#include "tests/preload/fixtures/boundary_fixture.h"

namespace optile::preload {
namespace {

using test::FakeDaemon;

constexpr uint32_t kWindow = 32;
constexpr uint32_t kPairs = 32;

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

// Pairs of one execution at the default width and one under the entry; true when it was condemned.
bool try_pairs(EntryRecord& record, uint64_t own, uint64_t under_entry) {
  bool condemned = false;
  for (uint32_t pair = 0; pair < kPairs; ++pair) {
    EXPECT_TRUE(default_width_is_next(record));
    condemned = judge_execution(&record, own) || condemned;
    EXPECT_FALSE(default_width_is_next(record));
    condemned = judge_execution(&record, under_entry) || condemned;
  }
  return condemned;
}

TEST(CircuitBreaker, KeepsFasterEntryWithoutTrial) {
  EntryRecord record = fresh(1000);
  EXPECT_FALSE(run(record, 1000, 900));
  EXPECT_EQ(stage_of(record), EntryStage::kObeyed);
}

TEST(CircuitBreaker, ToleratesFivePercentLoss) {
  EntryRecord record = fresh(1000);
  EXPECT_FALSE(run(record, 1000, 1050));
  EXPECT_EQ(stage_of(record), EntryStage::kObeyed);
}

// fault: F42
TEST(CircuitBreaker, DisablesSlowerEntryAfterPairedTrial) {
  EntryRecord record = fresh(1000);
  EXPECT_FALSE(run(record, kWindow, 1200));
  ASSERT_EQ(stage_of(record), EntryStage::kTrying);
  EXPECT_TRUE(try_pairs(record, 1000, 1200));
  EXPECT_EQ(stage_of(record), EntryStage::kDisabled);
  EXPECT_EQ(record.entry_mean, 1200u);
  EXPECT_EQ(record.baseline, 1000u);
}

TEST(CircuitBreaker, KeepsEntryWhenMachineBecameSlower) {
  EntryRecord record = fresh(1000);
  run(record, kWindow, 1500);
  ASSERT_EQ(stage_of(record), EntryStage::kTrying);
  EXPECT_FALSE(try_pairs(record, 1600, 1500));
  EXPECT_EQ(stage_of(record), EntryStage::kObeyed);
  EXPECT_EQ(record.baseline, 1600u) << "what the machine is like now";
  EXPECT_EQ(record.window, 2 * kWindow) << "the next look comes later";
}

// Noise far above the margin, the same for both: hardly ever condemned.
TEST(CircuitBreaker, RarelyDisablesEntryForNoise) {
  std::mt19937_64 random(7);
  std::uniform_int_distribution<uint64_t> noisy(1000, 4000);
  int condemned = 0;
  for (int round = 0; round < 1000; ++round) {
    EntryRecord record = fresh(1000);
    run(record, kWindow, 2000);
    for (uint32_t i = 0; i < 2 * kPairs; ++i) {
      condemned += judge_execution(&record, noisy(random)) ? 1 : 0;
    }
  }
  EXPECT_LE(condemned, 2);
}

TEST(CircuitBreaker, IgnoresShortRunsOfSlowExecutions) {
  EntryRecord record = fresh(1000);
  for (int i = 0; i < 100; ++i) {
    run(record, 3, 5000);
    run(record, 2, 990);
  }
  EXPECT_EQ(stage_of(record), EntryStage::kObeyed);
}

TEST(CircuitBreaker, ToleratesLossAcceptedByPlan) {
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

// Works for so many rounds of a loop where it meets the narrow width, and at any other. Returns the
// width.
int run_working_op(uint64_t key, int rounds_at_two, int rounds_else) {
  int seen = 0;
  run_op_around(key, [&] {
    seen = omp_get_max_threads();
    const int rounds = seen == 2 ? rounds_at_two : rounds_else;
    for (int i = 0; i < rounds; ++i) __asm__ volatile("" ::: "memory");
  });
  return seen;
}

int run_op_slow_at_two(uint64_t key) {
  return run_working_op(key, 300'000, 0);
}

// It takes many ticks also where the processor's counter moves in steps of some dozens.
int run_steady_op(uint64_t key) {
  return run_working_op(key, 1000, 1000);
}

// Everything is slower than a baseline of one tick, the program's default width as well, so that
// the two take turns; which of them an op loses to is chance, and rarely 26 of 32 times.
TEST_F(OpBoundary, SuspectedEntryAlternatesWithDefaultWidth) {
  in_child([](FakeDaemon& daemon) {
    attach(daemon);
    run_steady_op(kOp);
    daemon.publish({{kOp, 2, {}, 0}}, 0, with_baseline);
    for (uint32_t i = 0; i < kWindow; ++i) CHECK_OR_EXIT(run_steady_op(kOp) == 2);
    for (uint32_t i = 0; i < kPairs; ++i) {
      CHECK_OR_EXIT(run_steady_op(kOp) == kOwn);
      CHECK_OR_EXIT(run_steady_op(kOp) == 2);
    }
  });
}

// fault: F42
TEST_F(OpBoundary, DisabledEntryIsIgnoredAndReported) {
  in_child([](FakeDaemon& daemon) {
    attach(daemon);
    run_op_slow_at_two(kOp);
    const auto generous = [](optile_plan_page& page) {
      for (optile_plan_entry& entry : page.slots) {
        if (entry.key != 0) entry.baseline_ticks = 50'000;
      }
    };
    daemon.publish({{kOp, 2, {}, 0}}, 0, generous);
    for (uint32_t i = 0; i < kWindow + 2 * kPairs; ++i) run_op_slow_at_two(kOp);
    for (uint32_t i = 0; i < 100; ++i) CHECK_OR_EXIT(run_op_slow_at_two(kOp) == kOwn);
    const optile_client_header& header = daemon.client().header;
    CHECK_OR_EXIT(header.disabled_count == 1);
    CHECK_OR_EXIT(header.disabled[0].key == kOp);
    CHECK_OR_EXIT(header.disabled[0].width == 2);
    CHECK_OR_EXIT(header.disabled[0].entry_ticks > header.disabled[0].own_ticks);
    CHECK_OR_EXIT((header.fallbacks & OPTILE_FALLBACK_ENTRY_DISABLED) != 0);
    // The same word again is not news, another width is.
    daemon.publish({{kOp, 2, {}, 0}}, 0, generous);
    CHECK_OR_EXIT(run_op_slow_at_two(kOp) == kOwn);
    daemon.publish({{kOp, 3, {}, 0}}, 0, generous);
    CHECK_OR_EXIT(run_op_slow_at_two(kOp) == 3);
  });
}

TEST_F(OpBoundary, FreezeModeKeepsSlowEntries) {
  in_child([](FakeDaemon& daemon) {
    setenv("OPTILE_MODE", "freeze", 1);
    read_environment();
    attach(daemon);
    run_op(kOp);
    daemon.publish({{kOp, 2, {}, 0}}, 0, with_baseline);
    for (uint32_t i = 0; i < 3 * kWindow; ++i) CHECK_OR_EXIT(run_op(kOp) == 2);
  });
}

TEST_F(OpBoundary, EntryWithoutBaselineIsNotJudged) {
  in_child([](FakeDaemon& daemon) {
    attach_with_plan(daemon, 2);
    for (uint32_t i = 0; i < 3 * kWindow; ++i) CHECK_OR_EXIT(run_op(kOp) == 2);
  });
}

}  // namespace
}  // namespace optile::preload
