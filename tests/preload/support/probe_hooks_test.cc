// What a probe registers is called without anybody below naming it.
#include "bindings/preload/support/probe_hooks.h"

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "bindings/preload/core/issuing_thread.h"
#include "bindings/preload/runtimes/framework_watch.h"
#include "tests/preload/fixtures/boundary_fixture.h"

namespace optile::preload {
namespace {

using test::FakeDaemon;

uint32_t slots_taken = 0;  // a bit for each
bool was_forked = false;
const void* core_met = nullptr;

void note_thread(uint32_t slot) {
  slots_taken |= 1U << slot;
}

void note_fork() {
  was_forked = true;
}

bool note_framework(const void* core) {
  core_met = core;
  return true;
}

constexpr ProbeHooks kHooks = {.framework = "libframework_of_a_test.so",
                               .framework_comes = note_framework,
                               .thread_comes = note_thread,
                               .forked = note_fork};
OPTILE_REGISTER_PROBE(kHooks);

TEST_F(OpBoundary, RegisteredProbesMeetEachIssuingThreadOnce) {
  in_child([](FakeDaemon& daemon) {
    attach(daemon);
    run_op(kOp);
    CHECK_OR_EXIT(slots_taken == 1);
    std::thread([] {
      run_op(kOp);
      run_op(kOp);
      CHECK_OR_EXIT(slots_taken == 3);
      slots_taken = 0;
    }).join();
    run_op(kOp);
    CHECK_OR_EXIT(slots_taken == 0);
  });
}

TEST_F(OpBoundary, RegisteredProbesAreCalledInForkedChild) {
  in_child([](FakeDaemon& daemon) {
    attach(daemon);
    const pid_t child = fork();
    if (child == 0) std::_Exit(was_forked ? 0 : 1);
    int status = 1;
    CHECK_OR_EXIT(waitpid(child, &status, 0) == child);
    CHECK_OR_EXIT(status == 0 && !was_forked);
  });
}

TEST_F(OpBoundary, RegisteredFrameworkIsNoticedByItsFile) {
  in_child([](FakeDaemon& /*daemon*/) {
    notice_framework(reinterpret_cast<const void*>(&run_op));
    CHECK_OR_EXIT(core_met == nullptr && !framework_probe_active());
    void* library = dlopen(OPTILE_TEST_FRAMEWORK, RTLD_NOW | RTLD_LOCAL);
    CHECK_OR_EXIT(library != nullptr);
    const void* inside = dlsym(library, "fake_manager_is_loaded");
    notice_framework(inside);
    CHECK_OR_EXIT(framework_probe_active());
    CHECK_OR_EXIT(core_met != nullptr && is_framework_core(kHooks, core_met));
    CHECK_OR_EXIT(framework_core(kHooks) != nullptr);
  });
}

}  // namespace
}  // namespace optile::preload
