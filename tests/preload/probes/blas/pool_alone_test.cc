// OpenBLAS with threads of its own in a program without OpenMP: its count is the width.
#include <gtest/gtest.h>
#include <pthread.h>

#include <cstdlib>
#include <string>
#include <thread>

#include "bindings/preload/actuators/width_actuator.h"
#include "bindings/preload/support/environment.h"
#include "tests/preload/fakes/fake_blas.h"
#include "tests/preload/fakes/fake_daemon.h"
#include "tests/preload/fixtures/check_or_exit.h"
#include "tests/preload/fixtures/large_products.h"

namespace optile::preload {
namespace {

using test::FakeDaemon;
using test::key_of_shape;
using test::record_all;

class OpenBlasPool : public test::LargeProducts {
 protected:
  void SetUp() override {
    fake_blas()->parallel = 1;
    fake_blas()->pool = test::kOwnThreads;
  }
};

int multiply(int rows) {
  cblas_dgemm(101, 111, 111, rows, 200, 300, 1.0, nullptr, 1, nullptr, 1, 0.0, nullptr, 1);
  return fake_blas()->pool_seen;
}

void attach(FakeDaemon& daemon) {
  test::attach_by_products(daemon, multiply);
}

// Its product gets two threads.
void attach_narrowed(FakeDaemon& daemon) {
  test::attach_narrowed(daemon, multiply);
}

TEST_F(OpenBlasPool, AppliesOpWidthAndRestoresCount) {
  in_child([](FakeDaemon& daemon) {
    attach_narrowed(daemon);
    CHECK_OR_EXIT(multiply(100) == 2);
    CHECK_OR_EXIT(fake_blas()->pool == test::kOwnThreads);
    check_one_steered_op(daemon, 2);
    const optile_client_header& header = daemon.client().header;
    CHECK_OR_EXIT(header.default_width == test::kOwnThreads &&
                  header.blas_threads == test::kOwnThreads);
    CHECK_OR_EXIT(header.fallbacks == 0 && header.runtime == OPTILE_RUNTIME_UNKNOWN);
  });
}

TEST_F(OpenBlasPool, NeverExceedsItsOwnCount) {
  in_child([](FakeDaemon& daemon) {
    attach(daemon);
    multiply(100);
    fake_blas()->pool = 3;  // the program's word
    daemon.publish({{key_of_shape(daemon, "100x200x300"), 4, {}, 0}});
    CHECK_OR_EXIT(multiply(100) == 3);
    CHECK_OR_EXIT(fake_blas()->pool == 3);
  });
}

TEST_F(OpenBlasPool, KeepsCountSetInsideProduct) {
  in_child([](FakeDaemon& daemon) {
    attach_narrowed(daemon);
    fake_blas()->inside = [] {
      CHECK_OR_EXIT(fake_blas()->pool == 2);
      fake_blas()->pool = 1;
    };
    multiply(100);
    CHECK_OR_EXIT(fake_blas()->pool == 1);
  });
}

TEST_F(OpenBlasPool, LeaseCapsWidth) {
  in_child([](FakeDaemon& daemon) {
    attach(daemon);
    multiply(100);
    daemon.publish({}, 0, [](optile_plan_page& page) { page.default_width_cap = 2; });
    CHECK_OR_EXIT(multiply(100) == 2);
    CHECK_OR_EXIT(fake_blas()->pool == test::kOwnThreads);
  });
}

TEST_F(OpenBlasPool, IsLeftAloneWithTwoIssuers) {
  in_child([](FakeDaemon& daemon) {
    attach(daemon);
    multiply(100);
    daemon.publish({{key_of_shape(daemon, "100x200x300"), 2, {}, 0}}, 0, record_all);
    CHECK_OR_EXIT(multiply(100) == 2);
    std::thread([] { multiply(100); }).join();
    daemon.take_events();
    CHECK_OR_EXIT(multiply(100) == test::kOwnThreads);
    const std::vector<optile_event> events = daemon.take_events();
    CHECK_OR_EXIT(events.size() == 1);
    CHECK_OR_EXIT((events[0].flags & OPTILE_EVENT_STEERABLE) == 0);
    CHECK_OR_EXIT((daemon.client().header.fallbacks & OPTILE_FALLBACK_BLAS_SHARED) != 0);
  });
}

// While another thread's product is narrowed, and before multiplying itself.
TEST_F(OpenBlasPool, KeepsCountSetBySecondThread) {
  in_child([](FakeDaemon& daemon) {
    attach_narrowed(daemon);
    fake_blas()->inside = [] {
      CHECK_OR_EXIT(fake_blas()->pool == 2);
      fake_blas()->inside = nullptr;
      std::thread([] {
        fake_blas()->pool = 3;
        CHECK_OR_EXIT(multiply(50) == 3);
      }).join();
    };
    multiply(100);
    CHECK_OR_EXIT(fake_blas()->pool == 3);
  });
}

void* end_in_a_product(void* of_test) {
  auto& daemon = *static_cast<FakeDaemon*>(of_test);
  attach_narrowed(daemon);
  fake_blas()->inside = [] {
    CHECK_OR_EXIT(fake_blas()->pool == 2);
    pthread_exit(nullptr);
  };
  multiply(100);
  return nullptr;
}

TEST_F(OpenBlasPool, ThreadEndingInProductRestoresCount) {
  in_child([](FakeDaemon& daemon) {
    pthread_t thread = {};
    CHECK_OR_EXIT(pthread_create(&thread, nullptr, end_in_a_product, &daemon) == 0);
    CHECK_OR_EXIT(pthread_join(thread, nullptr) == 0);
    CHECK_OR_EXIT(fake_blas()->pool == test::kOwnThreads);
  });
}

TEST_F(OpenBlasPool, KeepSettingLeavesCountAlone) {
  in_child([](FakeDaemon& daemon) {
    setenv("OPTILE_BLAS", "keep", 1);
    read_environment();
    attach_narrowed(daemon);
    CHECK_OR_EXIT(multiply(100) == test::kOwnThreads);
  });
}

}  // namespace
}  // namespace optile::preload
