/* Matrix products of libxsmm's, called as BLAS's are: by itself on one thread, with tiles of its
 * own on OpenMP's. Whole numbers, which come out the same at any width. */
#include <libxsmm.h>
#include <stdio.h>

#include "tests/programs/libraries/exact.h"

enum { kSize = 192, kNumbers = kSize * kSize, kSteps = 1000 };

int main(void) {
  static double left[kNumbers];
  static double right[kNumbers];
  static double product[kNumbers];
  const libxsmm_blasint size = kSize;
  const double one = 1.0;
  const double zero = 0.0;
  double total = 0.0;
  for (size_t i = 0; i < kNumbers; i++) {
    left[i] = exact_number(1, i);
    right[i] = exact_number(2, i);
  }
  for (int step = 0; step < kSteps; step++) {
    libxsmm_dgemm_omp("N", "N", &size, &size, &size, &one, left, &size, right, &size, &zero,
                      product, &size);
    for (size_t i = 0; i < kNumbers; i += 97) total += product[i];
  }
  printf("%.0f\n", total);
  return 0;
}
