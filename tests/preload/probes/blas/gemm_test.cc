// Matrix products as ops: who they are, what they get, and which are none.
#include "bindings/preload/probes/blas/gemm_scope.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "bindings/preload/core/sampling_pause.h"
#include "bindings/preload/probes/blas/plain_gemm.h"
#include "tests/preload/fakes/fake_blas.h"
#include "tests/preload/fakes/fake_packaged_blas.h"
#include "tests/preload/fixtures/boundary_fixture.h"

namespace optile::preload {
namespace {

using test::FakeDaemon;

constexpr int kRowMajor = 101;
constexpr int kColumnMajor = 102;
constexpr int kPlain = 111;
constexpr int kTransposed = 112;

class Gemm : public OpBoundary {
 protected:
  static const optile_op_record* record_of(const FakeDaemon& daemon, const std::string& name,
                                           const std::string& shape) {
    const optile_client_region& client = daemon.client();
    for (uint32_t i = 0; i < client.header.registry_count; ++i) {
      if (client.ops[i].name == name && client.ops[i].shape == shape) return &client.ops[i];
    }
    return nullptr;
  }

  static uint64_t key_of(const FakeDaemon& daemon, const std::string& name,
                         const std::string& shape) {
    const optile_op_record* record = record_of(daemon, name, shape);
    CHECK_OR_EXIT(record != nullptr);
    return record->key;
  }
};

// Returns the threads that the library could have used.
int multiply(int rows, int columns, int inner, int order = kRowMajor, int left_op = kPlain) {
  double product = 0;
  cblas_dgemm(order, left_op, kPlain, rows, columns, inner, 2.0, nullptr, 1, nullptr, 1, 3.0,
              &product, 7);
  CHECK_OR_EXIT(product == 12.0 && fake_blas()->rows_seen == rows);
  return fake_blas()->omp_threads_seen;
}

int multiply_in_fortran(int rows, int columns, int inner, const char* left_op = "N") {
  const double one = 1.0;
  const int stride = 9;
  double product = 0;
  dgemm_(left_op, "N", &rows, &columns, &inner, &one, nullptr, &stride, nullptr, &stride, &one,
         &product, &stride);
  CHECK_OR_EXIT(product == 11.0 && fake_blas()->rows_seen == rows);
  return fake_blas()->omp_threads_seen;
}

TEST_F(Gemm, ProductIsOpWithNameShapeAndWidth) {
  in_unsteered_child([](FakeDaemon& daemon) {
    attach(daemon);
    CHECK_OR_EXIT(multiply(100, 200, 300) == kOwn);
    const uint64_t key = key_of(daemon, "dgemm", "100x200x300");
    CHECK_OR_EXIT(record_of(daemon, "dgemm", "100x200x300")->probe == OPTILE_PROBE_BLAS);
    CHECK_OR_EXIT(record_of(daemon, "dgemm", "100x200x300")->flags == 0);
    daemon.publish({{key, 2, {}, 0}});
    CHECK_OR_EXIT(multiply(100, 200, 300) == 2);
    CHECK_OR_EXIT(multiply(100, 200, 301) == kOwn);
    CHECK_OR_EXIT(omp_get_max_threads() == kOwn);
    CHECK_OR_EXIT(daemon.client().header.default_width == kOwn);
    CHECK_OR_EXIT(std::strstr(daemon.client().header.blas_path, "fake_blas") != nullptr);
  });
}

TEST_F(Gemm, KeyIsStableAcrossRunsAndLanguages) {
  in_unsteered_child([](FakeDaemon& daemon) {
    attach(daemon);
    multiply(100, 200, 300, kColumnMajor);
    // Stored plans are found by it.
    CHECK_OR_EXIT(key_of(daemon, "dgemm", "100x200x300") == UINT64_C(0x629136dc67c5fbe3));
    daemon.publish({{key_of(daemon, "dgemm", "100x200x300"), 3, {}, 0}});
    CHECK_OR_EXIT(multiply_in_fortran(100, 200, 300) == 3);
    CHECK_OR_EXIT(multiply(100, 200, 300, kRowMajor) == kOwn);
  });
}

TEST_F(Gemm, TransposeFlagsArePartOfShape) {
  in_unsteered_child([](FakeDaemon& daemon) {
    attach(daemon);
    multiply(100, 200, 300, kRowMajor, kTransposed);
    multiply_in_fortran(120, 200, 300, "c");
    CHECK_OR_EXIT(record_of(daemon, "dgemm", "100x200x300 tn") != nullptr);
    CHECK_OR_EXIT(record_of(daemon, "dgemm", "120x200x300 cn") != nullptr);
    CHECK_OR_EXIT(record_of(daemon, "dgemm", "100x200x300") == nullptr);
  });
}

TEST_F(Gemm, SmallOrInvalidProductsAreNoOps) {
  in_unsteered_child([](FakeDaemon& daemon) {
    attach(daemon);
    const uint32_t before = daemon.client().header.registry_count;
    CHECK_OR_EXIT(multiply(64, 64, 64) == kOwn);
    CHECK_OR_EXIT(multiply(0, 1000, 1000) == kOwn);
    CHECK_OR_EXIT(multiply(-100, 1000, 1000) == kOwn);
    CHECK_OR_EXIT(daemon.client().header.registry_count == before);
    CHECK_OR_EXIT(multiply(64, 64, 65) == kOwn);
    CHECK_OR_EXIT(daemon.client().header.registry_count == before + 1);
  });
}

TEST_F(Gemm, ProductInsideOpBelongsToOuterOp) {
  in_child([](FakeDaemon& daemon) {
    attach_with_plan(daemon, 3);
    run_op_around(kOp, [&] { CHECK_OR_EXIT(multiply(100, 200, 300) == 3); });
    CHECK_OR_EXIT(record_of(daemon, "dgemm", "100x200x300") == nullptr);
    CHECK_OR_EXIT(omp_get_max_threads() == kOwn);
  });
}

TEST_F(Gemm, ProductCallingAnotherIsOneOp) {
  in_unsteered_child([](FakeDaemon& daemon) {
    attach(daemon);
    multiply(100, 200, 300);
    daemon.publish({{key_of(daemon, "dgemm", "100x200x300"), 2, {}, 0}}, 0,
                   [](optile_plan_page& page) { page.flags = OPTILE_PAGE_RECORD_ALL; });
    daemon.take_events();
    fake_blas()->inside = [] { CHECK_OR_EXIT(multiply_in_fortran(400, 200, 300) == 2); };
    multiply(100, 200, 300);
    const std::vector<optile_event> events = daemon.take_events();
    CHECK_OR_EXIT(events.size() == 1 && events[0].width == 2);
    CHECK_OR_EXIT((events[0].flags & OPTILE_EVENT_STEERABLE) != 0);
    CHECK_OR_EXIT(record_of(daemon, "dgemm", "400x200x300") == nullptr);
    CHECK_OR_EXIT(omp_get_max_threads() == kOwn);
  });
}

TEST_F(Gemm, RegionWorkersBeginNoOps) {
  in_unsteered_child([](FakeDaemon& daemon) {
    attach(daemon);
#pragma omp parallel num_threads(2)
    {
#pragma omp critical
      multiply(100, 200, 300);
    }
    CHECK_OR_EXIT(record_of(daemon, "dgemm", "100x200x300") == nullptr);
    CHECK_OR_EXIT(fake_blas()->calls == 2);
  });
}

TEST_F(Gemm, ForkedChildMultipliesAtDefaultWidth) {
  in_unsteered_child([](FakeDaemon& daemon) {
    attach(daemon);
    multiply(100, 200, 300);
    daemon.publish({{key_of(daemon, "dgemm", "100x200x300"), 2, {}, 0}});
    CHECK_OR_EXIT(multiply(100, 200, 300) == 2);
    const pid_t child = fork();
    if (child == 0) std::_Exit(multiply(100, 200, 300) == kOwn ? 0 : 1);
    int status = 0;
    CHECK_OR_EXIT(waitpid(child, &status, 0) == child && status == 0);
  });
}

TEST_F(Gemm, UnsteerableLibraryIsOnlyObserved) {
  in_unsteered_child([](FakeDaemon& daemon) {
    fake_blas()->parallel = 0;
    attach(daemon);
    multiply(100, 200, 300);
    CHECK_OR_EXIT(steered_runtime() == nullptr);
    const uint64_t key = key_of(daemon, "dgemm", "100x200x300");
    daemon.publish({{key, 2, {}, 0}}, 0,
                   [](optile_plan_page& page) { page.flags = OPTILE_PAGE_RECORD_ALL; });
    daemon.take_events();
    CHECK_OR_EXIT(multiply(100, 200, 300) == kOwn);
    const std::vector<optile_event> events = daemon.take_events();
    CHECK_OR_EXIT(events.size() == 1 && events[0].width == 0);
    CHECK_OR_EXIT((events[0].flags & OPTILE_EVENT_STEERABLE) == 0);
  });
}

TEST_F(Gemm, OffModeNeitherAttachesNorSteers) {
  in_unsteered_child([](FakeDaemon& /*daemon*/) {
    setenv("OPTILE_MODE", "off", 1);
    read_environment();
    CHECK_OR_EXIT(multiply(100, 200, 300) == kOwn);
    CHECK_OR_EXIT(attachment() == nullptr && steered_runtime() == nullptr);
  });
}

TEST_F(Gemm, LaterFrameworkChoosesSteeredRuntime) {
  in_unsteered_child([](FakeDaemon& daemon) {
    attach(daemon);
    multiply(100, 200, 300);
    const OpenmpRuntime* of_blas = steered_runtime();
    choose_runtime_of_speaker(reinterpret_cast<const void*>(&run_op));
    const OpenmpRuntime* of_region = steered_runtime();
    CHECK_OR_EXIT(of_blas != nullptr && of_region != nullptr && of_region != of_blas);
    choose_steered_runtime(reinterpret_cast<const void*>(&run_op));
    CHECK_OR_EXIT(steered_runtime() != nullptr && steered_runtime() != of_region);
    CHECK_OR_EXIT(steered_runtime() != of_blas);
    choose_runtime_of_library(reinterpret_cast<const void*>(&fake_blas));
    CHECK_OR_EXIT(steered_runtime() != of_blas);
    // Both are the same copy here, so products go on.
    daemon.publish({{key_of(daemon, "dgemm", "100x200x300"), 2, {}, 0}});
    CHECK_OR_EXIT(multiply(100, 200, 300) == 2);
  });
}

TEST_F(Gemm, HeldWidthSkipsPoolWithSeveralIssuers) {
  in_unsteered_child([](FakeDaemon& daemon) {
    fake_blas()->parallel = 1;
    fake_blas()->pool = kOwn;
    attach(daemon);
    choose_steered_runtime(reinterpret_cast<const void*>(&run_op));
    HeldWidth alone = hold_width(2);
    CHECK_OR_EXIT(omp_get_max_threads() == 2 && fake_blas()->pool == 2);
    release_width(alone);
    CHECK_OR_EXIT(omp_get_max_threads() == kOwn && fake_blas()->pool == kOwn);
    std::thread([] { run_op(kOp); }).join();
    HeldWidth beside_another = hold_width(2);
    CHECK_OR_EXIT(omp_get_max_threads() == 2 && fake_blas()->pool == kOwn);
    release_width(beside_another);
    CHECK_OR_EXIT(omp_get_max_threads() == kOwn && fake_blas()->pool == kOwn);
  });
}

bool listened_to = true;

void listen(int on) {
  listened_to = on != 0;
}

// The thread that paused sampling is gone, or has other things to do; the next one's products may
// not stay narrow with it.
TEST_F(Gemm, EndingOtherThreadsRestRestoresPool) {
  in_unsteered_child([](FakeDaemon& daemon) {
    fake_blas()->parallel = 1;
    fake_blas()->pool = kOwn;
    offer_sampling_pause(listen);
    attach(daemon);
    choose_steered_runtime(reinterpret_cast<const void*>(&run_op));
    daemon.end_sampling_pauses_at_once();
    daemon.publish({}, kMarker, [](optile_plan_page& page) {
      page.flags = OPTILE_PAGE_MAY_PAUSE_SAMPLING;
      page.default_width_cap = 2;
    });
    for (int step = 0; step < 100 && listened_to; ++step) {
      run_op(kMarker);
      if (listened_to) landmark();
    }
    CHECK_OR_EXIT(!listened_to && fake_blas()->pool == 2);
    std::thread([] { landmark(); }).join();
    CHECK_OR_EXIT(listened_to && fake_blas()->pool == kOwn && omp_get_max_threads() == 2);
    CHECK_OR_EXIT(run_op(kMarker) == 2 && omp_get_max_threads() == kOwn);
  });
}

TEST_F(Gemm, ComplexAndSinglePrecisionProductsAreOps) {
  in_unsteered_child([](FakeDaemon& daemon) {
    attach(daemon);
    const float alpha[2] = {5.0F, 0.0F};
    float product[2] = {0.0F, 0.0F};
    cblas_cgemm(kRowMajor, kPlain, kPlain, 100, 200, 300, alpha, nullptr, 1, nullptr, 1, alpha,
                product, 1);
    CHECK_OR_EXIT(product[0] == 5.0F);
    cblas_sgemm(kRowMajor, kPlain, kPlain, 100, 200, 300, 2.0F, nullptr, 1, nullptr, 1, 3.0F,
                product, 7);
    CHECK_OR_EXIT(product[0] == 12.0F);
    CHECK_OR_EXIT(record_of(daemon, "cgemm", "100x200x300") != nullptr);
    CHECK_OR_EXIT(record_of(daemon, "sgemm", "100x200x300") != nullptr);
  });
}

// sgemm_ is in no library here: whoever finds ours all the same gets a product.
extern "C" void sgemm_(const char* left_op, const char* right_op, const int* rows,
                       const int* columns, const int* inner, const float* alpha, const float* left,
                       const int* left_stride, const float* right, const int* right_stride,
                       const float* beta, float* product, const int* product_stride);

TEST(PlainGemmTest, ComputesProductWithoutBlasLibrary) {
  const int rows = 2;
  const int columns = 2;
  const int inner = 3;
  const float left[] = {1, 2, 3, 4, 5, 6};    // by columns: 1 3 5 / 2 4 6
  const float right[] = {1, 0, 2, -1, 1, 1};  // 1 -1 / 0 1 / 2 1
  const float one = 1;
  const float two = 2;
  float product[] = {1, 1, 1, 1};
  sgemm_("N", "n", &rows, &columns, &inner, &two, left, &rows, right, &inner, &one, product, &rows);
  EXPECT_EQ(product[0], 2 * 11 + 1);
  EXPECT_EQ(product[1], 2 * 14 + 1);
  EXPECT_EQ(product[2], 2 * 7 + 1);
  EXPECT_EQ(product[3], 2 * 8 + 1);
}

TEST_F(Gemm, PooledCopyFollowsBesideOpenMpCopy) {
  // What every runtime starts with, however many cores there are.
  setenv("OMP_NUM_THREADS", std::to_string(kOwn).c_str(), 1);
  in_unsteered_child([](FakeDaemon& daemon) {
    const auto with_packaged = [] {
      scipy_cblas_dgemm64_(kRowMajor, kPlain, kPlain, 100, 200, 301, 1.0, nullptr, 1, nullptr, 1,
                           0.0, nullptr, 1);
      return fake_pool_of_numpy()->seen;
    };
    attach(daemon);
    CHECK_OR_EXIT(multiply(100, 200, 300) == kOwn && with_packaged() == kOwn);
    daemon.publish({{key_of(daemon, "dgemm", "100x200x300"), 3, {}, 0},
                    {key_of(daemon, "dgemm", "100x200x301"), 2, {}, 0}});
    CHECK_OR_EXIT(multiply(100, 200, 300) == 3 && fake_pool_of_numpy()->count == kOwn);
    CHECK_OR_EXIT(with_packaged() == 2 && fake_pool_of_numpy()->count == kOwn);
    CHECK_OR_EXIT(omp_get_max_threads() == kOwn && multiply(100, 200, 300) == 3);
    CHECK_OR_EXIT(daemon.client().header.default_width_source != OPTILE_WIDTH_PROGRAM);
  });
  unsetenv("OMP_NUM_THREADS");
}

TEST(PlainGemmTest, TransposesConjugatesAndOverwritesAtZeroBeta) {
  const double nothing = std::nan("");
  double product[] = {nothing};
  const double a[] = {1, 2, 3};
  const double alpha = 1;
  const double beta = 0;
  plain_gemm<double>({'t', 'n', 1, 1, 3, &alpha, a, 3, a, 3, &beta, product, 1});
  EXPECT_EQ(product[0], 14.0);
  const double i[] = {0, 1};  // the imaginary unit
  const double one[] = {1, 0};
  const double zero[] = {0, 0};
  double complex_product[] = {nothing, nothing};
  plain_gemm<ComplexDouble>({'c', 'n', 1, 1, 1, one, i, 1, i, 1, zero, complex_product, 1});
  EXPECT_EQ(complex_product[0], 1.0);
  EXPECT_EQ(complex_product[1], 0.0);
}

}  // namespace
}  // namespace optile::preload
