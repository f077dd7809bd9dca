/* Matrix products through whichever BLAS the loader finds: square, thin and tiny ones, transposed
 * and not, in a mixed order, each compared with a plain sum. The OpenMP builds of OpenBLAS and BLIS
 * divide a product by a team size they looked up before the region. With the argument `masters`,
 * two threads of the program multiply at the same time. */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "tests/programs/libraries/exact.h"

void sgemm_(const char* left_op, const char* right_op, const int* rows, const int* columns,
            const int* inner, const float* alpha, const float* left, const int* left_stride,
            const float* right, const int* right_stride, const float* beta, float* product,
            const int* product_stride);

typedef struct shape {
  int rows;
  int columns;
  int inner;
  int left_transposed;
} shape;

static const shape kShapes[] = {{8, 8, 8, 0},      {96, 96, 96, 0},   {256, 256, 256, 0},
                                {300, 20, 500, 1}, {20, 300, 128, 0}, {1, 400, 400, 0},
                                {129, 65, 257, 1}, {384, 128, 64, 0}};
enum { kShapeCount = sizeof kShapes / sizeof kShapes[0], kRounds = 6 };

static atomic_long g_wrong;
static atomic_int g_products;

/* Column-major, as BLAS has it. */
static long wrong_numbers(const shape* s, const float* left, const float* right,
                          const float* product) {
  long wrong = 0;
  for (int column = 0; column < s->columns; column++) {
    for (int row = 0; row < s->rows; row++) {
      double sum = 0;
      for (int k = 0; k < s->inner; k++) {
        int at = s->left_transposed ? row * s->inner + k : k * s->rows + row;
        sum += (double)left[at] * (double)right[column * s->inner + k];
      }
      if (fabs(sum - (double)product[column * s->rows + row]) > 0.5) wrong++;
    }
  }
  return wrong;
}

static void run_shape(const shape* s, uint32_t seed) {
  const size_t left_count = (size_t)(s->rows * s->inner);
  const size_t right_count = (size_t)(s->inner * s->columns);
  const size_t product_count = (size_t)(s->rows * s->columns);
  float* left = exact_floats(left_count);
  float* right = exact_floats(right_count);
  float* product = exact_floats(product_count);
  exact_fill(left, left_count, seed);
  exact_fill(right, right_count, seed + 1);
  for (size_t i = 0; i < product_count; i++) product[i] = 1e6f;
  const float one = 1.0f;
  const float zero = 0.0f;
  const int left_stride = s->left_transposed ? s->inner : s->rows;
  sgemm_(s->left_transposed ? "T" : "N", "N", &s->rows, &s->columns, &s->inner, &one, left,
         &left_stride, right, &s->inner, &zero, product, &s->rows);
  atomic_fetch_add(&g_wrong, wrong_numbers(s, left, right, product));
  atomic_fetch_add(&g_products, 1);
  free(left);
  free(right);
  free(product);
}

static void* multiply_all(void* argument) {
  const uint32_t seed = *(const uint32_t*)argument;
  for (uint32_t round = 0; round < kRounds; round++) {
    for (uint32_t i = 0; i < kShapeCount; i++) {
      run_shape(&kShapes[(i * 3 + round) % kShapeCount], seed + round * 100u + i);
    }
  }
  return NULL;
}

int main(int argc, char** argv) {
  uint32_t seeds[2] = {1, 50000};
  if (argc > 1 && strcmp(argv[1], "masters") == 0) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) {
      if (pthread_create(&threads[i], NULL, multiply_all, &seeds[i]) != 0) return 2;
    }
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
  } else {
    multiply_all(&seeds[0]);
  }
  printf("sgemm: %d products, %ld wrong numbers\n", atomic_load(&g_products),
         atomic_load(&g_wrong));
  return atomic_load(&g_wrong) == 0 ? 0 : 1;
}
