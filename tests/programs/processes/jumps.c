/* Leaves regions by longjmp, as an error path of a C program does. A team of one can be left like
 * that in practice, though OpenMP does not allow it: what comes after must be as without optile. */
#include <omp.h>
#include <setjmp.h>
#include <stdio.h>

enum { kJumps = 200, kCount = 1000 };
static jmp_buf g_back;

__attribute__((noinline)) static void leave(void) {
#pragma omp parallel num_threads(1)
  longjmp(g_back, 1);
}

__attribute__((noinline)) static void leave_from_below(void) {
  volatile char frame[2048];
  frame[0] = 0;
  leave();
  frame[1] = frame[0];
}

static long sum(void) {
  long total = 0;
#pragma omp parallel for reduction(+ : total)
  for (int i = 0; i < kCount; i++) total += i;
  return total;
}

int main(void) {
  static long total;
  total = sum();
  for (volatile int jump = 0; jump < kJumps; jump = jump + 1) {
    if (setjmp(g_back) == 0) {
      if (jump % 2 == 0) leave();
      leave_from_below();
    }
    total += sum();
  }
  printf("jumps: %d, total %ld, threads %d\n", kJumps, total, omp_get_max_threads());
  return 0;
}
