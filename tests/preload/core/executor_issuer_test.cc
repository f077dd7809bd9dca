// Steps of a framework that runs several ops at once, and what is told of each. Every test is a
// process of its own; nothing is timed.
#include "bindings/preload/core/executor_issuer.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/preload/fixtures/boundary_fixture.h"

namespace optile::preload {
namespace {

using test::FakeDaemon;

constexpr uint32_t kOps = 3;    // of each step
constexpr int kManySteps = 64;  // in which two of 32 are listened to twice

// What was told since the last call, of steps and of ops.
struct Told {
  std::vector<optile_event> steps;
  uint32_t ops = 0;

  uint32_t unheard() const {
    uint32_t count = 0;
    for (const optile_event& step : steps) {
      if (is_unheard(step)) ++count;
    }
    return count;
  }
  static bool is_unheard(const optile_event& step) {
    return (step.flags & OPTILE_EVENT_UNHEARD) != 0;
  }
};

Told take_told(FakeDaemon& daemon) {
  Told told;
  for (const optile_event& event : daemon.take_events()) {
    if (event.kind == OPTILE_EVENT_STEP) told.steps.push_back(event);
    if (event.kind == OPTILE_EVENT_OP) ++told.ops;
  }
  return told;
}

void run_step() {
  begin_executor_step();
  for (uint64_t op = 1; op <= kOps; ++op) {
    const ExecutorOp one(identity_of(kOp + op), op, executor_flow());
  }
}

void run_steps(int count) {
  for (int i = 0; i < count; ++i) run_step();
}

class ExecutorIssuer : public OpBoundary {
 protected:
  // The first step under such a page has begun when this returns.
  static void begin_under(FakeDaemon& daemon, void (*finish)(optile_plan_page&)) {
    attach(daemon);
    run_step();
    daemon.publish({}, 0, finish);
    run_step();
    take_told(daemon);
  }
};

TEST_F(ExecutorIssuer, TellsTimeAloneOfUntouchedScheduledSteps) {
  in_child([](FakeDaemon& daemon) {
    begin_under(daemon, [](optile_plan_page& page) {
      page.flags = 0;
      page.schedule_length = 2;
      page.schedule_flow[0] = OPTILE_FLOW_FREE;
      page.schedule_flow[1] = OPTILE_FLOW_SERIAL;
    });
    run_steps(2);
    const Told told = take_told(daemon);
    CHECK_OR_EXIT(told.steps.size() == 2);
    CHECK_OR_EXIT(Told::is_unheard(told.steps[0]) && told.steps[0].column == 0);
    CHECK_OR_EXIT(told.steps[0].ticks > 0 && told.steps[0].regions == 0);
    CHECK_OR_EXIT(!Told::is_unheard(told.steps[1]) && told.steps[1].column == 1);
    CHECK_OR_EXIT(told.steps[1].regions == kOps);
  });
}

TEST_F(ExecutorIssuer, TellsEveryOpWhereAllAreRecorded) {
  in_child([](FakeDaemon& daemon) {
    begin_under(daemon, [](optile_plan_page& page) { page.flow_cap = 1; });
    run_steps(kManySteps);
    const Told told = take_told(daemon);
    CHECK_OR_EXIT(told.steps.size() == kManySteps && told.unheard() == 0);
    CHECK_OR_EXIT(told.ops >= (kManySteps - 1) * kOps);
  });
}

TEST_F(ExecutorIssuer, TellsTimeOfStepsUnderCap) {
  in_child([](FakeDaemon& daemon) {
    begin_under(daemon, [](optile_plan_page& page) {
      page.flags = 0;
      page.flow_cap = 1;
    });
    run_steps(kManySteps);
    const Told told = take_told(daemon);
    CHECK_OR_EXIT(executor_width_cap() == 1);
    CHECK_OR_EXIT(told.steps.size() == kManySteps);
    const uint32_t heard = kManySteps - told.unheard();
    CHECK_OR_EXIT(heard >= 2 && heard <= 6);
  });
}

TEST_F(ExecutorIssuer, TellsNothingOfMostStepsWhereSamplingMayPause) {
  in_child([](FakeDaemon& daemon) {
    begin_under(daemon,
                [](optile_plan_page& page) { page.flags = OPTILE_PAGE_MAY_PAUSE_SAMPLING; });
    run_steps(kManySteps);
    const Told told = take_told(daemon);
    CHECK_OR_EXIT(told.steps.size() >= 2 && told.steps.size() <= 6);
    CHECK_OR_EXIT(told.unheard() == 0);
  });
}

TEST_F(ExecutorIssuer, CountsSmallOpsWhereNoOtherIsOpen) {
  in_child([](FakeDaemon& daemon) {
    begin_under(daemon, [](optile_plan_page&) {});
    constexpr uint64_t kSmall = 5;  // ticks: less than what lies between two ops
    for (const bool beside : {true, false}) {
      begin_executor_step();
      daemon.take_events();
      {
        const ExecutorOp one(identity_of(kOp + 1), 1, executor_flow());
        if (beside) count_small_op(kSmall);
      }
      if (!beside) count_small_op(kSmall);
      begin_executor_step();
      uint64_t of_op = 0;
      uint64_t observed = 0;
      for (const optile_event& event : daemon.take_events()) {
        if (event.kind == OPTILE_EVENT_OP) of_op = event.ticks;
        if (event.kind == OPTILE_EVENT_STEP) observed = event.context;
      }
      CHECK_OR_EXIT(of_op > 0);
      CHECK_OR_EXIT(observed == of_op + (beside ? 0 : kSmall));
    }
  });
}

}  // namespace
}  // namespace optile::preload
