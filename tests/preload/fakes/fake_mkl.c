#include "tests/preload/fakes/fake_mkl.h"

#include <stddef.h>

int mkl_get_max_threads(void);
int mkl_set_num_threads_local(const int* count);

static struct fake_mkl_state state = {4, 0, 0, NULL};
static _Thread_local int of_thread = 0;

struct fake_mkl_state* fake_mkl(void) {
  return &state;
}

int MKL_Get_Max_Threads(void) {
  return of_thread != 0 ? of_thread : state.of_process;
}

int MKL_Set_Num_Threads_Local(int count) {
  const int earlier = of_thread;
  of_thread = count;
  return earlier;
}

/* Fortran's, as in the real one: whoever takes them for C's crashes. */
int mkl_get_max_threads(void) {
  return MKL_Get_Max_Threads();
}

int mkl_set_num_threads_local(const int* count) {
  return MKL_Set_Num_Threads_Local(*count);
}

void cblas_dgemm(int order, int left_op, int right_op, int rows, int columns, int inner,
                 double alpha, const double* left, int left_stride, const double* right,
                 int right_stride, double beta, double* product, int product_stride) {
  (void)order, (void)left_op, (void)right_op, (void)rows, (void)columns, (void)inner, (void)left;
  (void)left_stride, (void)right, (void)right_stride;
  void (*const inside)(void) = state.inside;
  state.inside = NULL;
  state.calls++;
  state.seen = MKL_Get_Max_Threads();
  if (inside != NULL) inside();
  if (product != NULL) product[0] = alpha + beta + product_stride;
}
