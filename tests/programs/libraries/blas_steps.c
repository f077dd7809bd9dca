/* A program whose steps are matrix products, through both of BLAS's interfaces: two large ones, and
 * tiny ones between them. Every product of a step must be the first step's; that one is compared
 * with a plain sum. With the argument `region` the products are called from inside an OpenMP region
 * by its workers. */
#include <string.h>

#include "tests/programs/libraries/cblas.h"
#include "tests/programs/libraries/exact.h"

void sgemm_(const char* left_op, const char* right_op, const int* rows, const int* columns,
            const int* inner, const float* alpha, const float* left, const int* left_stride,
            const float* right, const int* right_stride, const float* beta, float* product,
            const int* product_stride);
enum { kRowMajor = 101, kColumnMajor = 102, kNoTranspose = 111, kTranspose = 112 };

enum { kSquare = 224, kRows = 320, kColumns = 96, kInner = 256, kTiny = 8, kTinyProducts = 10 };

typedef struct matrices {
  double* doubles[3]; /* left, right, product */
  float* floats[3];
} matrices;

static matrices make_matrices(void) {
  matrices made;
  const size_t square = (size_t)kSquare * kSquare;
  const size_t sizes[3] = {(size_t)kRows * kInner, (size_t)kInner * kColumns,
                           (size_t)kRows * kColumns};
  for (int i = 0; i < 3; i++) {
    made.doubles[i] = malloc(square * sizeof(double));
    made.floats[i] = exact_floats(sizes[i]);
    if (made.doubles[i] == NULL) exit(2);
    for (size_t j = 0; j < square; j++) made.doubles[i][j] = exact_number((uint32_t)i, j);
    exact_fill(made.floats[i], sizes[i], (uint32_t)i + 7u);
  }
  return made;
}

static void square_product(matrices* m) {
  cblas_dgemm(kRowMajor, kNoTranspose, kNoTranspose, kSquare, kSquare, kSquare, 1.0, m->doubles[0],
              kSquare, m->doubles[1], kSquare, 0.0, m->doubles[2], kSquare);
}

static void thin_product(matrices* m) {
  const int rows = kRows;
  const int columns = kColumns;
  const int inner = kInner;
  const float one = 1.0f;
  const float zero = 0.0f;
  sgemm_("T", "n", &rows, &columns, &inner, &one, m->floats[0], &inner, m->floats[1], &inner, &zero,
         m->floats[2], &rows);
}

static void tiny_product(matrices* m, float* product) {
  cblas_sgemm(kColumnMajor, kNoTranspose, kTranspose, kTiny, kTiny, kTiny, 1.0f, m->floats[0],
              kTiny, m->floats[1], kTiny, 0.0f, product, kTiny);
}

static long wrong_numbers(const matrices* m) {
  long wrong = 0;
  for (int row = 0; row < kSquare; row++) {
    for (int column = 0; column < kSquare; column++) {
      double sum = 0;
      for (int i = 0; i < kSquare; i++) {
        sum += m->doubles[0][row * kSquare + i] * m->doubles[1][i * kSquare + column];
      }
      if (sum != m->doubles[2][row * kSquare + column]) wrong++;
    }
  }
  for (int column = 0; column < kColumns; column++) {
    for (int row = 0; row < kRows; row++) {
      double sum = 0;
      for (int i = 0; i < kInner; i++) {
        sum += (double)m->floats[0][row * kInner + i] * m->floats[1][column * kInner + i];
      }
      if (sum != m->floats[2][column * kRows + row]) wrong++;
    }
  }
  return wrong;
}

/* Of what the products came to. */
static double sum_of(const matrices* m) {
  double sum = 0;
  for (size_t i = 0; i < (size_t)kSquare * kSquare; i++) sum += m->doubles[2][i] * (double)(i % 7);
  for (size_t i = 0; i < (size_t)kRows * kColumns; i++) sum += m->floats[2][i] * (double)(i % 5);
  return sum;
}

static double step(matrices* m) {
  float tiny[kTiny * kTiny];
  square_product(m);
  for (int i = 0; i < kTinyProducts; i++) tiny_product(m, tiny);
  thin_product(m);
  return sum_of(m) + tiny[0];
}

/* Each of two workers multiplies for itself. */
static long steps_in_regions(int steps) {
  enum { kWorkers = 2 };
  matrices each[kWorkers];
  double sums[kWorkers];
  for (int worker = 0; worker < kWorkers; worker++) each[worker] = make_matrices();
  long wrong = 0;
  for (int i = 0; i < steps; i++) {
#ifdef _OPENMP
#pragma omp parallel for schedule(static)
#endif
    for (int worker = 0; worker < kWorkers; worker++) sums[worker] = step(&each[worker]);
    wrong += sums[0] != sums[1];
    if (i == 0) wrong += wrong_numbers(&each[0]) + wrong_numbers(&each[1]);
  }
  return wrong;
}

int main(int argc, char** argv) {
  const int steps = argc > 1 ? atoi(argv[1]) : 100;
  if (argc > 2 && strcmp(argv[2], "region") == 0) {
    const long wrong = steps_in_regions(steps);
    printf("products in regions: %d steps, %ld wrong numbers\n", steps, wrong);
    return wrong == 0 ? 0 : 1;
  }
  matrices m = make_matrices();
  const double first = step(&m);
  long wrong = wrong_numbers(&m);
  for (int i = 1; i < steps; i++) wrong += step(&m) != first;
  printf("products: %d steps, sum %.0f, %ld wrong numbers\n", steps, first, wrong);
  return wrong == 0 ? 0 : 1;
}
