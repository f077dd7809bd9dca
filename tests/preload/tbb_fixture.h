// The real oneTBB beside a daemon of the test's, in a process of its own.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <oneapi/tbb.h>

#include <atomic>
#include <cstdlib>
#include <string>

#include "bindings/preload/attachment.h"
#include "bindings/preload/environment.h"
#include "tests/preload/beside_daemon.h"
#include "tests/preload/check_or_exit.h"
#include "tests/preload/fake_daemon.h"

namespace optile::preload {

using test::FakeDaemon;
using Control = oneapi::tbb::global_control;

constexpr int kOwn = 4;
constexpr int kPieces = 64;

// What the program reads.
inline size_t read_by_program() {
  return Control::active_value(Control::max_allowed_parallelism);
}

// What oneTBB itself says.
inline size_t allowed_now() {
  void* tbb = dlopen("libtbb.so.12", RTLD_NOLOAD | RTLD_LAZY);
  CHECK_OR_EXIT(tbb != nullptr);
  using ActiveValue = size_t (*)(int);
  const auto active =
      reinterpret_cast<ActiveValue>(dlsym(tbb, "_ZN3tbb6detail2r127global_control_active_valueEi"));
  CHECK_OR_EXIT(active != nullptr && active != &tbb::detail::r1::global_control_active_value);
  return active(Control::max_allowed_parallelism);
}

// How many threads oneTBB allowed in the pieces of a loop.
inline size_t loop() {
  std::atomic<size_t> allowed{0};
  oneapi::tbb::parallel_for(0, kPieces, [&](int) { allowed = allowed_now(); });
  return allowed;
}

inline size_t other_loop() {
  std::atomic<size_t> allowed{0};
  oneapi::tbb::parallel_for(0, kPieces, [&](int) { allowed = allowed_now() + 0; });
  return allowed;
}

// The first op lets the program attach.
inline void attach(FakeDaemon& daemon) {
  daemon.answer_one_client();
  loop();
  daemon.wait_for_client();
  for (int i = 0; i < 10'000'000 && attachment() == nullptr; ++i) loop();
  CHECK_OR_EXIT(attachment() != nullptr);
}

inline void record_all(optile_plan_page& page) {
  page.flags = OPTILE_PAGE_RECORD_ALL;
}

inline uint64_t latest_key(const FakeDaemon& daemon) {
  CHECK_OR_EXIT(daemon.client().header.registry_count > 0);
  return daemon.client().ops[daemon.client().header.registry_count - 1].key;
}

class Tbb : public ::testing::Test {
 protected:
  // In a process in which four threads may work, whatever the machine has.
  static void in_child(void (*body)(FakeDaemon&), const char* regions = "tune") {
    test::run_beside_daemon([=](FakeDaemon& daemon) {
      if (regions != nullptr) setenv("OPTILE_REGIONS", regions, 1);
      read_environment();
      const Control own(Control::max_allowed_parallelism, kOwn);
      oneapi::tbb::task_arena arena(kOwn);
      arena.execute([&] {
        attach(daemon);
        body(daemon);
      });
    });
  }

  static uint32_t known(const FakeDaemon& daemon) { return daemon.client().header.registry_count; }
  static const optile_op_record& latest(const FakeDaemon& daemon) {
    CHECK_OR_EXIT(known(daemon) > 0);
    return daemon.client().ops[known(daemon) - 1];
  }
  // Of loop(), which let the program attach.
  static uint64_t key_of_loop(const FakeDaemon& daemon) { return daemon.client().ops[0].key; }
};

}  // namespace optile::preload
