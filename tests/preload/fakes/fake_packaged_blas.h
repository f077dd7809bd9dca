/* OpenBLAS as packages of Python carry it: something stands before or behind each name, and the
 * threads are its own. It multiplies nothing and notes how many threads it might have used. Three
 * libraries: numpy's names, scipy's, and those that numpy had before. */
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct fake_pool {
  int count;
  int seen; /* in the latest call */
  int64_t rows_seen;
  int asked;            /* how often the count was asked for */
  void (*inside)(void); /* called in each product; null = nothing */
};
struct fake_pool* fake_pool_of_numpy(void);
struct fake_pool* fake_pool_of_scipy(void);
struct fake_pool* fake_pool_of_old_numpy(void);

#define FAKE_CBLAS_DGEMM(name, Integer)                                                         \
  void name(int order, int left_op, int right_op, Integer rows, Integer columns, Integer inner, \
            double alpha, const double* left, Integer left_stride, const double* right,         \
            Integer right_stride, double beta, double* product, Integer product_stride)
#define FAKE_FORTRAN_DGEMM(name, Integer)                                                          \
  void name(const char* left_op, const char* right_op, const Integer* rows,                        \
            const Integer* columns, const Integer* inner, const double* alpha, const double* left, \
            const Integer* left_stride, const double* right, const Integer* right_stride,          \
            const double* beta, double* product, const Integer* product_stride)

FAKE_CBLAS_DGEMM(scipy_cblas_dgemm64_, int64_t);
FAKE_FORTRAN_DGEMM(scipy_dgemm_64_, int64_t);
FAKE_CBLAS_DGEMM(scipy_cblas_dgemm, int32_t);
FAKE_FORTRAN_DGEMM(scipy_dgemm_, int32_t);
FAKE_CBLAS_DGEMM(cblas_dgemm64_, int64_t);
FAKE_FORTRAN_DGEMM(dgemm_64_, int64_t);

#ifdef __cplusplus
}
#endif
