// What tests of the shim's core share: a body in a process of its own with a fake daemon, one op.
#pragma once

#include <gtest/gtest.h>
#include <omp.h>

#include "bindings/preload/attachment.h"
#include "bindings/preload/environment.h"
#include "bindings/preload/op_boundary.h"
#include "bindings/preload/width_actuator.h"
#include "tests/preload/beside_daemon.h"
#include "tests/preload/check_or_exit.h"
#include "tests/preload/fake_daemon.h"

namespace optile::preload {

inline constexpr int kOwn = 4;
inline constexpr uint64_t kOp = 0x1111;
inline constexpr uint64_t kMarker = 0x2222;

inline void describe_nothing(const void* /*source*/, char* name, char* shape) {
  name[0] = 'x';
  name[1] = '\0';
  shape[0] = '\0';
}

inline optile_op_identity identity_of(uint64_t key) {
  return {key, 0, OPTILE_PROBE_TORCH, describe_nothing, nullptr};
}

// Runs one op and returns the thread count that it saw inside.
inline int run_op(uint64_t key) {
  const optile_op_identity identity = identity_of(key);
  optile_open_op open{};
  op_begin(&identity, &open);
  const int seen = omp_get_max_threads();
  op_end(&open);
  return seen;
}

class OpBoundary : public ::testing::Test {
 protected:
  // Body in a fresh process with a fake daemon.
  static void in_child(void (*body)(test::FakeDaemon&)) {
    test::run_beside_daemon([body](test::FakeDaemon& daemon) {
      read_environment();
      omp_set_num_threads(kOwn);
      choose_steered_runtime(reinterpret_cast<const void*>(&run_op));
      body(daemon);
    });
  }

  // The same where nothing said yet which runtime is steered: the first op finds that out.
  static void in_unsteered_child(void (*body)(test::FakeDaemon&)) {
    test::run_beside_daemon([body](test::FakeDaemon& daemon) {
      read_environment();
      omp_set_num_threads(kOwn);
      body(daemon);
    });
  }

  static void attach(test::FakeDaemon& daemon) {
    daemon.answer_one_client();
    run_op(0x9999);
    daemon.wait_for_client();
    // The first wait may have ended before the answer: the next boundaries look again.
    for (int i = 0; i < 10'000'000 && attachment() == nullptr; ++i) run_op(0x9999);
    CHECK_OR_EXIT(attachment() != nullptr);
  }
};

}  // namespace optile::preload
