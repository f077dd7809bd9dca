/* What clang makes of two OpenMP regions, written by hand: LLVM's own entry points, one region with
 * more variables than are passed in registers, one with a num_threads clause. The arguments are as
 * those of two_regions.c; the lines of the file are of the first region and of the one with the
 * clause. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { kMostThreads = 64, kCells = 1600000, kClause = 2 };

typedef void (*Task)(int*, int*, ...);
typedef struct {
  int reserved;
  int flags;
  int reserved2;
  int reserved3;
  const char* source;
} Place;

/* NOLINTBEGIN(bugprone-reserved-identifier): these are LLVM's names */
extern void __kmpc_fork_call(Place* where, int count, Task task, ...);
extern void __kmpc_push_num_threads(Place* where, int thread, int threads);
extern int __kmpc_global_thread_num(Place* where);
/* NOLINTEND(bugprone-reserved-identifier) */
extern int omp_get_num_threads(void);
extern int omp_get_thread_num(void);

static Place here = {0, 2, 0, 0, ";unknown;unknown;0;0;;"};
static uint32_t cells[kCells];
static long teams[2][kMostThreads + 1];
static long wrong = 0;

static void count(int region) {
  const int size = omp_get_num_threads();
  teams[region][size < kMostThreads ? size : kMostThreads]++;
}

static void work(int* thread, int* bound, int* first, int* factor) {
  (void)bound;
  (void)thread;
  if (omp_get_thread_num() == 0) count(0);
  const int each = kCells / omp_get_num_threads() + 1;
  const int begin = each * omp_get_thread_num();
  for (int i = begin; i < begin + each && i < kCells; i++) {
    cells[i] = cells[i] * (uint32_t)*factor + (uint32_t)(*first + i);
  }
}

static void clause(int* thread, int* bound, int* a, int* b, int* c, int* d, int* e, int* f, int* g,
                   int* h, int* i, int* j, int* k, int* l, int* m, int* n, int* o, int* p, int* q,
                   int* r) {
  (void)bound;
  (void)thread;
  if (omp_get_thread_num() != 0) return;
  count(1);
  const int* all[] = {a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r};
  for (int number = 0; number < 18; number++) {
    if (*all[number] != number) wrong++;
  }
}

static void step(int number) {
  int first = number;
  int factor = 5;
  __kmpc_fork_call(&here, 2, (Task)(void (*)(void))work, &first, &factor);
  int v[18];
  for (int i = 0; i < 18; i++) v[i] = i;
  __kmpc_push_num_threads(&here, __kmpc_global_thread_num(&here), kClause);
  __kmpc_fork_call(&here, 18, (Task)(void (*)(void))clause, &v[0], &v[1], &v[2], &v[3], &v[4],
                   &v[5], &v[6], &v[7], &v[8], &v[9], &v[10], &v[11], &v[12], &v[13], &v[14],
                   &v[15], &v[16], &v[17]);
}

int main(int words, char** word) {
  if (words < 3) return 2;
  const long steps = strtol(word[2], NULL, 10);
  for (long number = 0; number < steps; number++) step((int)number);
  uint32_t sum = 0;
  for (int i = 0; i < kCells; i++) sum = sum * 31 + cells[i];
  printf("LLVM's regions: %ld steps, sum %08x, %ld wrong\n", steps, sum, wrong);
  FILE* file = fopen(word[1], "w");
  if (file == NULL) return 2;
  for (int region = 0; region < 2; region++) {
    for (int size = 1; size <= kMostThreads; size++) {
      if (teams[region][size] != 0) fprintf(file, "%d:%ld ", size, teams[region][size]);
    }
    fprintf(file, "\n");
  }
  return fclose(file) == 0 && wrong == 0 ? 0 : 1;
}
