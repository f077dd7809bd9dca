#include "bindings/preload/actuators/wait_policy.h"

#include "tests/preload/fakes/fake_llvm.h"
#include "tests/preload/fixtures/boundary_fixture.h"

namespace optile::preload {
namespace {

const void* here() {
  return reinterpret_cast<const void*>(&run_op);
}

void follow() {
  follow_wait_cap(*issuing_thread(), *attachment(), here());
}

void let_it_be_steered(const char* word) {
  setenv("OPTILE_WAIT", word, 1);
  read_environment();
}

class WaitPolicy : public OpBoundary {
 protected:
  // Told how long idle threads may spin at most, in milliseconds and one more.
  static void attach_capped(test::FakeDaemon& daemon, const char* word, uint64_t cap) {
    let_it_be_steered(word);
    attach(daemon);
    daemon.cap_wait(cap);
    follow();
  }
};

TEST_F(WaitPolicy, ShortensBlockTimeAndRestoresIt) {
  in_child([](test::FakeDaemon& daemon) {
    let_it_be_steered("auto");
    attach(daemon);
    follow();
    CHECK_OR_EXIT(fake_block_time() == 200);
    daemon.cap_wait(1);  // less than 1 ms
    follow();
    CHECK_OR_EXIT(fake_block_time() == 0);
    daemon.cap_wait(2);
    follow();
    CHECK_OR_EXIT(fake_block_time() == 1);
    daemon.cap_wait(0);
    follow();
    CHECK_OR_EXIT(fake_block_time() == 200);
    CHECK_OR_EXIT(daemon.client().header.wait_changes == 3);
  });
}

TEST_F(WaitPolicy, ShortensBlockTimeInFreezeMode) {
  in_child([](test::FakeDaemon& daemon) {
    setenv("OPTILE_MODE", "freeze", 1);
    attach_capped(daemon, "auto", 1);
    CHECK_OR_EXIT(fake_block_time() == 0);
  });
}

TEST_F(WaitPolicy, KeepsBlockTimeInObserveMode) {
  in_child([](test::FakeDaemon& daemon) {
    setenv("OPTILE_MODE", "observe", 1);
    attach_capped(daemon, "auto", 1);
    CHECK_OR_EXIT(fake_block_time() == 200);
  });
}

// Another manager of threads has come, or the program turned out to be one's baseline.
TEST_F(WaitPolicy, RestoresBlockTimeOnSwitchToObserve) {
  in_child([](test::FakeDaemon& daemon) {
    attach_capped(daemon, "auto", 1);
    CHECK_OR_EXIT(fake_block_time() == 0);
    setenv("OPTILE_MODE", "observe", 1);
    read_environment();
    follow();
    CHECK_OR_EXIT(fake_block_time() == 200);
  });
}

TEST_F(WaitPolicy, NeverLengthensBlockTime) {
  in_child([](test::FakeDaemon& daemon) {
    let_it_be_steered("auto");
    attach(daemon);
    set_fake_block_time(0);
    daemon.cap_wait(6);
    follow();
    CHECK_OR_EXIT(fake_block_time() == 0);
    daemon.cap_wait(0);
    follow();
    CHECK_OR_EXIT(fake_block_time() == 0);
  });
}

TEST_F(WaitPolicy, KeepsBlockTimeSetByProgramMeanwhile) {
  in_child([](test::FakeDaemon& daemon) {
    attach_capped(daemon, "auto", 1);
    set_fake_block_time(50);
    daemon.cap_wait(0);
    follow();
    CHECK_OR_EXIT(fake_block_time() == 50);
  });
}

TEST_F(WaitPolicy, KeepsBlockTimeWhenUserSetsWaitKeep) {
  in_child([](test::FakeDaemon& daemon) {
    attach_capped(daemon, "keep", 1);
    CHECK_OR_EXIT(fake_block_time() == 200);
    CHECK_OR_EXIT(daemon.client().header.wait_changes == 0);
  });
}

TEST_F(WaitPolicy, IgnoresOutOfRangeCap) {
  in_child([](test::FakeDaemon& daemon) {
    attach_capped(daemon, "auto", ~UINT64_C(0));
    CHECK_OR_EXIT(fake_block_time() == 200);
  });
}

}  // namespace
}  // namespace optile::preload
