// OpenBLAS under the names that packages of Python give it, several copies in one process.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <utility>

#include "bindings/preload/actuators/width_actuator.h"
#include "bindings/preload/support/environment.h"
#include "tests/preload/fakes/fake_daemon.h"
#include "tests/preload/fakes/fake_packaged_blas.h"
#include "tests/preload/fixtures/check_or_exit.h"
#include "tests/preload/fixtures/large_products.h"

namespace optile::preload {
namespace {

using test::FakeDaemon;
using test::record_all;

class PackagedBlas : public test::LargeProducts {};

// Each returns the threads that the library might have used.
template <typename Product, typename Size>
int multiply(Product product, const fake_pool* pool, Size rows) {
  double sum = 0;
  product(101, 111, 111, rows, 200, 300, 2.0, nullptr, 1, nullptr, 1, 3.0, &sum, 7);
  CHECK_OR_EXIT(sum == 12.0 && pool->rows_seen == rows);
  return pool->seen;
}

template <typename Product, typename Size>
int multiply_in_fortran(Product product, const fake_pool* pool, Size rows) {
  const double one = 1.0;
  const Size columns = 200;
  const Size inner = 300;
  const Size stride = 9;
  double sum = 0;
  product("N", "N", &rows, &columns, &inner, &one, nullptr, &stride, nullptr, &stride, &one, &sum,
          &stride);
  CHECK_OR_EXIT(sum == 11.0 && pool->rows_seen == rows);
  return pool->seen;
}

int with_numpys(int64_t rows) {
  return multiply(scipy_cblas_dgemm64_, fake_pool_of_numpy(), rows);
}

int with_scipys(int32_t rows) {
  return multiply(scipy_cblas_dgemm, fake_pool_of_scipy(), rows);
}

// The first large product lets the program attach, and chooses whose threads are steered.
void attach(FakeDaemon& daemon, int (*product)()) {
  test::attach_by_products(daemon, [product](int /*rows*/) { product(); });
}

// Of the latest op of that shape.
const optile_op_record* latest(const FakeDaemon& daemon, const std::string& shape) {
  const optile_client_region& client = daemon.client();
  const optile_op_record* found = nullptr;
  for (uint32_t i = 0; i < client.header.registry_count; ++i) {
    const bool same = client.ops[i].shape == shape && std::strcmp(client.ops[i].name, "dgemm") == 0;
    if (same) found = &client.ops[i];
  }
  CHECK_OR_EXIT(found != nullptr && found->probe == OPTILE_PROBE_BLAS);
  return found;
}

TEST_F(PackagedBlas, NumpyProductsAreSteeredOps) {
  in_child([](FakeDaemon& daemon) {
    attach(daemon, [] { return with_numpys(99); });
    CHECK_OR_EXIT(with_numpys(100) == test::kOwnThreads);
    daemon.publish({{latest(daemon, "100x200x300")->key, 2, {}, 0}}, 0, record_all);
    daemon.take_events();
    CHECK_OR_EXIT(with_numpys(100) == 2 && fake_pool_of_numpy()->count == test::kOwnThreads);
    const std::vector<optile_event> events = daemon.take_events();
    CHECK_OR_EXIT(events.size() == 1 && events[0].width == 2);
    CHECK_OR_EXIT((events[0].flags & OPTILE_EVENT_STEERABLE) != 0);
    CHECK_OR_EXIT(multiply_in_fortran(scipy_dgemm_64_, fake_pool_of_numpy(), int64_t{100}) ==
                  test::kOwnThreads);
    const optile_client_header& header = daemon.client().header;
    CHECK_OR_EXIT(header.default_width == test::kOwnThreads &&
                  header.blas_threads == test::kOwnThreads);
    CHECK_OR_EXIT(std::strstr(header.blas_path, "fake_numpy_blas") != nullptr);
  });
}

TEST_F(PackagedBlas, FortranNameIsSameOp) {
  in_child([](FakeDaemon& daemon) {
    attach(daemon, [] { return with_numpys(99); });
    // Fortran's matrices lie column after column.
    multiply_in_fortran(scipy_dgemm_64_, fake_pool_of_numpy(), int64_t{100});
    daemon.publish({{latest(daemon, "100x200x300")->key, 3, {}, 0}});
    scipy_cblas_dgemm64_(102, 111, 111, 100, 200, 300, 1.0, nullptr, 1, nullptr, 1, 1.0, nullptr,
                         1);
    CHECK_OR_EXIT(fake_pool_of_numpy()->seen == 3);
    CHECK_OR_EXIT(multiply_in_fortran(scipy_dgemm_64_, fake_pool_of_numpy(), int64_t{100}) == 3);
  });
}

TEST_F(PackagedBlas, Keeps64BitSizes) {
  in_child([](FakeDaemon& daemon) {
    attach(daemon, [] { return with_numpys(99); });
    with_numpys(int64_t{1} << 33);
    latest(daemon, "8589934592x200x300");
  });
}

// Of one product in each copy.
std::pair<uint64_t, uint64_t> keys_of_copies(FakeDaemon& daemon) {
  attach(daemon, [] { return with_numpys(99); });
  with_numpys(100);
  const uint64_t numpys = latest(daemon, "100x200x300")->key;
  with_scipys(100);
  return {numpys, latest(daemon, "100x200x300")->key};
}

TEST_F(PackagedBlas, KeyIsStableAcrossRuns) {
  in_child([](FakeDaemon& daemon) {
    const auto [numpys, scipys] = keys_of_copies(daemon);
    // Stored plans are found by them; the plain library's is another, too.
    CHECK_OR_EXIT(numpys == UINT64_C(0xe6b744d6a8595515) && scipys == UINT64_C(0xe76594fe86fd1008));
  });
}

bool is_steerable(const optile_event& event) {
  return (event.flags & OPTILE_EVENT_STEERABLE) != 0;
}

TEST_F(PackagedBlas, EachCopyIsSteeredByItsOwnOps) {
  in_child([](FakeDaemon& daemon) {
    attach(daemon, [] { return with_scipys(99); });
    CHECK_OR_EXIT(with_scipys(100) == test::kOwnThreads);
    const uint64_t scipys = latest(daemon, "100x200x300")->key;
    CHECK_OR_EXIT(with_numpys(100) == test::kOwnThreads);
    const uint64_t numpys = latest(daemon, "100x200x300")->key;
    daemon.publish({{scipys, 3, {}, 0}, {numpys, 2, {}, 0}}, 0, record_all);
    daemon.take_events();
    CHECK_OR_EXIT(with_scipys(100) == 3 && fake_pool_of_scipy()->count == test::kOwnThreads);
    CHECK_OR_EXIT(with_numpys(100) == 2 && fake_pool_of_numpy()->count == test::kOwnThreads);
    CHECK_OR_EXIT(with_scipys(100) == 3);
    const std::vector<optile_event> events = daemon.take_events();
    CHECK_OR_EXIT(events.size() == 3 && events[0].width == 3 && events[1].width == 2);
    CHECK_OR_EXIT(is_steerable(events[0]) && is_steerable(events[1]) && events[2].width == 3);
    CHECK_OR_EXIT(multiply_in_fortran(scipy_dgemm_, fake_pool_of_scipy(), int32_t{101}) ==
                  test::kOwnThreads);
    // What came first, and behind it what else follows.
    const optile_client_header& header = daemon.client().header;
    CHECK_OR_EXIT(std::strstr(header.blas_path, "fake_scipy_blas") != nullptr);
    CHECK_OR_EXIT(header.blas_beside == 1);
    const char* beside = header.blas_path + std::strlen(header.blas_path) + 1;
    CHECK_OR_EXIT(std::strcmp(beside, "libfake_numpy_blas.so") == 0);
    CHECK_OR_EXIT(beside[std::strlen(beside) + 1] == '\0');
    CHECK_OR_EXIT(header.blas_threads == test::kOwnThreads && header.fallbacks == 0);
  });
}

TEST_F(PackagedBlas, LeaseCapsEachCopy) {
  in_child([](FakeDaemon& daemon) {
    attach(daemon, [] { return with_numpys(99); });
    with_numpys(100);
    with_scipys(100);
    daemon.publish({}, 0, [](optile_plan_page& page) { page.default_width_cap = 2; });
    CHECK_OR_EXIT(with_numpys(100) == 2 && with_scipys(100) == 2);
    CHECK_OR_EXIT(fake_pool_of_scipy()->count == test::kOwnThreads &&
                  fake_pool_of_numpy()->count == test::kOwnThreads);
    daemon.publish({});
    CHECK_OR_EXIT(with_numpys(100) == test::kOwnThreads && with_scipys(100) == test::kOwnThreads);
  });
}

TEST_F(PackagedBlas, InitialCountOfOtherCopyIsNotProgramsChoice) {
  in_child([](FakeDaemon& daemon) {
    fake_pool_of_scipy()->count = 3;
    attach(daemon, [] { return with_numpys(99); });
    for (int i = 0; i < 3; ++i)
      CHECK_OR_EXIT(with_numpys(100) == test::kOwnThreads && with_scipys(100) == 3);
    const optile_client_header& header = daemon.client().header;
    CHECK_OR_EXIT(header.default_width_source == OPTILE_WIDTH_DEFAULT &&
                  header.default_width == test::kOwnThreads);
    daemon.publish({{latest(daemon, "100x200x300")->key, 4, {}, 0}}, 0, record_all);
    daemon.take_events();
    CHECK_OR_EXIT(with_scipys(100) == 3);  // never wider than its own
    const std::vector<optile_event> events = daemon.take_events();
    CHECK_OR_EXIT(events.size() == 1 && (events[0].flags & OPTILE_EVENT_DEFAULT_WIDTH) != 0);
    // That is one: not the number of cores, which says nothing.
    cpu_set_t usable;
    CHECK_OR_EXIT(sched_getaffinity(0, sizeof usable, &usable) == 0);
    fake_pool_of_scipy()->count = CPU_COUNT(&usable) == 2 ? 1 : 2;
    with_scipys(100);
    CHECK_OR_EXIT(header.default_width_source == OPTILE_WIDTH_PROGRAM &&
                  header.default_width == test::kOwnThreads);
  });
}

TEST_F(PackagedBlas, LeavesAllCopiesAloneWithTwoIssuers) {
  in_child([](FakeDaemon& daemon) {
    const auto [numpys, scipys] = keys_of_copies(daemon);
    daemon.publish({{scipys, 3, {}, 0}, {numpys, 2, {}, 0}}, 0, record_all);
    CHECK_OR_EXIT(with_numpys(100) == 2 && with_scipys(100) == 3);
    // The other thread comes while a copy is narrow.
    fake_pool_of_scipy()->inside = [] {
      fake_pool_of_scipy()->inside = nullptr;
      std::thread([] { CHECK_OR_EXIT(with_numpys(100) == test::kOwnThreads); }).join();
      CHECK_OR_EXIT(fake_pool_of_scipy()->count == test::kOwnThreads);
    };
    with_scipys(100);
    daemon.take_events();
    CHECK_OR_EXIT(with_numpys(100) == test::kOwnThreads && with_scipys(100) == test::kOwnThreads);
    const std::vector<optile_event> events = daemon.take_events();
    CHECK_OR_EXIT(events.size() == 2 && !is_steerable(events[0]) && !is_steerable(events[1]));
    CHECK_OR_EXIT((daemon.client().header.fallbacks & OPTILE_FALLBACK_BLAS_SHARED) != 0);
  });
}

TEST_F(PackagedBlas, ChildForkedInsideProductAsksCopyNothing) {
  in_child([](FakeDaemon& daemon) {
    attach(daemon, [] { return with_numpys(99); });
    with_numpys(100);
    with_scipys(100);
    daemon.publish({{latest(daemon, "100x200x300")->key, 2, {}, 0}});
    fake_pool_of_scipy()->inside = [] {
      if (fork() == 0) {
        fake_pool_of_scipy()->asked = 0;
        return;
      }
      int status = 0;
      wait(&status);
      CHECK_OR_EXIT(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    };
    const pid_t parent = getpid();
    with_scipys(100);
    if (getpid() != parent) std::_Exit(fake_pool_of_scipy()->asked == 0 ? 7 : 8);
    CHECK_OR_EXIT(fake_pool_of_scipy()->count == test::kOwnThreads);
  });
}

TEST_F(PackagedBlas, KeepSettingLeavesCopiesAlone) {
  setenv("OPTILE_BLAS", "keep", 1);
  in_child([](FakeDaemon& daemon) {
    attach(daemon, [] { return with_numpys(99); });
    with_numpys(100);
    with_scipys(100);
    daemon.publish({{latest(daemon, "100x200x300")->key, 2, {}, 0}}, 0, record_all);
    daemon.take_events();
    CHECK_OR_EXIT(with_scipys(100) == test::kOwnThreads);
    const std::vector<optile_event> events = daemon.take_events();
    CHECK_OR_EXIT(events.size() == 1 && !is_steerable(events[0]));
  });
  unsetenv("OPTILE_BLAS");
}

TEST_F(PackagedBlas, SteersOldNumpySymbolNames) {
  in_child([](FakeDaemon& daemon) {
    attach(daemon, [] { return multiply(cblas_dgemm64_, fake_pool_of_old_numpy(), int64_t{99}); });
    multiply_in_fortran(dgemm_64_, fake_pool_of_old_numpy(), int64_t{100});
    daemon.publish({{latest(daemon, "100x200x300")->key, 2, {}, 0}});
    CHECK_OR_EXIT(multiply_in_fortran(dgemm_64_, fake_pool_of_old_numpy(), int64_t{100}) == 2);
    CHECK_OR_EXIT(fake_pool_of_old_numpy()->count == test::kOwnThreads);
  });
}

}  // namespace
}  // namespace optile::preload
