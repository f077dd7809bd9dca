// Who attaches without an op, and what becomes of that once there is one.
#include "bindings/preload/daemon_link/whole_program.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "tests/preload/fixtures/boundary_fixture.h"

namespace optile::preload {
namespace {

using test::FakeDaemon;
using WholeProgram = OpBoundary;

constexpr int kMostTries = 100'000'000;  // the one wait may have ended before the answer

// As `optile run` does.
void tell_run() {
  setenv("OPTILE_RUN_ID", "r1", 1);
  read_environment();
}

void attach_whole(FakeDaemon& daemon) {
  daemon.answer_one_client();
  tell_run();
  attach_as_whole_program(OPTILE_WHOLE_RUNS);
  daemon.wait_for_client();
  for (int i = 0; i < kMostTries && attachment() == nullptr; ++i)
    attach_as_whole_program(OPTILE_WHOLE_RUNS);
  CHECK_OR_EXIT(attachment() != nullptr);
}

TEST(SteeredThreads, AreThoseOfRuntimesWhoseOpsAreSeen) {
  for (const char* path : {"/usr/lib/libgomp.so.1", "libgomp-a34b3233.so.1", "/x/libomp.so.5",
                           "/x/libiomp5.so", "libscipy_openblas64_-32a4b2a6.so", "libtbb.so.12",
                           "/usr/lib/openblas-pthread/libopenblas.so.0", "libmkl_core.so.2"}) {
    EXPECT_TRUE(makes_steered_threads(path)) << path;
  }
  for (const char* path : {"", "/usr/bin/python3", "libstdc++.so.6", "libjax_common.so",
                           "libonnxruntime.so.1", "/x/libgomp/libjvm.so"}) {
    EXPECT_FALSE(makes_steered_threads(path)) << path;
  }
}

TEST(SteeredThreads, OneBesideTheMainThreadIsAPoolOnTwoCoresOnly) {
  EXPECT_EQ(threads_of_a_pool(1), 1U);
  EXPECT_EQ(threads_of_a_pool(2), 1U);
  EXPECT_EQ(threads_of_a_pool(3), 2U);
  EXPECT_EQ(threads_of_a_pool(64), 2U);
}

TEST(PoolsByMask, AreThoseOfProgramsAndKnownLibraries) {
  EXPECT_TRUE(sizes_pools_by_mask("", "/opt/bin/serve"));
  EXPECT_FALSE(sizes_pools_by_mask("", "/usr/bin/python3.11"));
  for (const char* library : {"/x/jaxlib/libjax_common.so", "/usr/lib/jvm/lib/server/libjvm.so"}) {
    EXPECT_TRUE(sizes_pools_by_mask(library, "python3")) << library;
  }
  for (const char* library : {"libonnxruntime.so.1", "libgomp.so.1"}) {
    EXPECT_FALSE(sizes_pools_by_mask(library, "/opt/bin/serve")) << library;
  }
}

TEST_F(WholeProgram, AttachesWithoutAnOp) {
  in_child([](FakeDaemon& daemon) {
    attach_whole(daemon);
    CHECK_OR_EXIT(daemon.attach_request().whole_program == 1);
    CHECK_OR_EXIT(daemon.client().header.progress == 0);
  });
}

TEST_F(WholeProgram, AttachesOnlyWhereALauncherStartedIt) {
  in_child([](FakeDaemon& daemon) {
    unsetenv("OPTILE_RUN_ID");
    read_environment();
    daemon.turn_one_away();
    attach_as_whole_program(OPTILE_WHOLE_RUNS);
    CHECK_OR_EXIT(attachment() == nullptr && daemon.turned_away() == 0);
    CHECK_OR_EXIT(run_op(kOp) == kOwn);
    daemon.wait_for_client();
    CHECK_OR_EXIT(daemon.turned_away() == 1);
  });
}

TEST_F(WholeProgram, FirstOpAttachesAnew) {
  in_child([](FakeDaemon& daemon) {
    attach_whole(daemon);
    const Attachment* whole = attachment();
    daemon.answer_one_client();
    run_op(kOp);
    daemon.wait_for_client();
    for (int i = 0; i < kMostTries && attachment() == nullptr; ++i) run_op(kOp);
    CHECK_OR_EXIT(attachment() != nullptr && attachment() != whole);
    CHECK_OR_EXIT(daemon.attach_request().whole_program == 0);
    CHECK_OR_EXIT(whole->client->header.progress == 1);  // by which the daemon knows why it went
    attach_as_whole_program(OPTILE_WHOLE_RUNS);
    CHECK_OR_EXIT(!daemon.client_hung_up());
  });
}

// A thread came first, as Java's does.
TEST_F(WholeProgram, AttachesAnewBeforeItSizesItsPools) {
  in_child([](FakeDaemon& daemon) {
    attach_whole(daemon);
    daemon.answer_one_client();
    attach_as_whole_program(OPTILE_WHOLE_SIZES_POOLS);
    daemon.wait_for_client();
    CHECK_OR_EXIT(daemon.attach_request().whole_program == OPTILE_WHOLE_SIZES_POOLS);
    for (int i = 0; i < kMostTries && attachment() == nullptr; ++i) {
      attach_as_whole_program(OPTILE_WHOLE_RUNS);
    }
    note_sized_pools(3);
    CHECK_OR_EXIT(daemon.client().header.sized_units == 3);
  });
}

TEST_F(WholeProgram, MissingDaemonDoesNotDelayFirstOp) {
  in_child([](FakeDaemon& daemon) {
    setenv("OPTILE_SOCKET", "/nowhere/optiled.sock", 1);
    tell_run();
    for (int i = 0; i < 3; ++i) attach_as_whole_program(OPTILE_WHOLE_RUNS);
    setenv("OPTILE_SOCKET", daemon.socket_path().c_str(), 1);
    read_environment();
    attach(daemon);
    CHECK_OR_EXIT(daemon.attach_request().whole_program == 0);
  });
}

// Nothing was done for the parent, so that its workers are programs like any other.
TEST_F(WholeProgram, ForkedChildAttachesForItself) {
  in_child([](FakeDaemon& daemon) {
    attach_whole(daemon);
    const FakeDaemon* parents = &daemon;
    daemon.answer_one_client();
    const pid_t child = fork();
    if (child == 0) {
      if (is_forked_child() || attachment() != nullptr) _exit(1);
      run_op(kOp);
      for (int i = 0; i < kMostTries && attachment() == nullptr; ++i) run_op(kOp);
      _exit(attachment() != nullptr ? 0 : 2);
    }
    daemon.wait_for_client();
    int status = 0;
    CHECK_OR_EXIT(waitpid(child, &status, 0) == child);
    CHECK_OR_EXIT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK_OR_EXIT(parents->attach_request().whole_program == 0);
    CHECK_OR_EXIT(!is_forked_child() && attachment() != nullptr);
  });
}

}  // namespace
}  // namespace optile::preload
