// A matrix product without any library, for the one case in which nothing else can answer a call: a
// program that found our function where, without us, it would have found none, and takes that for a
// BLAS. Slow, and right.
#pragma once

#include <stdint.h>

namespace optile::preload {

// As BLAS's gemm has it: product = alpha * left_op(left) * right_op(right) + beta * product. Sizes
// below 1 compute nothing. Operations: 'n', 't' or 'c'.
struct PlainGemm {
  char left_op;
  char right_op;
  int64_t rows;
  int64_t columns;
  int64_t inner;
  const void* alpha;
  const void* left;
  int64_t left_stride;
  const void* right;
  int64_t right_stride;
  const void* beta;
  void* product;
  int64_t product_stride;
};

__extension__ typedef __complex__ float ComplexFloat;    // NOLINT(modernize-use-using)
__extension__ typedef __complex__ double ComplexDouble;  // NOLINT(modernize-use-using)

inline float conjugate(float number) {
  return number;
}
inline double conjugate(double number) {
  return number;
}
inline ComplexFloat conjugate(ComplexFloat number) {
  return __extension__ ~number;
}
inline ComplexDouble conjugate(ComplexDouble number) {
  return __extension__ ~number;
}

template <typename Number>
Number element(const Number* matrix, char op, int64_t stride, int64_t row, int64_t column) {
  if (op == 'n') return matrix[column * stride + row];
  const Number number = matrix[row * stride + column];
  return op == 'c' ? conjugate(number) : number;
}

// Column after column in memory; for row after row, exchange left and right, rows and columns.
template <typename Number>
void plain_gemm(const PlainGemm& call) {
  const auto* left = static_cast<const Number*>(call.left);
  const auto* right = static_cast<const Number*>(call.right);
  auto* product = static_cast<Number*>(call.product);
  const Number alpha = *static_cast<const Number*>(call.alpha);
  const Number beta = *static_cast<const Number*>(call.beta);
  for (int64_t column = 0; column < call.columns; ++column) {
    for (int64_t row = 0; row < call.rows; ++row) {
      Number sum = 0;
      for (int64_t i = 0; i < call.inner; ++i) {
        sum += element(left, call.left_op, call.left_stride, row, i) *
               element(right, call.right_op, call.right_stride, i, column);
      }
      Number& out = product[column * call.product_stride + row];
      // What was never written may be no number at all.
      out = beta == Number(0) ? alpha * sum : alpha * sum + beta * out;
    }
  }
}

}  // namespace optile::preload
