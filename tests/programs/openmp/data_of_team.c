/* Each thread of the first region takes memory of its own, which all later ones find by a variable
 * of each thread's (E3SM-Project/E3SM#5319), while a library multiplies in between with the same
 * runtime. The number of threads is the same in all regions, so OpenMP promises that it is still
 * there. The argument is how many steps. */
#include <omp.h>
#include <stdio.h>

#include "tests/programs/libraries/products_between.h"

static double* own;
static int number = -1;
#pragma omp threadprivate(own, number)

static double total;
static long lost;

static void take_memory(void) {
#pragma omp parallel
  {
    own = malloc(sizeof *own);
    number = omp_get_thread_num();
  }
}

static void add_up_each(const products* p) {
#pragma omp parallel reduction(+ : total, lost)
  {
    const int found = own != NULL && number == omp_get_thread_num();
    double sum = 0;
#pragma omp for schedule(static)
    for (int i = 0; i < kNumbers; i++) sum += p->product[i];
    if (found) {
      *own = sum;
      total += *own;
    } else {
      lost++;
    }
  }
}

int main(int words, char** word) {
  const long steps = words > 1 ? strtol(word[1], NULL, 10) : 1;
  const products p = make_products();
  take_memory();
  for (long step = 0; step < steps; step++) {
    multiply(&p);
    add_up_each(&p);
  }
  printf("data of a team: %ld steps, %.0f, lost %ld times\n", steps, total, lost);
  return lost == 0 ? 0 : 1;
}
