// Calls of matrix products (BLAS's gemm) as ops: outside any other op, region and framework, and
// large enough to be worth several threads. Everything else goes straight through.
#pragma once

#include <stdint.h>

#include "bindings/preload/core/library_op.h"

namespace optile::preload {

// One call, as its caller said it.
struct GemmCall {
  const char* name;  // "sgemm"; a literal
  int64_t rows;
  int64_t columns;
  int64_t inner;
  char left_op;  // 'n', 't', 'c', or '?'
  char right_op;
  bool row_major;
  uint32_t family;  // of the function's name (gemm_entries.cc); 0 = it is the plain one
};

// Up to so many multiplications OpenBLAS runs a product on one thread (0.3.21, interface/gemm.c:
// SMP_THRESHOLD_MIN times GEMM_MULTITHREAD_THRESHOLD), so there is no width to find. Sizes that
// make no sense are the library's to report.
inline constexpr double kSmallGemm = 65536.0 * 4;
inline bool is_large_gemm(int64_t rows, int64_t columns, int64_t inner) {
  return static_cast<double>(rows) * static_cast<double>(columns) * static_cast<double>(inner) >
         kSmallGemm;
}

// Lives on the stack of the calling thread around the real function `gemm`. `caller`: an address in
// the code that calls.
class GemmScope {
 public:
  GemmScope(const GemmCall& call, const void* caller, const void* gemm);

 private:
  LibraryOp op_;
};

}  // namespace optile::preload
