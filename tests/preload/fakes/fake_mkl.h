/* MKL as far as the shim knows it: products that multiply nothing, and the counts of threads, for
 * the process and for the calling thread. */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

struct fake_mkl_state {
  int of_process;
  int seen; /* in the latest product */
  int calls;
  void (*inside)(void); /* called in the next product, where it is set */
};
struct fake_mkl_state* fake_mkl(void);

int MKL_Get_Max_Threads(void);
int MKL_Set_Num_Threads_Local(int count);

void cblas_dgemm(int order, int left_op, int right_op, int rows, int columns, int inner,
                 double alpha, const double* left, int left_stride, const double* right,
                 int right_stride, double beta, double* product, int product_stride);

#ifdef __cplusplus
}
#endif
