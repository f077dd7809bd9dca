/* A plugin that brings a BLAS of its own along, built twice with different answers. */
__attribute__((visibility("default"))) long plugin_answer(void);
__attribute__((visibility("default"))) void dgemm_(const char* left_op, const char* right_op,
                                                   const int* rows, const int* columns,
                                                   const int* inner, const double* alpha,
                                                   const double* left, const int* left_stride,
                                                   const double* right, const int* right_stride,
                                                   const double* beta, double* product,
                                                   const int* product_stride);

static long calls = 0;

void dgemm_(const char* left_op, const char* right_op, const int* rows, const int* columns,
            const int* inner, const double* alpha, const double* left, const int* left_stride,
            const double* right, const int* right_stride, const double* beta, double* product,
            const int* product_stride) {
  (void)left_op, (void)right_op, (void)rows, (void)columns, (void)inner, (void)left_stride;
  (void)right_stride, (void)beta, (void)product_stride;
  product[0] = alpha[0] * left[0] * right[0];
}

long plugin_answer(void) {
  const int one = 1;
  const double factor = 1, left = OPTILE_TEST_ANSWER, right = 10, none = 0;
  double product = 0;
  dgemm_("N", "N", &one, &one, &one, &factor, &left, &one, &right, &one, &none, &product, &one);
  /* One that was loaded before would go on counting. */
  return (long)product + calls++;
}
