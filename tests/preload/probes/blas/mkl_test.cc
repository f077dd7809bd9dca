// MKL's own count of the calling thread, around its products.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "bindings/preload/actuators/width_actuator.h"
#include "bindings/preload/support/environment.h"
#include "tests/preload/fakes/fake_daemon.h"
#include "tests/preload/fakes/fake_mkl.h"
#include "tests/preload/fixtures/check_or_exit.h"
#include "tests/preload/fixtures/large_products.h"

namespace optile::preload {
namespace {

using test::FakeDaemon;
using test::key_of_shape;
using test::record_all;

class Mkl : public test::LargeProducts {};

// Returns the threads that the library might have used.
int multiply(int rows) {
  double product = 0;
  cblas_dgemm(101, 111, 111, rows, 200, 300, 2.0, nullptr, 1, nullptr, 1, 3.0, &product, 7);
  CHECK_OR_EXIT(product == 12.0);
  return fake_mkl()->seen;
}

// What is set for this thread: 0 = nothing.
int set_for_this_thread() {
  const int there = MKL_Set_Num_Threads_Local(0);
  MKL_Set_Num_Threads_Local(there);
  return there;
}

void attach(FakeDaemon& daemon) {
  test::attach_by_products(daemon, multiply);
}

TEST_F(Mkl, AppliesOpWidthAndRestoresCount) {
  in_child([](FakeDaemon& daemon) {
    test::attach_narrowed(daemon, multiply);
    CHECK_OR_EXIT(multiply(100) == 2);
    CHECK_OR_EXIT(set_for_this_thread() == 0 && MKL_Get_Max_Threads() == test::kOwnThreads);
    check_one_steered_op(daemon, 2);
    const optile_client_header& header = daemon.client().header;
    CHECK_OR_EXIT(header.default_width == test::kOwnThreads && header.fallbacks == 0);
    CHECK_OR_EXIT(std::strstr(header.blas_path, "fake_mkl") != nullptr);
  });
}

TEST_F(Mkl, ThreadLocalCountCapsWidthAndIsRestored) {
  in_child([](FakeDaemon& daemon) {
    attach(daemon);
    multiply(100);
    MKL_Set_Num_Threads_Local(3);
    daemon.publish({{key_of_shape(daemon, "100x200x300"), 2, {}, 0}});
    CHECK_OR_EXIT(multiply(100) == 2 && set_for_this_thread() == 3);
    daemon.publish({{key_of_shape(daemon, "100x200x300"), 4, {}, 0}});
    CHECK_OR_EXIT(multiply(100) == 3 && set_for_this_thread() == 3);
  });
}

TEST_F(Mkl, KeepsCountSetInsideProduct) {
  in_child([](FakeDaemon& daemon) {
    attach(daemon);
    multiply(100);
    daemon.publish({{key_of_shape(daemon, "100x200x300"), 2, {}, 0}});
    fake_mkl()->inside = [] { CHECK_OR_EXIT(MKL_Set_Num_Threads_Local(1) == 2); };
    multiply(100);
    CHECK_OR_EXIT(set_for_this_thread() == 1);
  });
}

TEST_F(Mkl, LeaseCapsWidth) {
  in_child([](FakeDaemon& daemon) {
    attach(daemon);
    multiply(100);
    daemon.publish({}, 0, [](optile_plan_page& page) { page.default_width_cap = 2; });
    CHECK_OR_EXIT(multiply(100) == 2 && set_for_this_thread() == 0);
  });
}

TEST_F(Mkl, EachThreadHasItsOwnCount) {
  in_child([](FakeDaemon& daemon) {
    attach(daemon);
    multiply(100);
    daemon.publish({{key_of_shape(daemon, "100x200x300"), 2, {}, 0}}, 0, record_all);
    MKL_Set_Num_Threads_Local(3);
    std::thread([] {
      CHECK_OR_EXIT(multiply(100) == test::kOwnThreads);  // the first on every thread is its own
      CHECK_OR_EXIT(multiply(100) == 2 && set_for_this_thread() == 0);
    }).join();
    CHECK_OR_EXIT(set_for_this_thread() == 3);
    daemon.take_events();
    CHECK_OR_EXIT(multiply(100) == 2 && set_for_this_thread() == 3);
    const std::vector<optile_event> events = daemon.take_events();
    CHECK_OR_EXIT(events.size() == 1 && (events[0].flags & OPTILE_EVENT_STEERABLE) != 0);
  });
}

TEST_F(Mkl, KeepSettingLeavesCountAlone) {
  in_child([](FakeDaemon& daemon) {
    setenv("OPTILE_BLAS", "keep", 1);
    read_environment();
    attach(daemon);
    multiply(100);
    daemon.publish({{key_of_shape(daemon, "100x200x300"), 2, {}, 0}});
    CHECK_OR_EXIT(multiply(100) == test::kOwnThreads && set_for_this_thread() == 0);
  });
}

TEST_F(Mkl, OnlyObservesMklOnTbb) {
  in_child([](FakeDaemon& daemon) {
    CHECK_OR_EXIT(dlopen(OPTILE_TEST_MKL_ON_TBB, RTLD_NOW) != nullptr);
    attach(daemon);
    multiply(100);
    daemon.publish({{key_of_shape(daemon, "100x200x300"), 2, {}, 0}}, 0, record_all);
    daemon.take_events();
    CHECK_OR_EXIT(multiply(100) == test::kOwnThreads && set_for_this_thread() == 0);
    const std::vector<optile_event> events = daemon.take_events();
    CHECK_OR_EXIT(events.size() == 1 && events[0].width == 0);
    CHECK_OR_EXIT((events[0].flags & OPTILE_EVENT_STEERABLE) == 0);
  });
}

}  // namespace
}  // namespace optile::preload
