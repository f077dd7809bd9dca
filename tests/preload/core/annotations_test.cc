// The program's own word on its ops, through the header that it includes.
#include "bindings/preload/core/annotations.h"

#include <gtest/gtest.h>
#include <omp.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csetjmp>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "bindings/annotate/optile/annotate.h"
#include "tests/preload/fixtures/boundary_fixture.h"

namespace optile::preload {
namespace {

using test::FakeDaemon;

class Annotations : public OpBoundary {
 protected:
  static const optile_op_record* record_of(const FakeDaemon& daemon, const char* name) {
    const optile_client_region& client = daemon.client();
    for (uint32_t i = 0; i < client.header.registry_count; ++i) {
      if (std::strcmp(client.ops[i].name, name) == 0) return &client.ops[i];
    }
    return nullptr;
  }

  static uint64_t key_of(const FakeDaemon& daemon, const char* name) {
    const optile_op_record* record = record_of(daemon, name);
    CHECK_OR_EXIT(record != nullptr);
    return record->key;
  }
};

int width_in(const char* name, std::initializer_list<int64_t> shape = {}) {
  const Op op(name, shape);
  return omp_get_max_threads();
}

void open_region() {
#pragma omp parallel
  { asm volatile("" ::: "memory"); }
}

TEST_F(Annotations, OpCarriesNameShapeAndWidth) {
  in_child([](FakeDaemon& daemon) {
    attach(daemon);
    CHECK_OR_EXIT(width_in("attention", {8, 128}) == kOwn);
    const optile_op_record* record = record_of(daemon, "attention");
    CHECK_OR_EXIT(record != nullptr && std::strcmp(record->shape, "8x128") == 0);
    CHECK_OR_EXIT(record->probe == OPTILE_PROBE_ANNOTATION && record->flags == 0);
    daemon.publish({{record->key, 2, {}, 0}});
    CHECK_OR_EXIT(width_in("attention", {8, 128}) == 2);
    CHECK_OR_EXIT(omp_get_max_threads() == kOwn);
    CHECK_OR_EXIT(width_in("attention", {8, 64}) == kOwn);
  });
}

TEST_F(Annotations, KeyIsStableAcrossRuns) {
  in_child([](FakeDaemon& daemon) {
    attach(daemon);
    width_in("attention", {8, 128});
    // Stored plans are found by it.
    CHECK_OR_EXIT(key_of(daemon, "attention") == UINT64_C(0x75f0b8d8549deac4));
  });
}

TEST_F(Annotations, OnlyOutermostOpGetsWidth) {
  in_child([](FakeDaemon& daemon) {
    attach(daemon);
    width_in("outer");
    width_in("inner");
    daemon.publish({{key_of(daemon, "outer"), 3, {}, 0}, {key_of(daemon, "inner"), 1, {}, 0}});
    const Op outer("outer");
    CHECK_OR_EXIT(width_in("inner") == 3);
    CHECK_OR_EXIT(omp_get_max_threads() == 3);
  });
}

TEST_F(Annotations, ExceptionRestoresWidth) {
  in_child([](FakeDaemon& daemon) {
    attach(daemon);
    width_in("throws");
    daemon.publish({{key_of(daemon, "throws"), 2, {}, 0}});
    try {
      const Op op("throws");
      CHECK_OR_EXIT(omp_get_max_threads() == 2);
      throw std::runtime_error("out");
    } catch (const std::runtime_error&) {
      CHECK_OR_EXIT(omp_get_max_threads() == kOwn);
    }
  });
}

jmp_buf back;

// Further down than whatever comes next.
__attribute__((noinline)) void call_deep(void (*function)()) {
  volatile char depth[4096];
  depth[0] = 0;
  function();
  depth[1] = depth[0];
}

void begin_op_and_jump() {
  optile_op op;
  optile_op_begin(&op, "left", nullptr, 0);
  longjmp(back, 1);
}

void open_region_and_jump() {
#pragma omp parallel
  longjmp(back, 1);
}

TEST_F(Annotations, NextOpClosesOpLeftByLongjmp) {
  in_child([](FakeDaemon& daemon) {
    attach(daemon);
    width_in("left");
    width_in("next");
    daemon.publish({{key_of(daemon, "left"), 1, {}, 0}, {key_of(daemon, "next"), 2, {}, 0}});
    if (setjmp(back) == 0) call_deep(begin_op_and_jump);
    CHECK_OR_EXIT(width_in("next") == 2);
    CHECK_OR_EXIT(omp_get_max_threads() == kOwn);
  });
}

// fault: F44
TEST_F(Annotations, RegionLeftByLongjmpHidesNoLaterOp) {
  in_child([](FakeDaemon& daemon) {
    attach(daemon);
    width_in("next");
    daemon.publish({{key_of(daemon, "next"), 2, {}, 0}});
    omp_set_num_threads(1);  // a team of one can be left
    if (setjmp(back) == 0) call_deep(open_region_and_jump);
    omp_set_num_threads(kOwn);
    CHECK_OR_EXIT(known_issuing_thread()->depth == 1);
    CHECK_OR_EXIT(width_in("next") == 2);
    CHECK_OR_EXIT(known_issuing_thread()->depth == 0);
  });
}

TEST_F(Annotations, RegionLeftByLongjmpEndsWithItsOp) {
  in_child([](FakeDaemon& daemon) {
    attach(daemon);
    width_in("op");
    daemon.publish({}, 0, [](optile_plan_page& page) { page.flags = OPTILE_PAGE_RECORD_ALL; });
    const auto regions_in_op = [&](bool jumps) {
      daemon.take_events();
      optile_op op;
      optile_op_begin(&op, "op", nullptr, 0);
      if (setjmp(back) == 0 && jumps) call_deep(open_region_and_jump);
#pragma omp parallel num_threads(1)
      asm volatile("");
      optile_op_end(&op);
      const std::vector<optile_event> events = daemon.take_events();
      CHECK_OR_EXIT(events.size() == 1);
      return events[0].regions;
    };
    omp_set_num_threads(1);
    CHECK_OR_EXIT(regions_in_op(false) == 1);
    regions_in_op(true);
    CHECK_OR_EXIT(regions_in_op(false) == 1);
  });
}

TEST_F(Annotations, RegionWorkersAnnounceNoOps) {
  in_child([](FakeDaemon& daemon) {
    attach(daemon);
#pragma omp parallel num_threads(2)
    width_in("inside");
    CHECK_OR_EXIT(record_of(daemon, "inside") == nullptr);
  });
}

TEST_F(Annotations, ForkedChildRunsOpsAtDefaultWidth) {
  in_child([](FakeDaemon& daemon) {
    attach(daemon);
    width_in("parent");
    daemon.publish({{key_of(daemon, "parent"), 2, {}, 0}});
    const pid_t child = fork();
    if (child == 0) std::_Exit(width_in("parent") == kOwn ? 0 : 1);
    int status = 0;
    CHECK_OR_EXIT(waitpid(child, &status, 0) == child && status == 0);
  });
}

TEST_F(Annotations, CountsSteps) {
  in_child([](FakeDaemon& daemon) {
    attach(daemon);
    for (int step = 0; step < 3; ++step) {
      width_in("op");
      optile_step();
    }
    CHECK_OR_EXIT(daemon.client().header.annotations == 3);
  });
}

TEST_F(Annotations, TruncatesLongShape) {
  in_child([](FakeDaemon& daemon) {
    attach(daemon);
    const std::vector<int64_t> shape(100, INT64_MIN);
    optile_op op;
    optile_op_begin(&op, "long", shape.data(), 100);
    optile_op_end(&op);
    const optile_op_record* record = record_of(daemon, "long");
    CHECK_OR_EXIT(record != nullptr && std::strlen(record->shape) < OPTILE_SHAPE_BYTES);
  });
}

TEST_F(Annotations, FirstRegionInOpSelectsSteeredRuntime) {
  in_unsteered_child([](FakeDaemon& daemon) {
    attach(daemon);
    CHECK_OR_EXIT(steered_runtime() == nullptr);
    {
      const Op op("op");
      open_region();
      CHECK_OR_EXIT(steered_runtime() != nullptr);
    }
    daemon.publish({{key_of(daemon, "op"), 2, {}, 0}});
    CHECK_OR_EXIT(width_in("op") == 2);
    CHECK_OR_EXIT(omp_get_max_threads() == kOwn);
  });
}

TEST_F(Annotations, CallersRuntimeIsSteeredWithoutRegion) {
  in_unsteered_child([](FakeDaemon& daemon) {
    attach(daemon);
    width_in("op");
    CHECK_OR_EXIT(steered_runtime() != nullptr);
    daemon.publish({{key_of(daemon, "op"), 2, {}, 0}});
    CHECK_OR_EXIT(width_in("op") == 2);
  });
}

}  // namespace
}  // namespace optile::preload
