#include "bindings/preload/core/op_counters.h"

#include <dlfcn.h>
#include <errno.h>
#include <sys/stat.h>

#include <string>
#include <vector>

#include "bindings/preload/counters/counter_api.h"
#include "tests/preload/fixtures/boundary_fixture.h"
#include "tests/preload/fixtures/cancelled_thread.h"

namespace optile::preload {
namespace {

constexpr uint32_t kFakeGroups = 3;

const std::string& fake_library() {
  static const std::string path = OPTILE_TEST_FAKE_COUNTERS;
  return path;
}

class OpCounters : public OpBoundary {
 protected:
  void SetUp() override {
    setenv("OPTILE_BRIDGE_DIR", fake_library().substr(0, fake_library().rfind('/')).c_str(), 1);
    unsetenv("OPTILE_COUNTERS");
    unsetenv("OPTILE_FAKE_COUNTERS");
  }
  void TearDown() override {
    for (const char* name : {"OPTILE_BRIDGE_DIR", "OPTILE_COUNTERS", "OPTILE_FAKE_COUNTERS"}) {
      unsetenv(name);
    }
  }
};

void ask_for_counts(test::FakeDaemon& daemon) {
  daemon.publish({}, kMarker, [](optile_plan_page& page) {
    page.flags = OPTILE_PAGE_RECORD_ALL | OPTILE_PAGE_COUNT;
  });
}

const optile_client_header& header_of(const test::FakeDaemon& daemon) {
  return daemon.client().header;
}

// An op with one region of kOwn threads. The test's own regions go through the interposed calls.
void run_op_with_region(uint64_t key) {
  run_op_around(key, [&] {
    int at_work = 0;
#pragma omp parallel num_threads(kOwn)
    {
#pragma omp atomic
      at_work += 1;
    }
    CHECK_OR_EXIT(at_work == kOwn);
  });
}

void run_step(uint64_t key) {
  run_op(kMarker);
  run_op_with_region(key);
}

// Counts and the op they belong to, of ops with this key's id.
struct Counted {
  optile_event counts;
  optile_event op;
};
std::vector<Counted> counted_ops(const std::vector<optile_event>& events) {
  std::vector<Counted> found;
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (events[i].kind != OPTILE_EVENT_COUNTS) continue;
    CHECK_OR_EXIT(i + 1 < events.size());
    CHECK_OR_EXIT(events[i + 1].kind == OPTILE_EVENT_OP);
    CHECK_OR_EXIT(events[i + 1].op_id == events[i].op_id);
    found.push_back({events[i], events[i + 1]});
  }
  return found;
}

TEST_F(OpCounters, WritesCountsEventBeforeItsOp) {
  in_child([](test::FakeDaemon& daemon) {
    attach(daemon);
    ask_for_counts(daemon);
    run_step(kOp);  // workers open their counters in here: not told
    for (uint32_t i = 0; i < kFakeGroups; ++i) run_step(kOp);
    daemon.take_events();
    run_step(kOp);
    const std::vector<Counted> found = counted_ops(daemon.take_events());
    CHECK_OR_EXIT(found.size() == 1 || found.size() == 2);
    // The marker: one thread, one difference of two reads.
    CHECK_OR_EXIT(found[0].counts.regions == 1);
    CHECK_OR_EXIT(found[0].counts.begin_ticks == 10 && found[0].counts.ticks == 20);
    CHECK_OR_EXIT(found[0].counts.context == 30 && found[0].counts.region_ticks == 40);
    CHECK_OR_EXIT(found[0].counts.column == found[0].op.step % kFakeGroups);
  });
}

TEST_F(OpCounters, AddsCountsOfRegionWorkers) {
  in_child([](test::FakeDaemon& daemon) {
    attach(daemon);
    ask_for_counts(daemon);
    // Every thread follows every group after two rounds; a change of group spoils the op it is in.
    bool whole = false;
    for (int i = 0; i < 40 && !whole; ++i) {
      run_op(kMarker);
      run_op_with_region(kOp);  // opens
      daemon.take_events();
      run_op_with_region(kOp);
      run_op_with_region(kOp);
      for (const Counted& one : counted_ops(daemon.take_events())) {
        if (one.counts.regions != kOwn) continue;
        whole = one.counts.begin_ticks == 10 * kOwn && one.counts.region_ticks == 40 * kOwn;
        CHECK_OR_EXIT(whole);
      }
    }
    CHECK_OR_EXIT(whole);
  });
}

TEST_F(OpCounters, StepNumberSelectsCounterGroup) {
  in_child([](test::FakeDaemon& daemon) {
    attach(daemon);
    ask_for_counts(daemon);
    for (int i = 0; i < 9; ++i) run_op(kMarker);
    const std::vector<Counted> found = counted_ops(daemon.take_events());
    CHECK_OR_EXIT(found.size() == 9);
    for (const Counted& one : found) CHECK_OR_EXIT(one.counts.column == one.op.step % kFakeGroups);
  });
}

TEST_F(OpCounters, ReportsTierGroupsAndEvents) {
  in_child([](test::FakeDaemon& daemon) {
    attach(daemon);
    CHECK_OR_EXIT(header_of(daemon).counter_tier == OPTILE_COUNTERS_NONE);
    ask_for_counts(daemon);
    run_op(kMarker);
    CHECK_OR_EXIT(header_of(daemon).counter_tier == OPTILE_COUNTERS_HARDWARE);
    CHECK_OR_EXIT(header_of(daemon).counter_groups == kFakeGroups);
    CHECK_OR_EXIT(header_of(daemon).counter_events[1][2] == OPTILE_COUNT_LLC_MISSES);
    CHECK_OR_EXIT((header_of(daemon).fallbacks & OPTILE_FALLBACK_NO_COUNTERS) == 0);
  });
}

TEST_F(OpCounters, OpensCountersOnlyOnRequest) {
  in_child([](test::FakeDaemon& daemon) {
    attach(daemon);
    daemon.publish({}, kMarker, [](auto& page) { page.flags = OPTILE_PAGE_RECORD_ALL; });
    run_step(kOp);
    run_step(kOp);
    CHECK_OR_EXIT(dlopen(fake_library().c_str(), RTLD_NOW | RTLD_NOLOAD) == nullptr);
    CHECK_OR_EXIT(!counters_in_use());
    CHECK_OR_EXIT(counted_ops(daemon.take_events()).empty());
    ask_for_counts(daemon);
    run_step(kOp);
    CHECK_OR_EXIT(dlopen(fake_library().c_str(), RTLD_NOW | RTLD_NOLOAD) != nullptr);
  });
}

TEST_F(OpCounters, ReleasesCountersWhenRequestEnds) {
  in_child([](test::FakeDaemon& daemon) {
    attach(daemon);
    ask_for_counts(daemon);
    for (int i = 0; i < 8; ++i) run_step(kOp);
    void* library = dlopen(fake_library().c_str(), RTLD_NOW | RTLD_NOLOAD);
    CHECK_OR_EXIT(library != nullptr);
    const auto get = reinterpret_cast<optile_counters_fn>(dlsym(library, OPTILE_COUNTERS_SYMBOL));
    CHECK_OR_EXIT(get()->followers() == kOwn);
    daemon.publish({}, kMarker, [](auto& page) { page.flags = OPTILE_PAGE_RECORD_ALL; });
    run_step(kOp);
    CHECK_OR_EXIT(get()->followers() == 0);
    run_step(kOp);
    CHECK_OR_EXIT(!counters_in_use());
  });
}

TEST_F(OpCounters, ScheduledStepsAreNotCounted) {
  in_child([](test::FakeDaemon& daemon) {
    attach(daemon);
    daemon.publish({}, kMarker, [](optile_plan_page& page) {
      page.flags = OPTILE_PAGE_RECORD_ALL | OPTILE_PAGE_COUNT;
      page.schedule_length = 3;
    });
    for (int i = 0; i < 3; ++i) run_op(kMarker);
    CHECK_OR_EXIT(counted_ops(daemon.take_events()).empty());
    run_op(kMarker);
    CHECK_OR_EXIT(counted_ops(daemon.take_events()).size() == 1);
  });
}

TEST_F(OpCounters, StopsCountingAfterStepLimit) {
  in_child([](test::FakeDaemon& daemon) {
    attach(daemon);
    ask_for_counts(daemon);
    for (uint32_t i = 0; i < kMostCountedSteps + 10; ++i) run_op(kMarker);
    CHECK_OR_EXIT(counted_ops(daemon.take_events()).size() == kMostCountedSteps);
    CHECK_OR_EXIT(!counters_in_use());
  });
}

TEST_F(OpCounters, FailedReadEndsCounting) {
  setenv("OPTILE_FAKE_COUNTERS", "read later", 1);
  in_child([](test::FakeDaemon& daemon) {
    attach(daemon);
    ask_for_counts(daemon);
    for (int i = 0; i < 10; ++i) run_op(kMarker);
    CHECK_OR_EXIT(counted_ops(daemon.take_events()).size() == 3);
    CHECK_OR_EXIT((header_of(daemon).fallbacks & OPTILE_FALLBACK_NO_COUNTERS) != 0);
    CHECK_OR_EXIT(!counters_in_use());
  });
}

TEST_F(OpCounters, FailedFollowIsReportedAsNoCounters) {
  setenv("OPTILE_FAKE_COUNTERS", "follow", 1);
  in_child([](test::FakeDaemon& daemon) {
    attach(daemon);
    ask_for_counts(daemon);
    for (int i = 0; i < 3; ++i) run_step(kOp);
    CHECK_OR_EXIT(counted_ops(daemon.take_events()).empty());
    CHECK_OR_EXIT((header_of(daemon).fallbacks & OPTILE_FALLBACK_NO_COUNTERS) != 0);
  });
}

TEST_F(OpCounters, ReportsErrnoWhenNothingCanBeCounted) {
  setenv("OPTILE_FAKE_COUNTERS", "find", 1);
  in_child([](test::FakeDaemon& daemon) {
    attach(daemon);
    ask_for_counts(daemon);
    run_step(kOp);
    CHECK_OR_EXIT(header_of(daemon).counter_tier == OPTILE_COUNTERS_NONE);
    CHECK_OR_EXIT(header_of(daemon).counter_errno == ENODEV);
    CHECK_OR_EXIT((header_of(daemon).fallbacks & OPTILE_FALLBACK_NO_COUNTERS) != 0);
  });
}

TEST_F(OpCounters, RejectsLibraryWritableByOthers) {
  char folder[] = "/tmp/optile-counters-XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  const std::string copy = std::string(folder) + "/" + OPTILE_COUNTERS_LIBRARY;
  const std::string command = "cp " + fake_library() + " " + copy;
  ASSERT_EQ(std::system(command.c_str()), 0);
  ASSERT_EQ(chmod(copy.c_str(), 0666), 0);
  setenv("OPTILE_BRIDGE_DIR", folder, 1);
  in_child([](test::FakeDaemon& daemon) {
    attach(daemon);
    ask_for_counts(daemon);
    run_step(kOp);
    CHECK_OR_EXIT(header_of(daemon).counter_errno == EPERM);
    CHECK_OR_EXIT(counted_ops(daemon.take_events()).empty());
  });
  unlink(copy.c_str());
  rmdir(folder);
}

TEST_F(OpCounters, UserCanDisableCounters) {
  setenv("OPTILE_COUNTERS", "off", 1);
  in_child([](test::FakeDaemon& daemon) {
    attach(daemon);
    CHECK_OR_EXIT(header_of(daemon).counter_errno == ECANCELED);
    ask_for_counts(daemon);
    run_step(kOp);
    CHECK_OR_EXIT(counted_ops(daemon.take_events()).empty());
    CHECK_OR_EXIT(dlopen(fake_library().c_str(), RTLD_NOW | RTLD_NOLOAD) == nullptr);
    CHECK_OR_EXIT((header_of(daemon).fallbacks & OPTILE_FALLBACK_NO_COUNTERS) == 0);
  });
}

TEST_F(OpCounters, UserCanLimitCountersToSoftware) {
  setenv("OPTILE_COUNTERS", "software", 1);
  in_child([](test::FakeDaemon& daemon) {
    attach(daemon);
    ask_for_counts(daemon);
    run_step(kOp);
    CHECK_OR_EXIT(header_of(daemon).counter_tier == OPTILE_COUNTERS_SOFTWARE);
  });
}

TEST_F(OpCounters, WritesOpWithoutCountsWhenRingIsNearlyFull) {
  in_child([](test::FakeDaemon& daemon) {
    attach(daemon);
    ask_for_counts(daemon);
    run_op(kMarker);
    daemon.take_events();
    uint64_t written = 0;
    while (written + 2 <= OPTILE_RING_EVENTS - 1) {
      run_op(kOp);
      written += 2;
    }
    run_op(kOp);  // one place is left, or two
    run_op(kOp);
    const std::vector<optile_event> events = daemon.take_events();
    CHECK_OR_EXIT(events.size() == OPTILE_RING_EVENTS);
    CHECK_OR_EXIT(counted_ops(events).size() == OPTILE_RING_EVENTS / 2 ||
                  counted_ops(events).size() == OPTILE_RING_EVENTS / 2 - 1);
    CHECK_OR_EXIT(daemon.client().threads[0].dropped > 0);
  });
}

TEST_F(OpCounters, CountedOpIsNoCancellationPoint) {
  in_child([](test::FakeDaemon& daemon) {
    attach(daemon);
    ask_for_counts(daemon);
    run_step(kOp);
    CHECK_OR_EXIT(counters_in_use());
    test::cancel_a_thread([] { run_op(kOp); });
    daemon.publish({}, kMarker);  // no more counts: descriptors are closed
    test::cancel_a_thread([] {
      run_op(kMarker);
      run_op(kOp);
    });
  });
}

}  // namespace
}  // namespace optile::preload
