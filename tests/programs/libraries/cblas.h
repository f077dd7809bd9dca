/* Products as BLAS's C interface declares them; not every installation has a header for it. */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

void cblas_sgemm(int order, int left_op, int right_op, int rows, int columns, int inner,
                 float alpha, const float* left, int left_stride, const float* right,
                 int right_stride, float beta, float* product, int product_stride);
void cblas_dgemm(int order, int left_op, int right_op, int rows, int columns, int inner,
                 double alpha, const double* left, int left_stride, const double* right,
                 int right_stride, double beta, double* product, int product_stride);

#ifdef __cplusplus
}
#endif
