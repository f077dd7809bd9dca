/* A BLAS that multiplies nothing: it notes how many threads it might have used. */
#pragma once

#include "tests/programs/libraries/cblas.h"

#ifdef __cplusplus
extern "C" {
#endif

struct fake_blas_state {
  int parallel; /* what openblas_get_parallel() says */
  int pool;     /* count of its own threads */
  int calls;
  int omp_threads_seen; /* in the latest call */
  int pool_seen;
  long rows_seen;
  void (*inside)(void); /* called in each product, where it is set */
};
struct fake_blas_state* fake_blas(void);

void cblas_cgemm(int order, int left_op, int right_op, int rows, int columns, int inner,
                 const void* alpha, const void* left, int left_stride, const void* right,
                 int right_stride, const void* beta, void* product, int product_stride);
void dgemm_(const char* left_op, const char* right_op, const int* rows, const int* columns,
            const int* inner, const double* alpha, const double* left, const int* left_stride,
            const double* right, const int* right_stride, const double* beta, double* product,
            const int* product_stride);

#ifdef __cplusplus
}
#endif
