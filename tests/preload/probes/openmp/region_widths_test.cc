// Regions of the program's own get widths: set before they begin, for the one that is expected.
#include "bindings/preload/probes/openmp/region_width.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <omp.h>

#include <cstring>
#include <thread>

#include "bindings/preload/core/annotations.h"
#include "bindings/preload/core/library_op.h"
#include "bindings/preload/probes/openmp/region_rules.h"
#include "tests/preload/fixtures/boundary_fixture.h"

using Microtask = void (*)(int*, int*, ...);
// NOLINTBEGIN(bugprone-reserved-identifier): these are LLVM's names
extern "C" void __kmpc_fork_call(void* where, int count, Microtask task, ...);
extern "C" void __kmpc_fork_call_if(void* where, int count, Microtask task, int condition,
                                    void* argument);
extern "C" void __kmpc_fork_teams(void* where, int count, Microtask task, ...);
extern "C" void __kmpc_push_num_threads(void* where, int thread, int threads);
extern "C" void __kmpc_serialized_parallel(void* where, int thread);
// NOLINTEND(bugprone-reserved-identifier)
// As compilers before GCC 4.9 called them.
extern "C" void GOMP_parallel_start(void (*body)(void*), void* data, unsigned threads);
extern "C" void GOMP_parallel_loop_static_start(void (*body)(void*), void* data, unsigned threads,
                                                long start, long end, long step, long chunk);
extern "C" void GOMP_parallel_end();

namespace optile::preload {
namespace {

using test::FakeDaemon;

constexpr const char* kThisProgram = "tune:preload_core_test";

__attribute__((noinline)) int team_of_first() {
  int size = 0;
#pragma omp parallel
#pragma omp master
  size = omp_get_num_threads();
  return size;
}

__attribute__((noinline)) int team_of_second() {
  int size = 1;
#pragma omp parallel
#pragma omp master
  size += omp_get_num_threads();
  return size - 1;
}

__attribute__((noinline)) int team_with_clause(int threads) {
  int size = 2;
#pragma omp parallel num_threads(threads)
#pragma omp master
  size += omp_get_num_threads();
  return size - 2;
}

void first_task(int* /*thread*/, int* /*bound*/, ...) {}
void second_task(int* thread, int* /*bound*/, ...) {
  ++*thread;
}

class TunedRegions : public ::testing::Test {
 protected:
  // As a launcher would start it, with `regions` said.
  static void in_child(const char* regions, void (*body)(FakeDaemon&)) {
    test::run_beside_daemon([regions, body](FakeDaemon& daemon) {
      setenv("OMP_NUM_THREADS", "4", 1);
      setenv("OPTILE_DEFAULT_WIDTH_SOURCE", "exported:4", 1);
      setenv("OPTILE_REGIONS", regions, 1);
      read_environment();
      omp_set_num_threads(kOwn);
      daemon.answer_one_client();
      team_of_first();
      daemon.wait_for_client();
      for (int i = 0; i < 10'000'000 && attachment() == nullptr; ++i) team_of_first();
      CHECK_OR_EXIT(attachment() != nullptr);
      body(daemon);
    });
  }

  // Long enough that what comes next is expected everywhere.
  static void learn() {
    for (int i = 0; i < 12; ++i) {
      team_of_first();
      team_of_second();
    }
  }

  // By the order in which they were opened first.
  static const optile_op_record& record(const FakeDaemon& daemon, uint32_t number) {
    CHECK_OR_EXIT(number < daemon.client().header.registry_count);
    return daemon.client().ops[number];
  }

  // Then a plan for the two regions that were opened first.
  static void learn_and_plan(FakeDaemon& daemon, uint16_t first, uint16_t second) {
    learn();
    daemon.publish({{record(daemon, 0).key, first, {}, 0}, {record(daemon, 1).key, second, {}, 0}});
  }
};

int run_at_all = 0;   // of conditional_task()
int most_inside = 0;  // of task_of_teams()

constexpr const char* kObserve = "observe";
constexpr const char* kTune = "tune";
constexpr const char* kAnother = "tune:libanother.so,prog";

TEST_F(TunedRegions, SetsWidthOfExpectedRegionBeforehand) {
  in_child(kThisProgram, [](FakeDaemon& daemon) {
    learn();
    CHECK_OR_EXIT(record(daemon, 0).tuning == OPTILE_REGION_TUNED);
    CHECK_OR_EXIT(record(daemon, 1).tuning == OPTILE_REGION_TUNED);
    daemon.publish({{record(daemon, 0).key, 2, {}, 0}, {record(daemon, 1).key, 1, {}, 0}});
    team_of_first();
    for (int i = 0; i < 3; ++i) {
      CHECK_OR_EXIT(omp_get_max_threads() == 1);
      CHECK_OR_EXIT(team_of_second() == 1);
      CHECK_OR_EXIT(omp_get_max_threads() == 2);
      CHECK_OR_EXIT(team_of_first() == 2);
    }
    const auto events = daemon.take_events();
    CHECK_OR_EXIT(!events.empty() && events.back().width == 2);
    CHECK_OR_EXIT((events.back().flags & OPTILE_EVENT_STEERABLE) != 0);
  });
}

TEST_F(TunedRegions, ClauseOfSerialRegionDoesNotCarryOver) {
  in_child(kThisProgram, [](FakeDaemon& daemon) {
    static int here = 0;
    __kmpc_push_num_threads(&here, 0, 2);
    __kmpc_serialized_parallel(&here, 0);
    __kmpc_fork_call(&here, 0, first_task);
    CHECK_OR_EXIT(record(daemon, 1).tuning == OPTILE_REGION_TUNED);
    __kmpc_push_num_threads(&here, 0, 2);
    __kmpc_fork_call(&here, 0, second_task);
    CHECK_OR_EXIT(record(daemon, 2).tuning == OPTILE_REGION_CLAUSE);
    // Beside GCC's, whose names the first region came by.
    CHECK_OR_EXIT((daemon.client().header.fallbacks & OPTILE_FALLBACK_TWO_RUNTIMES) != 0);
  });
}

TEST_F(TunedRegions, LaterFrameworkChoosesSteeredRuntime) {
  in_child(kThisProgram, [](FakeDaemon& daemon) {
    learn();
    const OpenmpRuntime* of_region = steered_runtime();
    CHECK_OR_EXIT(of_region != nullptr);
    choose_runtime_of_library(reinterpret_cast<const void*>(&team_of_first));
    CHECK_OR_EXIT(steered_runtime() == of_region);
    choose_steered_runtime(reinterpret_cast<const void*>(&team_of_first));
    const OpenmpRuntime* of_framework = steered_runtime();
    CHECK_OR_EXIT(of_framework != nullptr && of_framework != of_region);
    choose_runtime_of_speaker(reinterpret_cast<const void*>(&team_of_first));
    CHECK_OR_EXIT(steered_runtime() == of_framework);
    // Both are the same copy here, so regions go on.
    daemon.publish({{record(daemon, 0).key, 2, {}, 0}, {record(daemon, 1).key, 1, {}, 0}});
    learn();
    CHECK_OR_EXIT(team_of_first() == 2 && team_of_second() == 1);
  });
}

TEST_F(TunedRegions, UnexpectedRegionRunsAtDefaultWidth) {
  in_child(kThisProgram, [](FakeDaemon& daemon) {
    learn_and_plan(daemon, 2, 1);
    team_of_first();
    CHECK_OR_EXIT(omp_get_max_threads() == 1);
    CHECK_OR_EXIT(team_of_first() == kOwn);
  });
}

TEST_F(TunedRegions, OpBetweenRegionsSeesDefaultWidth) {
  in_child(kThisProgram, [](FakeDaemon& daemon) {
    learn_and_plan(daemon, 2, 1);
    team_of_first();
    CHECK_OR_EXIT(omp_get_max_threads() == 1);
    CHECK_OR_EXIT(run_op(kOp) == kOwn);
    CHECK_OR_EXIT(omp_get_max_threads() == kOwn);
  });
}

constexpr uint64_t kProduct = 0x3333;

bool follows(const void* /*real*/) {
  return true;
}

// A call into a library as its probe reports it; the count that it finds, or 0 where it is no op.
int run_library_op() {
  const auto* here = reinterpret_cast<const void*>(&follows);
  LibraryOp op;
  if (!op.may_begin(here, follows, here)) return 0;
  op.begin({kProduct, 0, OPTILE_PROBE_BLAS, describe_nothing, nullptr});
  return omp_get_max_threads();
}

__attribute__((noinline)) int team_around_library() {
  int size = 3;
#pragma omp parallel
#pragma omp master
  size += omp_get_num_threads() + 100 * run_library_op();
  return size - 3;
}

TEST_F(TunedRegions, LibraryOpBetweenRegionsJoinsSequence) {
  in_child(kThisProgram, [](FakeDaemon& daemon) {
    for (int i = 0; i < 12; ++i) {
      team_of_first();
      team_of_second();
      CHECK_OR_EXIT(run_library_op() == kOwn);
    }
    daemon.publish({{record(daemon, 0).key, 2, {}, 0}, {record(daemon, 1).key, 1, {}, 0}});
    team_of_first();
    for (int i = 0; i < 20; ++i) {
      CHECK_OR_EXIT(omp_get_max_threads() == 1);
      CHECK_OR_EXIT(team_of_second() == 1);
      CHECK_OR_EXIT(run_library_op() == kOwn);
      CHECK_OR_EXIT(omp_get_max_threads() == kOwn);
      CHECK_OR_EXIT(team_of_first() == kOwn);
    }
    CHECK_OR_EXIT(record(daemon, 1).tuning == OPTILE_REGION_TUNED);
  });
}

TEST_F(TunedRegions, LibraryCallInsideRegionChangesNothing) {
  in_child(kThisProgram, [](FakeDaemon& daemon) {
    for (int i = 0; i < 12; ++i) {
      team_of_first();
      team_around_library();
    }
    CHECK_OR_EXIT(daemon.client().header.registry_count == 2);
    daemon.publish({{record(daemon, 0).key, 2, {}, 0}, {record(daemon, 1).key, 3, {}, 0}});
    team_of_first();
    for (int i = 0; i < 20; ++i) {
      CHECK_OR_EXIT(team_around_library() == 3);
      CHECK_OR_EXIT(team_of_first() == 2);
    }
    CHECK_OR_EXIT(record(daemon, 1).tuning == OPTILE_REGION_TUNED);
  });
}

TEST_F(TunedRegions, ExactRespectReplacesWidthInForce) {
  in_child(kThisProgram, [](FakeDaemon& daemon) {
    learn_and_plan(daemon, 2, 1);
    team_of_first();
    CHECK_OR_EXIT(omp_get_max_threads() == 1);
    unsetenv("OPTILE_DEFAULT_WIDTH_SOURCE");
    setenv("OPTILE_RESPECT", "exact", 1);
    read_environment();
    for (int i = 0; i < 12; ++i) {
      CHECK_OR_EXIT(team_of_second() == kOwn);
      CHECK_OR_EXIT(team_of_first() == kOwn);
      CHECK_OR_EXIT(omp_get_max_threads() == kOwn);
    }
    CHECK_OR_EXIT(record(daemon, 0).tuning == OPTILE_REGION_ENVIRONMENT);
  });
}

TEST_F(TunedRegions, RestoresDefaultWidthOnSwitchToObserve) {
  in_child(kThisProgram, [](FakeDaemon& daemon) {
    learn_and_plan(daemon, 2, 1);
    team_of_first();
    CHECK_OR_EXIT(omp_get_max_threads() == 1);
    setenv("OPTILE_MODE", "observe", 1);
    read_environment();
    CHECK_OR_EXIT(team_of_second() == kOwn);
    CHECK_OR_EXIT(omp_get_max_threads() == kOwn);
  });
}

TEST_F(TunedRegions, WidthSetByProgramStaysAndEndsTuning) {
  in_child(kThisProgram, [](FakeDaemon& daemon) {
    learn_and_plan(daemon, 2, 1);
    team_of_first();
    CHECK_OR_EXIT(omp_get_max_threads() == 1);
    omp_set_num_threads(3);
    for (int i = 0; i < 20; ++i) {
      CHECK_OR_EXIT(team_of_second() == 3);
      CHECK_OR_EXIT(team_of_first() == 3);
    }
    CHECK_OR_EXIT(record(daemon, 0).tuning == OPTILE_REGION_PROGRAM);
    CHECK_OR_EXIT(daemon.client().header.default_width_source == OPTILE_WIDTH_PROGRAM);
  });
}

TEST_F(TunedRegions, NumThreadsClauseIsNeverChanged) {
  in_child(kThisProgram, [](FakeDaemon& daemon) {
    for (int i = 0; i < 12; ++i) {
      team_of_first();
      CHECK_OR_EXIT(team_with_clause(3) == 3);
    }
    CHECK_OR_EXIT(record(daemon, 1).tuning == OPTILE_REGION_CLAUSE);
    daemon.publish({{record(daemon, 0).key, 2, {}, 0}, {record(daemon, 1).key, 1, {}, 0}});
    team_of_first();
    CHECK_OR_EXIT(omp_get_max_threads() == kOwn);
    CHECK_OR_EXIT(team_with_clause(3) == 3);
    CHECK_OR_EXIT(omp_get_max_threads() == 2);
    CHECK_OR_EXIT(team_of_first() == 2);
  });
}

TEST_F(TunedRegions, NestedRegionsEndTuning) {
  in_child(kThisProgram, [](FakeDaemon& daemon) {
    learn();
    daemon.publish({{record(daemon, 0).key, 2, {}, 0}});
    int inner = 0;
#pragma omp parallel
#pragma omp critical
    inner += team_of_second();
    CHECK_OR_EXIT(inner >= kOwn);
    for (int i = 0; i < 12; ++i) {
      CHECK_OR_EXIT(team_of_first() == kOwn);
      CHECK_OR_EXIT(omp_get_max_threads() == kOwn);
    }
    CHECK_OR_EXIT(record(daemon, 0).tuning == OPTILE_REGION_NESTED);
  });
}

void tell_team(void* size) {
  if (omp_get_thread_num() == 0) *static_cast<int*>(size) = omp_get_num_threads();
}

int team_of_old_compiler() {
  int size = 0;
  GOMP_parallel_start(tell_team, &size, 0);
  tell_team(&size);
  GOMP_parallel_end();
  return size;
}

int team_of_old_loop() {
  int size = 0;
  GOMP_parallel_loop_static_start(tell_team, &size, 0, 0, 100, 1, 0);
  tell_team(&size);
  GOMP_parallel_end();
  return size;
}

TEST_F(TunedRegions, OldGccRegionsRunAtDefaultWidth) {
  in_child(kThisProgram, [](FakeDaemon& daemon) {
    learn_and_plan(daemon, 2, 1);
    for (int (*team)() : {team_of_old_compiler, team_of_old_loop}) {
      learn();
      CHECK_OR_EXIT(team_of_first() == 2);
      CHECK_OR_EXIT(omp_get_max_threads() == 1);
      CHECK_OR_EXIT(team() == kOwn);
      CHECK_OR_EXIT(omp_get_max_threads() == kOwn);
    }
    CHECK_OR_EXIT(record(daemon, 0).tuning == OPTILE_REGION_TUNED);
    // Inside another one it is a region inside a region.
#pragma omp parallel
    team_of_old_compiler();
    team_of_first();
    CHECK_OR_EXIT((record(daemon, 0).tuning & OPTILE_REGION_NESTED) != 0);
  });
}

void conditional_task(int* /*thread*/, int* /*bound*/, ...) {
  ++run_at_all;
}

TEST_F(TunedRegions, IfClauseDoesNotSplitRegion) {
  in_child(kThisProgram, [](FakeDaemon& daemon) {
    static int here = 0;
    __kmpc_fork_call_if(&here, 0, conditional_task, 1, nullptr);
    CHECK_OR_EXIT(daemon.client().header.registry_count == 2);
    CHECK_OR_EXIT(record(daemon, 1).tuning == OPTILE_REGION_TUNED);
    __kmpc_fork_call_if(&here, 0, conditional_task, 0, nullptr);
    CHECK_OR_EXIT(daemon.client().header.registry_count == 2);
    CHECK_OR_EXIT(run_at_all == 2);
    learn();
    CHECK_OR_EXIT(record(daemon, 0).tuning == OPTILE_REGION_TUNED);
  });
}

void task_of_teams(int* /*thread*/, int* /*bound*/, ...) {
  most_inside = omp_get_max_threads();
}

TEST_F(TunedRegions, TeamsConstructEndsTuning) {
  in_child(kThisProgram, [](FakeDaemon& daemon) {
    static int here = 0;
    learn_and_plan(daemon, 2, 1);
    team_of_first();
    CHECK_OR_EXIT(omp_get_max_threads() == 1);
    __kmpc_fork_teams(&here, 0, task_of_teams);
    CHECK_OR_EXIT(most_inside == kOwn);
    learn();
    CHECK_OR_EXIT(omp_get_max_threads() == kOwn);
    CHECK_OR_EXIT(record(daemon, 0).tuning == OPTILE_REGION_NESTED);
  });
}

// Where nobody knows when it comes, nobody's count may be left in force.
TEST_F(TunedRegions, RegionBypassingShimEndsTuning) {
  in_child(kThisProgram, [](FakeDaemon& daemon) {
    learn_and_plan(daemon, 2, 1);
    learn();
    CHECK_OR_EXIT(team_of_first() == 2);
    void* object = dlopen(OPTILE_TEST_GOES_PAST, RTLD_NOW | RTLD_DEEPBIND);
    CHECK_OR_EXIT(object != nullptr);
    const auto team = reinterpret_cast<int (*)()>(dlsym(object, "team_past_the_shim"));
    CHECK_OR_EXIT(team != nullptr);
    team_of_second();
    for (int i = 0; i < 12; ++i) {
      CHECK_OR_EXIT(team() == kOwn);
      CHECK_OR_EXIT(team_of_first() == kOwn);
      CHECK_OR_EXIT(team() == kOwn);
      CHECK_OR_EXIT(team_of_second() == kOwn);
    }
    CHECK_OR_EXIT(record(daemon, 0).tuning == OPTILE_REGION_UNSEEN);
  });
}

TEST_F(TunedRegions, EachThreadHasItsOwnSequence) {
  in_child(kThisProgram, [](FakeDaemon& daemon) {
    learn_and_plan(daemon, 2, 2);
    team_of_first();
    CHECK_OR_EXIT(team_of_second() == 2);
    std::thread([] {
      omp_set_num_threads(kOwn);
      CHECK_OR_EXIT(team_of_first() == kOwn);
      CHECK_OR_EXIT(team_of_second() == kOwn);
    }).join();
    CHECK_OR_EXIT(team_of_first() == 2);
  });
}

TEST_F(TunedRegions, ForkedChildRunsRegionsWithOneThread) {
  in_child(kThisProgram, [](FakeDaemon& daemon) {
    learn_and_plan(daemon, 2, 2);
    team_of_first();
    CHECK_OR_EXIT(omp_get_max_threads() == 2);
    const pid_t forked = fork();
    if (forked == 0) std::_Exit(team_of_second() == 1 && team_of_first() == 1 ? 0 : 1);
    int status = 0;
    CHECK_OR_EXIT(waitpid(forked, &status, 0) == forked && status == 0);
    CHECK_OR_EXIT(team_of_second() == 2);
  });
}

void expect_left_alone(FakeDaemon& daemon, uint64_t reasons) {
  for (int i = 0; i < 12; ++i) {
    team_of_first();
    team_of_second();
  }
  CHECK_OR_EXIT(daemon.client().header.registry_count == 2);
  CHECK_OR_EXIT(daemon.client().ops[0].tuning == reasons);
  daemon.publish({{daemon.client().ops[0].key, 2, {}, 0}, {daemon.client().ops[1].key, 1, {}, 0}});
  for (int i = 0; i < 4; ++i) {
    CHECK_OR_EXIT(team_of_first() == kOwn);
    CHECK_OR_EXIT(omp_get_max_threads() == kOwn);
    CHECK_OR_EXIT(team_of_second() == kOwn);
    CHECK_OR_EXIT(omp_get_max_threads() == kOwn);
  }
}

TEST_F(TunedRegions, AreOnlyObservedUnlessTuningIsRequested) {
  in_child(kObserve,
           [](FakeDaemon& daemon) { expect_left_alone(daemon, OPTILE_REGION_NOT_ASKED); });
}

TEST_F(TunedRegions, ObjectsNotListedAreLeftAlone) {
  in_child(kAnother,
           [](FakeDaemon& daemon) { expect_left_alone(daemon, OPTILE_REGION_NOT_LISTED); });
}

// As this program does, whose tests ask and set all the time, and in which the shim's own variables
// of each thread lie.
TEST_F(TunedRegions, ObjectsUsingOmpCallsOrTlsAreLeftAlone) {
  in_child(kTune, [](FakeDaemon& daemon) {
    expect_left_alone(daemon, OPTILE_REGION_ASKS | OPTILE_REGION_SETS | OPTILE_REGION_PER_THREAD);
  });
}

}  // namespace
}  // namespace optile::preload
