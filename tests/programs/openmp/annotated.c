/* A program that says itself where its ops and steps are. Two ops that want different numbers of
 * threads take turns: `relax` over a large grid, `shift` over a few cells. Every op notes the count
 * that it finds inside; between ops it must be the program's own. The numbers are integers, so
 * that their sum is the same at any width. Now and then an op is left by a jump, without an end.
 * The widths that ops found go to standard error: they are the one thing that may differ. */
#include <omp.h>
#include <optile/annotate.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

enum { kLarge = 1 << 18, kSmall = 64, kRounds = 4, kMostThreads = 64 };

static uint32_t g_large[kLarge];
static uint32_t g_small[kSmall];
static int g_own;
static long g_surprises;

/* The counts that an op has found, each once, in the order in which they came. */
typedef struct Found {
  int count;
  int widths[kMostThreads];
} Found;

static void note(Found* found) {
  const int width = omp_get_max_threads();
  for (int i = 0; i < found->count; i++) {
    if (found->widths[i] == width) return;
  }
  if (found->count < kMostThreads) found->widths[found->count++] = width;
}

static void outside(void) {
  if (omp_get_max_threads() != g_own) g_surprises++;
}

static void relax(Found* found) {
  const int64_t shape[] = {kLarge};
  optile_op op;
  optile_op_begin(&op, "relax", shape, 1);
  note(found);
#pragma omp parallel for schedule(static)
  for (int i = 0; i < kLarge; i++) g_large[i] = g_large[i] * 1664525u + (uint32_t)i;
  optile_op_end(&op);
  outside();
}

static void shift(Found* found) {
  const int64_t shape[] = {kSmall, kRounds};
  optile_op op;
  optile_op_begin(&op, "shift", shape, 2);
  note(found);
  for (int round = 0; round < kRounds; round++) {
#pragma omp parallel for schedule(static)
    for (int i = 0; i < kSmall; i++) g_small[i] = g_small[i] * 22695477u + 1u;
  }
  optile_op_end(&op);
  outside();
}

/* Left in the middle: the next one must be seen all the same. */
static void leave(void) {
  static jmp_buf back;
  optile_op op;
  if (setjmp(back) != 0) return;
  optile_op_begin(&op, "left", NULL, 0);
  longjmp(back, 1);
}

static void print(const char* name, const Found* found) {
  fprintf(stderr, "%s:", name);
  for (int i = 0; i < found->count; i++) fprintf(stderr, " %d", found->widths[i]);
  fprintf(stderr, "\n");
}

int main(int argc, char** argv) {
  const int steps = argc > 1 ? atoi(argv[1]) : 20;
  static Found in_relax;
  static Found in_shift;
  g_own = omp_get_max_threads();
  for (int step = 0; step < steps; step++) {
    relax(&in_relax);
    shift(&in_shift);
    leave();
    optile_step();
  }
  uint32_t sum = 0;
  for (int i = 0; i < kLarge; i++) sum += g_large[i];
  for (int i = 0; i < kSmall; i++) sum += g_small[i];
  printf("sum %u, %ld surprises\n", sum, g_surprises);
  print("relax", &in_relax);
  print("shift", &in_shift);
  return g_surprises == 0 ? 0 : 1;
}
