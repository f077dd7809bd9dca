// The rules that keep a program whole, each by name. Every test is a process of its own (the shim's
// state is the process's), so the body runs in a forked child that reports through its exit status.
#include "bindings/preload/core/op_boundary.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <omp.h>
#include <sys/wait.h>

#include <cstdlib>
#include <stdexcept>
#include <thread>
#include <vector>

#include "bindings/preload/actuators/width_actuator.h"
#include "bindings/preload/runtimes/runtimes_in_use.h"
#include "bindings/preload/shared_memory/attachment.h"
#include "bindings/preload/support/environment.h"
#include "bindings/preload/support/shim_clock.h"
#include "tests/preload/fixtures/boundary_fixture.h"

namespace optile::preload {
namespace {

using test::FakeDaemon;
TEST_F(OpBoundary, AppliesPlanWidthAndRestoresDefaultWidth) {
  in_child([](FakeDaemon& daemon) {
    attach(daemon);
    CHECK_OR_EXIT(run_op(kOp) == kOwn);
    daemon.publish({{kOp, 2, {}, 0}});
    CHECK_OR_EXIT(run_op(kOp) == 2);
    CHECK_OR_EXIT(omp_get_max_threads() == kOwn);
    CHECK_OR_EXIT(daemon.take_events().back().width == 2);
  });
}

TEST_F(OpBoundary, FirstExecutionRunsAtDefaultWidth) {
  in_child([](FakeDaemon& daemon) {
    attach(daemon);
    daemon.publish({{kOp, 1, {}, 0}});
    CHECK_OR_EXIT(run_op(kOp) == kOwn);
    CHECK_OR_EXIT(run_op(kOp) == 1);
  });
}

TEST_F(OpBoundary, FirstExecutionOnEachThreadRunsAtDefaultWidth) {
  in_child([](FakeDaemon& daemon) {
    attach_with_plan(daemon, 2);
    CHECK_OR_EXIT(run_op(kOp) == 2);
    std::thread([] {
      omp_set_num_threads(kOwn);
      CHECK_OR_EXIT(run_op(kOp) == kOwn);
      CHECK_OR_EXIT(run_op(kOp) == 2);
    }).join();
  });
}

TEST_F(OpBoundary, LeaseDoesNotNarrowFirstExecution) {
  in_child([](FakeDaemon& daemon) {
    attach(daemon);
    daemon.publish({{kOp, 0, {}, 0}}, 0,
                   [](optile_plan_page& page) { page.default_width_cap = 2; });
    CHECK_OR_EXIT(run_op(kOp) == kOwn);
    CHECK_OR_EXIT(run_op(kOp) == 2);
  });
}

TEST_F(OpBoundary, LeaseDoesNotNarrowLeaveEntries) {
  in_child([](FakeDaemon& daemon) {
    attach(daemon);
    run_op(kOp);
    daemon.publish({{kOp, 0, {}, OPTILE_ENTRY_LEAVE}}, 0,
                   [](optile_plan_page& page) { page.default_width_cap = 2; });
    CHECK_OR_EXIT(run_op(kOp) == kOwn);
  });
}

TEST_F(OpBoundary, NewPlanStartsItsScheduleAtNextStep) {
  in_child([](FakeDaemon& daemon) {
    attach(daemon);
    run_op(kOp);
    daemon.publish({{kOp, 3, {2, 2}, 0}});
    declared_step();
    CHECK_OR_EXIT(run_op(kOp) == 2);
    daemon.publish({{kOp, 3, {1, 1}, 0}});
    CHECK_OR_EXIT(run_op(kOp) == 3);
    declared_step();
    CHECK_OR_EXIT(run_op(kOp) == 1);
  });
}

TEST_F(OpBoundary, ReportsWidthSetByProgramBeforeAttaching) {
  in_child([](FakeDaemon& daemon) {
    setenv("OMP_NUM_THREADS", std::to_string(kOwn + 1).c_str(), 1);
    read_environment();
    attach(daemon);  // omp_set_num_threads came before it
    run_op(kOp);
    CHECK_OR_EXIT(daemon.client().header.default_width_source == OPTILE_WIDTH_PROGRAM);
  });
}

TEST_F(OpBoundary, DefaultWidthSourceIsEnvironmentUntilProgramSetsIt) {
  in_child([](FakeDaemon& daemon) {
    setenv("OMP_NUM_THREADS", std::to_string(kOwn).c_str(), 1);
    read_environment();
    attach_with_plan(daemon, 2);
    CHECK_OR_EXIT(run_op(kOp) == 2);
    run_op(kOp);
    CHECK_OR_EXIT(daemon.client().header.default_width_source == OPTILE_WIDTH_ENVIRONMENT);
    omp_set_num_threads(kOwn - 1);
    run_op(kOp);
    CHECK_OR_EXIT(daemon.client().header.default_width_source == OPTILE_WIDTH_PROGRAM);
  });
}

void export_width_and_limit(const char* limit) {
  setenv("OMP_NUM_THREADS", std::to_string(kOwn).c_str(), 1);
  setenv("OPTILE_DEFAULT_WIDTH_SOURCE", ("exported:" + std::to_string(kOwn)).c_str(), 1);
  setenv("OMP_THREAD_LIMIT", limit, 1);
  read_environment();
}

// Of a team of four only two threads start, whatever the program reads: what is wider is no width.
TEST_F(OpBoundary, ThreadLimitCapsDefaultWidthAndKeepsThreadCount) {
  in_child([](FakeDaemon& daemon) {
    export_width_and_limit("2");
    attach(daemon);
    CHECK_OR_EXIT(daemon.attach_request().omp_thread_limit == 2);
    run_op(kOp);
    CHECK_OR_EXIT(daemon.client().header.default_width == 2);
    CHECK_OR_EXIT(daemon.client().header.default_width_source == OPTILE_WIDTH_ENVIRONMENT);
    daemon.publish({{kOp, 3, {}, 0}});
    CHECK_OR_EXIT(run_op(kOp) == kOwn);  // as wide as it may be: nothing is set
    daemon.publish({{kOp, 1, {}, 0}});
    CHECK_OR_EXIT(run_op(kOp) == 1);
    CHECK_OR_EXIT(omp_get_max_threads() == kOwn);
    CHECK_OR_EXIT(daemon.client().header.default_width_source == OPTILE_WIDTH_ENVIRONMENT);
  });
}

TEST_F(OpBoundary, ThreadLimitAboveDefaultWidthIsIgnored) {
  in_child([](FakeDaemon& daemon) {
    export_width_and_limit("64");
    attach(daemon);
    run_op(kOp);
    CHECK_OR_EXIT(daemon.client().header.default_width == kOwn);
    CHECK_OR_EXIT(daemon.client().header.default_width_source == OPTILE_WIDTH_LAUNCHER);
  });
}

TEST_F(OpBoundary, AttachRequestReportsBlasPoolVariables) {
  in_child([](FakeDaemon& daemon) {
    CHECK_OR_EXIT(environment().steer_blas);
    setenv("GOTO_NUM_THREADS", "3", 1);
    setenv("MKL_NUM_THREADS", "5", 1);
    setenv("BLIS_NUM_THREADS", "many", 1);
    read_environment();
    CHECK_OR_EXIT(!environment().steer_blas);
    attach(daemon);
    const optile_attach_request& attach_request = daemon.attach_request();
    CHECK_OR_EXIT(attach_request.openblas_num_threads == 0 && attach_request.goto_num_threads == 3);
    CHECK_OR_EXIT(attach_request.mkl_num_threads == 5 && attach_request.blis_num_threads == 0);
  });
}

void respect_exactly(int threads) {
  setenv("OPTILE_RESPECT", "exact", 1);
  if (threads > 0) setenv("OMP_NUM_THREADS", std::to_string(threads).c_str(), 1);
  read_environment();
}

TEST_F(OpBoundary, ExactRespectKeepsEnvironmentWidth) {
  in_child([](FakeDaemon& daemon) {
    respect_exactly(kOwn);
    attach(daemon);
    CHECK_OR_EXIT(daemon.attach_request().respect == OPTILE_RESPECT_EXACT);
    run_op(kOp);
    daemon.publish({{kOp, 2, {}, 0}}, 0,
                   [](optile_plan_page& page) { page.default_width_cap = 3; });
    CHECK_OR_EXIT(run_op(kOp) == kOwn);
    CHECK_OR_EXIT(run_op(0x7777) == kOwn);
    CHECK_OR_EXIT(hold_width(2).set == 0);
  });
}

TEST_F(OpBoundary, AsUntunedNumericsSteersOnlySameBitsEntries) {
  in_child([](FakeDaemon& daemon) {
    setenv("OPTILE_NUMERICS", "as-untuned", 1);
    setenv("OPTILE_REGIONS", "tune", 1);
    read_environment();
    CHECK_OR_EXIT(!environment().steer_blas && !environment().tune_regions);
    attach(daemon);
    CHECK_OR_EXIT(daemon.attach_request().numerics_as_untuned == 1);
    constexpr uint64_t kKeeps = 0x5151;
    run_op(kOp);
    run_op(kKeeps);
    daemon.publish({{kOp, 2, {}, 0}, {kKeeps, 2, {}, OPTILE_ENTRY_SAME_BITS}}, 0,
                   [](optile_plan_page& page) { page.default_width_cap = 3; });
    CHECK_OR_EXIT(run_op(kOp) == kOwn);
    CHECK_OR_EXIT(run_op(0x7777) == kOwn);
    CHECK_OR_EXIT(run_op(0x7777) == kOwn);
    CHECK_OR_EXIT(run_op(kKeeps) == 2);
  });
}

TEST_F(OpBoundary, AnyNumericsSteersAllOps) {
  in_child([](FakeDaemon& daemon) {
    setenv("OPTILE_NUMERICS", "any", 1);
    read_environment();
    attach(daemon);
    CHECK_OR_EXIT(daemon.attach_request().numerics_as_untuned == 0);
    run_op(kOp);
    daemon.publish({{kOp, 2, {}, 0}});
    CHECK_OR_EXIT(run_op(kOp) == 2);
  });
}

TEST_F(OpBoundary, ExactRespectFollowsProgramsWidthAtOnce) {
  in_child([](FakeDaemon& daemon) {
    unsetenv("OMP_NUM_THREADS");
    respect_exactly(0);
    attach(daemon);
    omp_set_num_threads(kOwn);
    run_op(kOp);
    daemon.publish({{kOp, 2, {}, 0}});
    omp_set_num_threads(kOwn - 1);
    CHECK_OR_EXIT(run_op(kOp) == kOwn - 1);
    CHECK_OR_EXIT(run_op(kOp) == kOwn - 1);
    CHECK_OR_EXIT(daemon.client().header.default_width_source == OPTILE_WIDTH_PROGRAM);
  });
}

TEST_F(OpBoundary, ExactRespectIgnoresLaunchersWidth) {
  in_child([](FakeDaemon& daemon) {
    setenv("OPTILE_DEFAULT_WIDTH_SOURCE", ("exported:" + std::to_string(kOwn)).c_str(), 1);
    respect_exactly(kOwn);
    attach_with_plan(daemon, 2);
    CHECK_OR_EXIT(run_op(kOp) == 2);
  });
}

// `optile run -- script`, in which there is OMP_NUM_THREADS=4 program.
TEST_F(OpBoundary, ExactRespectKeepsNumberSetAfterLauncher) {
  in_child([](FakeDaemon& daemon) {
    setenv("OPTILE_DEFAULT_WIDTH_SOURCE", "launcher:1", 1);
    respect_exactly(kOwn);
    attach(daemon);
    run_op(kOp);
    CHECK_OR_EXIT(daemon.client().header.default_width_source == OPTILE_WIDTH_ENVIRONMENT);
    daemon.publish({{kOp, 2, {}, 0}});
    CHECK_OR_EXIT(run_op(kOp) == kOwn);
  });
}

TEST_F(OpBoundary, IgnoreRespectTakesEffectOnlyUnderLauncher) {
  setenv("OPTILE_RESPECT", "ignore", 1);
  setenv("OMP_NUM_THREADS", "2", 1);
  read_environment();
  EXPECT_EQ(environment().respect, OPTILE_RESPECT_CAP);
  setenv("OPTILE_DEFAULT_WIDTH_SOURCE", "exported:2", 1);
  read_environment();
  EXPECT_EQ(environment().respect, OPTILE_RESPECT_IGNORE);
  for (const char* name : {"OPTILE_RESPECT", "OMP_NUM_THREADS", "OPTILE_DEFAULT_WIDTH_SOURCE"}) {
    unsetenv(name);
  }
  read_environment();
}

TEST_F(OpBoundary, EchoOfWidthInForceIsNotProgramsChoice) {
  in_child([](FakeDaemon& daemon) {
    setenv("OMP_NUM_THREADS", std::to_string(kOwn).c_str(), 1);
    read_environment();
    attach_with_plan(daemon, 2);
    run_op_around(kOp, [&] {
      omp_set_num_threads(omp_get_max_threads());  // as OpenBLAS's OpenMP build does
    });
    CHECK_OR_EXIT(omp_get_max_threads() == kOwn);
    CHECK_OR_EXIT(daemon.client().header.default_width_source == OPTILE_WIDTH_ENVIRONMENT);
  });
}

TEST_F(OpBoundary, ReportsFork) {
  in_child([](FakeDaemon& daemon) {
    attach(daemon);
    const pid_t child = fork();
    if (child == 0) std::_Exit(0);
    waitpid(child, nullptr, 0);
    CHECK_OR_EXIT((daemon.client().header.fallbacks & OPTILE_FALLBACK_FORKED) != 0);
  });
}

TEST_F(OpBoundary, NeverExceedsProgramsDefaultWidth) {
  in_child([](FakeDaemon& daemon) {
    attach_with_plan(daemon, 64);
    CHECK_OR_EXIT(run_op(kOp) == kOwn);
    omp_set_num_threads(2);
    CHECK_OR_EXIT(run_op(kOp) == 2);
    daemon.publish({{kOp, 3, {}, 0}});
    CHECK_OR_EXIT(run_op(kOp) == 2);
  });
}

TEST_F(OpBoundary, KeepsWidthSetByProgramInsideOp) {
  in_child([](FakeDaemon& daemon) {
    attach_with_plan(daemon, 2);
    run_op_around(kOp, [&] { omp_set_num_threads(3); });
    CHECK_OR_EXIT(omp_get_max_threads() == 3);
  });
}

TEST_F(OpBoundary, SteersOnlyOutermostOp) {
  in_child([](FakeDaemon& daemon) {
    attach(daemon);
    run_op(kOp);
    run_op(kMarker);
    daemon.publish({{kOp, 2, {}, 0}, {kMarker, 1, {}, 0}});
    const optile_op_identity outer = identity_of(kOp);
    optile_open_op open{};
    op_begin(&outer, &open);
    CHECK_OR_EXIT(run_op(kMarker) == 2);
    CHECK_OR_EXIT(omp_get_max_threads() == 2);
    op_end(&open);
    CHECK_OR_EXIT(omp_get_max_threads() == kOwn);
  });
}

TEST_F(OpBoundary, SteersOpsInsideCompositeAndObservesItsTime) {
  in_child([](FakeDaemon& daemon) {
    attach_with_plan(daemon, 2);
    declared_step();
    daemon.take_events();
    optile_op_identity composite = identity_of(kMarker);
    composite.flags = OPTILE_OP_COMPOSITE;
    optile_open_op outer{};
    optile_open_op inner{};
    op_begin(&composite, &outer);
    op_begin(&composite, &inner);
    CHECK_OR_EXIT(run_op(kOp) == 2);
    declared_step();  // inside it
    CHECK_OR_EXIT(run_op(kOp) == 2);
    op_end(&inner);
    op_end(&outer);
    declared_step();
    uint64_t inside_ops = 0;
    int steps = 0;
    for (const optile_event& event : daemon.take_events()) {
      if (event.kind == OPTILE_EVENT_OP) {
        inside_ops += event.ticks;
      } else {
        ++steps;
        CHECK_OR_EXIT(event.context <= event.ticks);
        CHECK_OR_EXIT(event.context > inside_ops);
        inside_ops = 0;
      }
    }
    CHECK_OR_EXIT(steps == 2);
  });
}

TEST_F(OpBoundary, TimeBetweenRowCompositesCountsUnlessOpIntervenes) {
  in_child([](FakeDaemon& daemon) {
    attach(daemon);
    run_op(kOp);
    daemon.publish({});
    optile_op_identity node = identity_of(kMarker);
    node.flags = OPTILE_OP_COMPOSITE | OPTILE_OP_IN_ROW;
    optile_open_op open{};
    for (const bool op_between : {true, false}) {
      declared_step();
      daemon.take_events();
      op_begin(&node, &open);
      op_end(&open);
      if (op_between) run_op(kOp);
      const uint64_t from = ticks();
      uint64_t between = 0;
      while (between < 10'000) between = ticks() - from;
      op_begin(&node, &open);
      op_end(&open);
      declared_step();
      const auto events = daemon.take_events();
      const optile_event& step = events.back();
      CHECK_OR_EXIT(step.kind == OPTILE_EVENT_STEP);
      if (op_between) CHECK_OR_EXIT(step.context + between <= step.ticks);
      if (!op_between) CHECK_OR_EXIT(step.context >= between);
    }
  });
}

TEST_F(OpBoundary, LeaveEntryKeepsDefaultWidth) {
  in_child([](FakeDaemon& daemon) {
    attach(daemon);
    run_op(kOp);
    daemon.publish({{kOp, 1, {}, OPTILE_ENTRY_LEAVE}});
    CHECK_OR_EXIT(run_op(kOp) == kOwn);
  });
}

TEST_F(OpBoundary, FollowsScheduleStepByStep) {
  in_child([](FakeDaemon& daemon) {
    attach(daemon);
    run_op(kOp);
    run_op(kMarker);
    daemon.take_events();
    daemon.publish({{kOp, 3, {2, 1, 0}, 0}}, 0);
    run_op(kOp);
    // Contexts settle after 8 equal steps; then the marker's is known from its events.
    for (int i = 0; i < 20; ++i) {
      run_op(kMarker);
      run_op(kOp);
    }
    const std::vector<optile_event> events = daemon.take_events();
    const uint64_t context = events[events.size() - 2].context;
    daemon.publish({{kOp, 3, {2, 1, 0}, 0}}, kMarker,
                   [context](optile_plan_page& page) { page.marker_context = context; });
    int seen[6] = {};
    for (int& width : seen) {
      run_op(kMarker);
      width = run_op(kOp);
    }
    const int wanted[6] = {2, 1, kOwn, 3, 3, 3};
    for (int i = 0; i < 6; ++i) CHECK_OR_EXIT(seen[i] == wanted[i]);
    int steps = 0;
    for (const optile_event& event : daemon.take_events()) steps += event.kind == OPTILE_EVENT_STEP;
    CHECK_OR_EXIT(steps == 5);
  });
}

// F16.
// fault: F16
TEST_F(OpBoundary, FullRingDropsAndCountsEvents) {
  in_child([](FakeDaemon& daemon) {
    attach(daemon);
    daemon.take_events();
    const uint64_t before = daemon.client().threads[0].dropped;
    for (uint32_t i = 0; i < OPTILE_RING_EVENTS + 100; ++i) run_op(kOp);
    CHECK_OR_EXIT(daemon.client().threads[0].dropped - before == 100);
    CHECK_OR_EXIT(daemon.take_events().size() == OPTILE_RING_EVENTS);
  });
}

// F1.
// fault: F1
TEST_F(OpBoundary, KeepsLastPlanAfterDaemonVanishes) {
  in_child([](FakeDaemon& daemon) {
    attach_with_plan(daemon, 2);
    daemon.hang_up();
    for (int i = 0; i < 1000; ++i) CHECK_OR_EXIT(run_op(kOp) == 2);
    CHECK_OR_EXIT(omp_get_max_threads() == kOwn);
  });
}

TEST_F(OpBoundary, RejectsOtherAbiVersion) {
  in_child([](FakeDaemon& daemon) {
    daemon.answer_one_client(OPTILE_ABI_VERSION + 1);
    CHECK_OR_EXIT(run_op(kOp) == kOwn);
    daemon.wait_for_client();
    for (int i = 0; i < 1000; ++i) CHECK_OR_EXIT(run_op(kOp) == kOwn);
    CHECK_OR_EXIT(attachment() == nullptr);
  });
}

TEST_F(OpBoundary, ForkedChildRunsUnattachedAtDefaultWidth) {
  in_child([](FakeDaemon& daemon) {
    attach_with_plan(daemon, 2);
    const pid_t child = fork();
    if (child == 0) std::_Exit(run_op(kOp) == kOwn && attachment() == nullptr ? 0 : 1);
    int status = 0;
    waitpid(child, &status, 0);
    CHECK_OR_EXIT(status == 0);
    CHECK_OR_EXIT(run_op(kOp) == 2);
  });
}

TEST_F(OpBoundary, ObserveModeChangesNoWidth) {
  setenv("OPTILE_MODE", "observe", 1);
  in_child([](FakeDaemon& daemon) {
    attach_with_plan(daemon, 1);
    CHECK_OR_EXIT(run_op(kOp) == kOwn);
    CHECK_OR_EXIT(!daemon.take_events().empty());
  });
  unsetenv("OPTILE_MODE");
}

TEST_F(OpBoundary, OffModeNeverAttaches) {
  setenv("OPTILE_MODE", "off", 1);
  in_child([](FakeDaemon&) {
    for (int i = 0; i < 100; ++i) CHECK_OR_EXIT(run_op(kOp) == kOwn);
    CHECK_OR_EXIT(attachment() == nullptr);
  });
  unsetenv("OPTILE_MODE");
}

TEST_F(OpBoundary, NamesSymbolMissingInRuntime) {
  if (dlopen("libomp.so.5", RTLD_NOW | RTLD_LOCAL) == nullptr) GTEST_SKIP() << "no libomp.so.5";
  EXPECT_EQ(missing_in_runtime("libomp.so.5"), nullptr);
  ASSERT_NE(dlopen(OPTILE_TEST_NEEDS_MORE, RTLD_LAZY | RTLD_LOCAL), nullptr) << dlerror();
  EXPECT_STREQ(missing_in_runtime("libomp.so.5"), "GOMP_warning");
  EXPECT_EQ(missing_in_runtime("libgomp.so.1"), nullptr);
}

TEST_F(OpBoundary, IgnoresOpsInsideParallelRegion) {
  in_child([](FakeDaemon& daemon) {
    attach_with_plan(daemon, 1);
    daemon.take_events();
    int wrong = 0;
#pragma omp parallel num_threads(2) reduction(+ : wrong)
    wrong += run_op(kOp) == 1 ? 1 : 0;
    CHECK_OR_EXIT(wrong == 0);
  });
}

}  // namespace
}  // namespace optile::preload
