// Primitives of a statically linked oneDNN as ops, against libraries that hold a copy of ittnotify
// as oneDNN does, through the collector library itself.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

#include "tests/preload/fakes/fake_ittnotify.h"
#include "tests/preload/fixtures/boundary_fixture.h"

namespace optile::preload {
namespace {

using test::FakeDaemon;

constexpr const char* kConvolution =
    "cpu,convolution,jit:avx2,backward_data,src:f32::blocked:abcd::f0 wei:f32::blocked:abcd::f0,,"
    "alg:convolution_direct,mb8_ic3oc16";
constexpr const char* kReorder =
    "cpu,reorder,jit:uni,undef,src:f32::blocked:ab::f0 dst:f32::blocked:ba::f0,,,64x48";

fake_itt& library(const char* path) {
  void* opened = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  CHECK_OR_EXIT(opened != nullptr);
  return *reinterpret_cast<fake_itt_fn>(dlsym(opened, FAKE_ITT_SYMBOL))();
}

fake_itt& onednn() {
  return library(OPTILE_TEST_ITT_1);
}

void nothing() {}

void execute(fake_itt& of, const char* kind, const char* info, void (*work)() = nothing) {
  of.run(0, kind, info, work, 1);
}

uint64_t executions(const FakeDaemon& daemon, const std::string& name) {
  const optile_client_region& client = daemon.client();
  uint64_t count = 0;
  for (uint32_t i = 0; i < client.header.registry_count; ++i) {
    if (client.ops[i].name != name) continue;
    for (const optile_thread_slot& slot : client.threads) count += slot.aggregates[i].count;
  }
  return count;
}

const optile_op_record& record_of(const FakeDaemon& daemon, const std::string& name) {
  const optile_client_region& client = daemon.client();
  for (uint32_t i = 0; i < client.header.registry_count; ++i) {
    if (client.ops[i].name == name) return client.ops[i];
  }
  CHECK_OR_EXIT(false);
  return client.ops[0];
}

class Itt : public OpBoundary {
 protected:
  static void with_collector(void (*body)(FakeDaemon&)) {
    setenv("INTEL_LIBITTNOTIFY64", OPTILE_TEST_COLLECTOR, 1);
    in_child(body);
    unsetenv("INTEL_LIBITTNOTIFY64");
  }

  static void with_collector_unsteered(void (*body)(FakeDaemon&)) {
    setenv("INTEL_LIBITTNOTIFY64", OPTILE_TEST_COLLECTOR, 1);
    in_unsteered_child(body);
    unsetenv("INTEL_LIBITTNOTIFY64");
  }

  static void record_nested(optile_plan_page& page) {
    page.flags = OPTILE_PAGE_RECORD_ALL | OPTILE_PAGE_RECORD_NESTED;
  }
};

TEST_F(Itt, PrimitiveIsOpWithKindSizesAndCount) {
  with_collector([](FakeDaemon& daemon) {
    attach(daemon);
    for (int i = 0; i < 3; ++i) {
      onednn().run(1, "convolution", kConvolution, nothing, 1);
      execute(onednn(), "convolution", kConvolution);
    }
    execute(onednn(), "reorder", kReorder);
    CHECK_OR_EXIT(executions(daemon, "convolution backward_data") == 3);
    CHECK_OR_EXIT(executions(daemon, "create convolution backward_data") == 3);
    CHECK_OR_EXIT(executions(daemon, "reorder") == 1);
    const optile_op_record& record = record_of(daemon, "convolution backward_data");
    CHECK_OR_EXIT(record.shape == std::string("mb8_ic3oc16 f32 jit:avx2"));
    CHECK_OR_EXIT(record.probe == OPTILE_PROBE_ITT && record.flags == OPTILE_OP_BACKWARD);
  });
}

TEST_F(Itt, PrimitiveNeverGetsWidth) {
  with_collector([](FakeDaemon& daemon) {
    attach(daemon);
    execute(onednn(), "reorder", kReorder);
    execute(onednn(), "reorder", kReorder);
    daemon.publish({{record_of(daemon, "reorder").key, 1, {}, 0}, {kOp, 1, {}, 0}});
    CHECK_OR_EXIT(run_op(kOp) == kOwn && run_op(kOp) == 1);
    static int seen = 0;
    execute(onednn(), "reorder", kReorder, [] { seen = omp_get_max_threads(); });
    CHECK_OR_EXIT(seen == kOwn && omp_get_max_threads() == kOwn);
  });
}

TEST_F(Itt, PrimitiveInsideOpIsRecordedAsNested) {
  with_collector([](FakeDaemon& daemon) {
    attach(daemon);
    daemon.publish({}, 0, record_nested);
    daemon.take_events();
    optile_open_op open{};
    const optile_op_identity outer = identity_of(kOp);
    op_begin(&outer, &open);
    execute(onednn(), "reorder", kReorder);
    op_end(&open);
    const std::vector<optile_event> events = daemon.take_events();
    CHECK_OR_EXIT(events.size() == 1);
    CHECK_OR_EXIT(executions(daemon, "reorder") == 1);
    CHECK_OR_EXIT(record_of(daemon, "reorder").flags == OPTILE_OP_NESTED);
    CHECK_OR_EXIT(run_op(kOp) == kOwn);
  });
}

TEST_F(Itt, PrimitiveInsideOpIsIgnoredUnlessRequested) {
  with_collector([](FakeDaemon& daemon) {
    attach(daemon);
    const uint32_t known = daemon.client().header.registry_count;
    optile_open_op open{};
    const optile_op_identity outer = identity_of(kOp);
    op_begin(&outer, &open);
    execute(onednn(), "reorder", kReorder);
    op_end(&open);
    CHECK_OR_EXIT(daemon.client().header.registry_count == known + 1);
  });
}

TEST_F(Itt, RegionsOfPrimitiveAreNoOps) {
  with_collector([](FakeDaemon& daemon) {
    attach(daemon);
    execute(onednn(), "reorder", kReorder, [] {
#pragma omp parallel
      { nothing(); }
    });
    CHECK_OR_EXIT(executions(daemon, "reorder") == 1);
    const optile_client_region& client = daemon.client();
    for (uint32_t i = 0; i < client.header.registry_count; ++i) {
      CHECK_OR_EXIT(client.ops[i].probe != OPTILE_PROBE_REGION);
    }
  });
}

TEST_F(Itt, PrimitiveWithoutInfoIsNamedByKind) {
  with_collector([](FakeDaemon& daemon) {
    attach(daemon);
    for (int i = 0; i < 3; ++i) execute(onednn(), "pooling", nullptr);
    // Only after the first one was it known that nothing comes.
    CHECK_OR_EXIT(executions(daemon, "pooling") == 2);
    CHECK_OR_EXIT(record_of(daemon, "pooling").shape[0] == '\0');
    // Another copy says more all the same.
    execute(library(OPTILE_TEST_ITT_2), "reorder", kReorder);
    CHECK_OR_EXIT(executions(daemon, "reorder") == 1);
    CHECK_OR_EXIT(record_of(daemon, "reorder").shape == std::string("64x48 f32 jit:uni"));
  });
}

TEST_F(Itt, ListensToDomainsRequestedLater) {
  with_collector([](FakeDaemon& daemon) {
    attach(daemon);
    onednn().range("first");  // opens the collector
    execute(onednn(), "reorder", kReorder);
    execute(onednn(), "unheard_of", "cpu,unheard_of,any,undef,src:f32:,,,8");
    CHECK_OR_EXIT(executions(daemon, "reorder") == 1);
    CHECK_OR_EXIT(executions(daemon, "unheard_of") == 1);
  });
}

TEST_F(Itt, IgnoresRangesOfOtherDomains) {
  with_collector([](FakeDaemon& daemon) {
    attach(daemon);
    const uint32_t known = daemon.client().header.registry_count;
    for (int i = 0; i < 3; ++i) onednn().range("mine");
    execute(onednn(), "reorder", kReorder);
    onednn().range("mine");
    CHECK_OR_EXIT(onednn().ranges_told() == 0);
    CHECK_OR_EXIT(daemon.client().header.registry_count == known + 1);
  });
}

TEST_F(Itt, MissingEndHidesNoLaterPrimitive) {
  with_collector([](FakeDaemon& daemon) {
    attach(daemon);
    onednn().run(1, "reorder", kReorder, nothing, 0);
    execute(onednn(), "reorder", kReorder);
    CHECK_OR_EXIT(executions(daemon, "create reorder") == 0);
    CHECK_OR_EXIT(executions(daemon, "reorder") == 1);
    CHECK_OR_EXIT(known_issuing_thread()->depth == 0);
    // Nor where it was part of something.
    daemon.publish({}, 0, record_nested);
    optile_open_op open{};
    const optile_op_identity outer = identity_of(kOp);
    op_begin(&outer, &open);
    onednn().run(1, "reorder", kReorder, nothing, 0);
    op_end(&open);
    execute(onednn(), "reorder", kReorder);
    CHECK_OR_EXIT(executions(daemon, "reorder") == 2);
    CHECK_OR_EXIT(known_issuing_thread()->depth == 0);
  });
}

// Deep enough that whoever comes next is further up the stack.
__attribute__((noinline)) void create_without_an_end(volatile char* from) {
  volatile char deep[16384];
  deep[0] = *from;
  onednn().run(1, "reorder", kReorder, nothing, 0);
  *from = deep[0];
}

TEST_F(Itt, RegionFurtherUpStackClosesUnendedPrimitive) {
  with_collector([](FakeDaemon& daemon) {
    attach(daemon);
    char byte = 0;
    create_without_an_end(&byte);
    CHECK_OR_EXIT(known_issuing_thread()->depth == 1);
    close_what_was_left(*known_issuing_thread(), nullptr, __builtin_frame_address(0));
    CHECK_OR_EXIT(known_issuing_thread()->depth == 0);
    execute(onednn(), "reorder", kReorder);
    CHECK_OR_EXIT(executions(daemon, "reorder") == 1);
  });
}

TEST_F(Itt, RegionWorkersIssueNoPrimitives) {
  with_collector_unsteered([](FakeDaemon& daemon) {
    attach(daemon);
    execute(onednn(), "reorder", kReorder);
#pragma omp parallel num_threads(4)
    { execute(onednn(), "pooling", "cpu,pooling,any,undef,src:f32:,,,8"); }
    const optile_client_region& client = daemon.client();
    for (uint32_t i = 0; i < client.header.registry_count; ++i) {
      CHECK_OR_EXIT(client.ops[i].name != std::string("pooling"));
    }
    // A thread that nobody opened a region on issues its own.
    std::thread([] { execute(onednn(), "softmax", "cpu,softmax,any,undef,src:f32:,,,8"); }).join();
    CHECK_OR_EXIT(executions(daemon, "softmax") == 1);
  });
}

TEST_F(Itt, LeavesTbbCopyAlone) {
  with_collector([](FakeDaemon& daemon) {
    attach(daemon);
    onednn().groups = 0x1414;  // oneTBB's
    execute(onednn(), "reorder", kReorder);
    CHECK_OR_EXIT(!onednn().tasks_are_told() && !onednn().metadata_are_told());
    CHECK_OR_EXIT(!onednn().is_unopened());
  });
}

TEST_F(Itt, LeavesCopyOfUnknownLayoutUntouched) {
  with_collector([](FakeDaemon& daemon) {
    attach(daemon);
    onednn().build = 20101001;
    execute(onednn(), "reorder", kReorder);
    CHECK_OR_EXIT(!onednn().tasks_are_told() && onednn().is_unopened());
  });
}

TEST_F(Itt, IgnoresCopyOfDynamicallyLinkedOneDnn) {
  with_collector([](FakeDaemon& daemon) {
    attach(daemon);
    fake_itt& dynamic = library(OPTILE_TEST_ITT_DYNAMIC);
    execute(dynamic, "reorder", kReorder);
    CHECK_OR_EXIT(!dynamic.tasks_are_told());
  });
}

TEST_F(Itt, IgnoresPrimitivesInForkedChildOrWithoutDaemon) {
  with_collector([](FakeDaemon& daemon) {
    execute(onednn(), "reorder", kReorder);
    CHECK_OR_EXIT(attachment() == nullptr);
    attach(daemon);
    execute(onednn(), "reorder", kReorder);
    const pid_t child = fork();
    if (child == 0) {
      execute(onednn(), "reorder", kReorder);
      onednn().run(0, "reorder", kReorder, nothing, 0);
      std::_Exit(0);
    }
    int status = 0;
    CHECK_OR_EXIT(waitpid(child, &status, 0) == child && WIFEXITED(status));
    CHECK_OR_EXIT(WEXITSTATUS(status) == 0 && executions(daemon, "reorder") == 1);
  });
}

TEST_F(Itt, OffModeNeverAttaches) {
  with_collector([](FakeDaemon& daemon) {
    setenv("OPTILE_MODE", "off", 1);
    read_environment();
    daemon.answer_one_client();
    for (int i = 0; i < 3; ++i) execute(onednn(), "reorder", kReorder);
    CHECK_OR_EXIT(attachment() == nullptr && known_issuing_thread() == nullptr);
  });
}

TEST_F(Itt, MissingCollectorLibraryIsIgnored) {
  setenv("INTEL_LIBITTNOTIFY64", "/nowhere/liboptile_itt.so", 1);
  in_child([](FakeDaemon& daemon) {
    attach(daemon);
    execute(onednn(), "reorder", kReorder);
    CHECK_OR_EXIT(!onednn().tasks_are_told() && !onednn().is_unopened());
  });
  unsetenv("INTEL_LIBITTNOTIFY64");
}

}  // namespace
}  // namespace optile::preload
