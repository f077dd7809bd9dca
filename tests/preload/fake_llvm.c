#include "tests/preload/fake_llvm.h"

static int block_time = 200;

int kmp_get_blocktime(void);
void kmp_set_blocktime(int milliseconds);

int kmp_get_blocktime(void) {
  return block_time;
}

void kmp_set_blocktime(int milliseconds) {
  block_time = milliseconds;
}

int fake_block_time(void) {
  return block_time;
}

void set_fake_block_time(int milliseconds) {
  block_time = milliseconds;
}
