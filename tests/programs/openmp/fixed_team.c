/* Remembers how many threads there can be and aborts as soon as there are others, between its
 * regions or in them, as DBCSR does (cp2k/dbcsr#705). Each thread has a sum of its own, by the
 * number that was remembered. The argument is how many steps. */
#include <omp.h>
#include <stdio.h>

#include "tests/programs/libraries/products_between.h"

enum { kApart = 8 };

static int threads_at_start;

static void check(int threads, const char* where) {
  if (threads == threads_at_start) return;
  printf("the number of threads has changed %s: %d, was %d\n", where, threads, threads_at_start);
  fflush(stdout);
  abort();
}

static void add_up_each(const products* p, double* sums) {
#pragma omp parallel
  {
    check(omp_get_num_threads(), "in a region");
    double* own = sums + (size_t)omp_get_thread_num() * kApart;
#pragma omp for schedule(static)
    for (int i = 0; i < kNumbers; i++) *own += p->product[i];
  }
}

int main(int words, char** word) {
  const long steps = words > 1 ? strtol(word[1], NULL, 10) : 1;
  threads_at_start = omp_get_max_threads();
  const size_t threads = (size_t)threads_at_start;
  double* sums = calloc(threads * kApart, sizeof *sums);
  if (sums == NULL) return 2;
  const products p = make_products();
  for (long step = 0; step < steps; step++) {
    check(omp_get_max_threads(), "before a product");
    multiply(&p);
    check(omp_get_max_threads(), "after a product");
    add_up_each(&p, sums);
  }
  double total = 0;
  for (size_t i = 0; i < threads; i++) total += sums[i * kApart];
  free(sums);
  printf("fixed team: %ld steps, %zu threads, %.0f\n", steps, threads, total);
  return 0;
}
