#include "tests/preload/fakes/fake_packaged_blas.h"

#include <stddef.h>

/* FAKE_BEFORE, FAKE_BEHIND, FAKE_INTEGER and FAKE_POOL say which library this is. */
#define FAKE_PASTE(before, plain, behind) before##plain##behind
#define FAKE_NAMED(before, plain, behind) FAKE_PASTE(before, plain, behind)
#define FAKE(plain) FAKE_NAMED(FAKE_BEFORE, plain, FAKE_BEHIND)

int FAKE(openblas_get_parallel)(void);
int FAKE(openblas_get_num_threads)(void);
void FAKE(openblas_set_num_threads)(int count);

static struct fake_pool pool = {.count = 4};

struct fake_pool* FAKE_POOL(void) {
  return &pool;
}

int FAKE(openblas_get_parallel)(void) {
  return 1;
}

int FAKE(openblas_get_num_threads)(void) {
  ++pool.asked;
  return pool.count;
}

void FAKE(openblas_set_num_threads)(int count) {
  pool.count = count;
}

FAKE_CBLAS_DGEMM(FAKE(cblas_dgemm), FAKE_INTEGER) {
  (void)order, (void)left_op, (void)right_op, (void)columns, (void)inner, (void)left;
  (void)left_stride, (void)right, (void)right_stride;
  pool.seen = pool.count;
  pool.rows_seen = rows;
  if (pool.inside != NULL) pool.inside();
  if (product != NULL) product[0] = alpha + beta + (double)product_stride;
}

FAKE_FORTRAN_DGEMM(FAKE(dgemm_), FAKE_INTEGER) {
  (void)left_op, (void)right_op, (void)columns, (void)inner, (void)left, (void)left_stride;
  (void)right, (void)right_stride;
  pool.seen = pool.count;
  pool.rows_seen = *rows;
  if (product != NULL) product[0] = *alpha + *beta + (double)*product_stride;
}
