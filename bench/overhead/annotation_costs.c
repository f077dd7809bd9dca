/* What an annotation costs where nobody listens: an op begun and ended, in nanoseconds, the median
 * of blocks. Run it bare, and with the shim preloaded and no daemon. With an argument: so many ops
 * and nothing printed, for counting instructions. */
#include <optile/annotate.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { kBlocks = 1001, kBlock = 10000 };

static void ops(long count) {
  static const int64_t shape[] = {64, 128};
  for (long i = 0; i < count; i++) {
    optile_op op;
    optile_op_begin(&op, "attention", shape, 2);
    __asm__ volatile("" : : "r"(&op) : "memory"); /* the op's work */
    optile_op_end(&op);
  }
}

static double now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static int by_size(const void* one, const void* other) {
  const double left = *(const double*)one;
  const double right = *(const double*)other;
  return (left > right) - (left < right);
}

int main(int argc, char** argv) {
  if (argc > 1) {
    ops(atol(argv[1]));
    return 0;
  }
  static double blocks[kBlocks];
  ops(kBlock);
  for (int i = 0; i < kBlocks; i++) {
    const double begin = now_ns();
    ops(kBlock);
    blocks[i] = (now_ns() - begin) / kBlock;
  }
  qsort(blocks, kBlocks, sizeof blocks[0], by_size);
  printf("%.2f\n", blocks[kBlocks / 2]);
  return 0;
}
