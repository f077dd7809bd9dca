/* What calls a BLAS that nobody else in the process can see: from inside, and by a jump at a
 * function's end, which leaves whoever called that function as the one to return to. */
#include "tests/preload/fakes/fake_blas.h"

double product_inside(int size);
void product_by_a_jump(int order, int left_op, int right_op, int rows, int columns, int inner,
                       double alpha, const double* left, int left_stride, const double* right,
                       int right_stride, double beta, double* product, int product_stride);

double product_inside(int size) {
  double product = 0;
  cblas_dgemm(101, 111, 111, size, size, size, 1.0, &product, size, &product, size, 0.0, &product,
              size);
  return product;
}

void product_by_a_jump(int order, int left_op, int right_op, int rows, int columns, int inner,
                       double alpha, const double* left, int left_stride, const double* right,
                       int right_stride, double beta, double* product, int product_stride) {
  cblas_dgemm(order, left_op, right_op, rows, columns, inner, alpha, left, left_stride, right,
              right_stride, beta, product, product_stride);
}
