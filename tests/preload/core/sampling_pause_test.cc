// A probe that costs something per op is paused while no width is changed, and no step is lost
// count of.
#include "bindings/preload/core/sampling_pause.h"

#include <thread>

#include "tests/preload/fixtures/boundary_fixture.h"

namespace optile::preload {
namespace {

using test::FakeDaemon;

constexpr int kLandmarks = 2;  // in a step

bool listened_to = true;

void listen(int on) {
  listened_to = on != 0;
}

// A step of a framework whose probe does as it is told.
void run_op_step() {
  for (const uint64_t key : {kMarker, kOp, kOp}) {
    if (listened_to) run_op(key);
  }
  for (int i = 0; i < kLandmarks; ++i) landmark();
}

void run_op_steps(int count) {
  for (int i = 0; i < count; ++i) run_op_step();
}

void publish(FakeDaemon& daemon, uint32_t flags) {
  daemon.publish({}, kMarker, [flags](optile_plan_page& page) { page.flags = flags; });
}

uint32_t steps_begun(const FakeDaemon& daemon) {
  return optile_load32(&daemon.client().header.steps);
}

class ProbeRest : public OpBoundary {
 protected:
  static void start(FakeDaemon& daemon, uint32_t flags) {
    offer_sampling_pause(listen);
    attach(daemon);
    publish(daemon, flags);
  }
};

TEST_F(ProbeRest, BeginsOnlyWhenPlanAllowsIt) {
  in_child([](FakeDaemon& daemon) {
    start(daemon, 0);
    run_op_steps(100);
    CHECK_OR_EXIT(listened_to);
    CHECK_OR_EXIT(steps_begun(daemon) == 100);
  });
}

TEST_F(ProbeRest, SkipsMostStepsButCountsAll) {
  in_child([](FakeDaemon& daemon) {
    start(daemon, OPTILE_PAGE_MAY_PAUSE_SAMPLING);
    int heard = 0;
    for (int step = 1; step <= 1000; ++step) {
      const bool listening = listened_to;
      run_op_step();
      if (listening) ++heard;
      // The latest one may be counted with the first landmark of the next.
      const uint32_t begun = steps_begun(daemon);
      CHECK_OR_EXIT(begun == static_cast<uint32_t>(step) ||
                    (!listening && begun + 1 == static_cast<uint32_t>(step)));
    }
    CHECK_OR_EXIT(heard >= 1000 / 33);
    CHECK_OR_EXIT(heard <= 1000 / 16);
    int whole = 0;
    for (const optile_event& event : daemon.take_events()) {
      if (event.kind != OPTILE_EVENT_STEP) continue;
      ++whole;
      CHECK_OR_EXIT(event.regions == 3);  // ops: no step event spans a pause
    }
    CHECK_OR_EXIT(whole >= 2 * (1000 / static_cast<int>(kUnsampledSteps + kSampledSteps + 1)));
  });
}

TEST_F(ProbeRest, NewPlanEndsRestAtStepBoundary) {
  in_child([](FakeDaemon& daemon) {
    start(daemon, OPTILE_PAGE_MAY_PAUSE_SAMPLING);
    run_op_steps(10);
    CHECK_OR_EXIT(!listened_to);
    publish(daemon, 0);
    landmark();
    CHECK_OR_EXIT(!listened_to);
    landmark();
    CHECK_OR_EXIT(listened_to);
    const uint32_t before = steps_begun(daemon);
    run_op_steps(100);
    CHECK_OR_EXIT(listened_to);
    CHECK_OR_EXIT(steps_begun(daemon) == before + 100);
  });
}

TEST_F(ProbeRest, CountsStepsWhenMarkerHasContext) {
  in_child([](FakeDaemon& daemon) {
    offer_sampling_pause(listen);
    attach(daemon);
    run_op_steps(3);
    run_op(kMarker);
    const uint64_t context = daemon.take_events().back().context;
    run_op(kOp);
    run_op(kOp);
    daemon.publish({}, kMarker, [context](optile_plan_page& page) {
      page.flags = OPTILE_PAGE_MAY_PAUSE_SAMPLING;
      page.marker_context = context;
    });
    const uint32_t before = steps_begun(daemon);
    run_op_steps(500);
    CHECK_OR_EXIT(steps_begun(daemon) + 1 >= before + 500);
  });
}

void publish_cap(FakeDaemon& daemon, uint32_t cap) {
  daemon.publish({}, kMarker, [cap](optile_plan_page& page) {
    page.flags = OPTILE_PAGE_MAY_PAUSE_SAMPLING;
    page.default_width_cap = cap;
  });
}

TEST_F(ProbeRest, KeepsCapInPlaceDuringRest) {
  in_child([](FakeDaemon& daemon) {
    start(daemon, 0);
    publish_cap(daemon, 2);
    for (int i = 0; i < 200; ++i) {
      run_op_step();
      CHECK_OR_EXIT(omp_get_max_threads() == (listened_to ? kOwn : 2));
    }
    CHECK_OR_EXIT(!listened_to);
    publish_cap(daemon, 3);
    run_op_step();
    CHECK_OR_EXIT(listened_to && omp_get_max_threads() == kOwn);
    CHECK_OR_EXIT(run_op(kOp) == 3);
    while (listened_to) run_op_step();
    CHECK_OR_EXIT(omp_get_max_threads() == 3);
    // What the program itself says meanwhile stays.
    omp_set_num_threads(1);
    while (!listened_to) run_op_step();
    CHECK_OR_EXIT(omp_get_max_threads() == 1);
  });
}

TEST_F(ProbeRest, DoesNotBeginWithCapBesideProgramsRegions) {
  in_child([](FakeDaemon& daemon) {
    start(daemon, 0);
    note_own_region();
    publish_cap(daemon, 2);
    run_op_steps(100);
    CHECK_OR_EXIT(listened_to && omp_get_max_threads() == kOwn);
  });
}

// As Dynamo, which compiles anew where the number of threads is not the one that it compiled at.
TEST_F(ProbeRest, DoesNotBeginWithCapWhenFrameworkReadsCount) {
  in_child([](FakeDaemon& daemon) {
    start(daemon, 0);
    const optile_op_identity look = {1, OPTILE_OP_COMPOSITE | OPTILE_OP_READS_COUNT,
                                     OPTILE_PROBE_TORCH, describe_nothing, nullptr};
    optile_open_op open{};
    op_begin(&look, &open);
    op_end(&open);
    publish_cap(daemon, 2);
    for (int i = 0; i < 100; ++i) {
      run_op_step();
      CHECK_OR_EXIT(omp_get_max_threads() == kOwn);
    }
    CHECK_OR_EXIT(listened_to);
    publish(daemon, OPTILE_PAGE_MAY_PAUSE_SAMPLING);
    run_op_steps(20);
    CHECK_OR_EXIT(!listened_to);  // without a cap there is nothing to find
    CHECK_OR_EXIT(omp_get_max_threads() == kOwn);
  });
}

TEST_F(ProbeRest, DoesNotBeginWithoutLandmarks) {
  in_child([](FakeDaemon& daemon) {
    start(daemon, OPTILE_PAGE_MAY_PAUSE_SAMPLING);
    for (int i = 0; i < 100; ++i) {
      run_op(kMarker);
      run_op(kOp);
    }
    CHECK_OR_EXIT(listened_to);
  });
}

TEST_F(ProbeRest, DoesNotBeginWithIrregularLandmarks) {
  in_child([](FakeDaemon& daemon) {
    start(daemon, OPTILE_PAGE_MAY_PAUSE_SAMPLING);
    for (int i = 0; i < 100; ++i) {
      run_op_step();
      if (i % 2 == 0) landmark();
    }
    CHECK_OR_EXIT(listened_to);
    CHECK_OR_EXIT(steps_begun(daemon) == 100);
  });
}

TEST_F(ProbeRest, DoesNotBeginWithSeveralIssuingThreads) {
  in_child([](FakeDaemon& daemon) {
    start(daemon, OPTILE_PAGE_MAY_PAUSE_SAMPLING);
    std::thread other([] { run_op(kOp); });
    other.join();
    run_op_steps(100);
    CHECK_OR_EXIT(listened_to);
  });
}

// Until a pause begins, whose thread then says nothing any more.
void fall_silent() {
  for (int step = 0; step < 100 && listened_to; ++step) {
    for (const uint64_t key : {kMarker, kOp}) {
      if (listened_to) run_op(key);
    }
    if (listened_to) landmark();
  }
  CHECK_OR_EXIT(!listened_to);
}

// A thread that computes on with a framework whose ops are not heard, and has issued none before.
void check_that_another_thread_wakes(void (*meanwhile)()) {
  std::thread other([meanwhile] {
    const int own = omp_get_max_threads();
    meanwhile();
    CHECK_OR_EXIT(listened_to && omp_get_max_threads() == own);
  });
  other.join();
}

// The thread that paused sampling has its cap until its own next op, where its count is its own
// again.
TEST_F(ProbeRest, OtherThreadsLandmarkEndsOverdueRest) {
  in_child([](FakeDaemon& daemon) {
    start(daemon, 0);
    daemon.end_sampling_pauses_at_once();
    publish_cap(daemon, 2);
    fall_silent();
    check_that_another_thread_wakes(landmark);
    CHECK_OR_EXIT(omp_get_max_threads() == 2);
    CHECK_OR_EXIT(run_op(kOp) == 2 && omp_get_max_threads() == kOwn);
    CHECK_OR_EXIT(daemon.client().header.default_width == kOwn);
  });
}

TEST_F(ProbeRest, OtherThreadsRegionEndsOverdueRest) {
  in_child([](FakeDaemon& daemon) {
    start(daemon, 0);
    daemon.end_sampling_pauses_at_once();
    publish(daemon, OPTILE_PAGE_MAY_PAUSE_SAMPLING);
    fall_silent();
    check_that_another_thread_wakes(end_overdue_sampling_pause);
    CHECK_OR_EXIT(run_op(kOp) == kOwn);
  });
}

TEST_F(ProbeRest, OtherThreadDoesNotEndRestBeforeItIsOverdue) {
  in_child([](FakeDaemon& daemon) {
    start(daemon, OPTILE_PAGE_MAY_PAUSE_SAMPLING);
    fall_silent();
    std::thread other([] {
      for (int i = 0; i < 1000; ++i) landmark();
      end_overdue_sampling_pause();
    });
    other.join();
    CHECK_OR_EXIT(!listened_to);
    const uint32_t before = steps_begun(daemon);
    run_op_steps(100);
    CHECK_OR_EXIT(steps_begun(daemon) >= before + 98);
  });
}

TEST_F(ProbeRest, ForkedChildDoesNotEndRest) {
  in_child([](FakeDaemon& daemon) {
    start(daemon, OPTILE_PAGE_MAY_PAUSE_SAMPLING);
    run_op_steps(10);
    CHECK_OR_EXIT(!listened_to);
    const pid_t child = fork();
    if (child == 0) {
      run_op_steps(1000);
      std::_Exit(listened_to ? 1 : 0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    CHECK_OR_EXIT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  });
}

}  // namespace
}  // namespace optile::preload
