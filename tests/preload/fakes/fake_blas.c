#include "tests/preload/fakes/fake_blas.h"

#include <stddef.h>

extern int omp_get_max_threads(void) __attribute__((weak));
int openblas_get_parallel(void);
int openblas_get_num_threads(void);
void openblas_set_num_threads(int count);

static struct fake_blas_state state = {2, 4, 0, 0, 0, 0, NULL};

struct fake_blas_state* fake_blas(void) {
  return &state;
}

int openblas_get_parallel(void) {
  return state.parallel;
}

int openblas_get_num_threads(void) {
  return state.pool;
}

void openblas_set_num_threads(int count) {
  state.pool = count;
}

static void note_call(long rows) {
  void (*const inside)(void) = state.inside;
  state.inside = NULL;
  if (inside != NULL) inside();
  state.calls++;
  state.omp_threads_seen = omp_get_max_threads == NULL ? 0 : omp_get_max_threads();
  state.pool_seen = state.pool;
  state.rows_seen = rows;
}

void cblas_sgemm(int order, int left_op, int right_op, int rows, int columns, int inner,
                 float alpha, const float* left, int left_stride, const float* right,
                 int right_stride, float beta, float* product, int product_stride) {
  (void)order, (void)left_op, (void)right_op, (void)columns, (void)inner, (void)left;
  (void)left_stride, (void)right, (void)right_stride;
  note_call(rows);
  if (product != NULL) product[0] = alpha + beta + (float)product_stride;
}

void cblas_dgemm(int order, int left_op, int right_op, int rows, int columns, int inner,
                 double alpha, const double* left, int left_stride, const double* right,
                 int right_stride, double beta, double* product, int product_stride) {
  (void)order, (void)left_op, (void)right_op, (void)columns, (void)inner, (void)left;
  (void)left_stride, (void)right, (void)right_stride;
  note_call(rows);
  if (product != NULL) product[0] = alpha + beta + product_stride;
}

void cblas_cgemm(int order, int left_op, int right_op, int rows, int columns, int inner,
                 const void* alpha, const void* left, int left_stride, const void* right,
                 int right_stride, const void* beta, void* product, int product_stride) {
  (void)order, (void)left_op, (void)right_op, (void)columns, (void)inner, (void)left;
  (void)left_stride, (void)right, (void)right_stride, (void)beta, (void)product_stride;
  note_call(rows);
  if (product != NULL) *(float*)product = *(const float*)alpha;
}

void dgemm_(const char* left_op, const char* right_op, const int* rows, const int* columns,
            const int* inner, const double* alpha, const double* left, const int* left_stride,
            const double* right, const int* right_stride, const double* beta, double* product,
            const int* product_stride) {
  (void)left_op, (void)right_op, (void)columns, (void)inner, (void)left, (void)left_stride;
  (void)right, (void)right_stride;
  note_call(*rows);
  if (product != NULL) product[0] = *alpha + *beta + *product_stride;
}
