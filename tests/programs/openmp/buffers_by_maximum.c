/* What ordinary OpenMP programs do: ask once how many threads there can be, give each its buffer,
 * let each region's threads fill their own, and read all of them afterwards. A smaller team leaves
 * rubbish in some; a larger one than the first answer writes behind the last. Guard words stand
 * around the buffers. The first argument is how many rounds. */
#include <omp.h>
#include <string.h>

#include "tests/programs/libraries/exact.h"

enum { kWords = 64, kGuardWords = 4096, kRounds = 400 };
static const uint64_t kGuard = UINT64_C(0x5ca1ab1e0ddba11);
static const uint64_t kRubbish = UINT64_C(0xbadbadbadbadbad);

static long broken_guards(const uint64_t* memory, size_t buffer_words) {
  long broken = 0;
  for (size_t i = 0; i < kGuardWords; i++) {
    if (memory[i] != kGuard) broken++;
    if (memory[kGuardWords + buffer_words + i] != kGuard) broken++;
  }
  return broken;
}

/* Every thread of the team adds `value` to its own buffer, and only once. */
static void fill(uint64_t* buffers, uint64_t value) {
#pragma omp parallel
  {
    uint64_t* own = buffers + (size_t)omp_get_thread_num() * kWords;
    for (int i = 0; i < kWords; i++) own[i] = value + (uint64_t)i;
  }
}

int main(int words, char** word) {
  const long rounds = words > 1 ? strtol(word[1], NULL, 10) : kRounds;
  const size_t threads = (size_t)omp_get_max_threads();
  const size_t buffer_words = threads * kWords;
  uint64_t* memory = malloc((2 * kGuardWords + buffer_words) * sizeof *memory);
  if (memory == NULL) return 2;
  for (size_t i = 0; i < 2 * kGuardWords + buffer_words; i++) memory[i] = kGuard;
  uint64_t* buffers = memory + kGuardWords;
  long unset = 0;
  long broken = 0;
  for (uint64_t round = 1; round <= (uint64_t)rounds; round++) {
    for (size_t i = 0; i < buffer_words; i++) buffers[i] = kRubbish;
    fill(buffers, round * 1000u);
    for (size_t i = 0; i < buffer_words; i++) {
      if (buffers[i] != round * 1000u + i % kWords) unset++;
    }
    broken += broken_guards(memory, buffer_words);
  }
  free(memory);
  printf("buffers: %ld rounds, %ld words not set, %ld guards broken\n", rounds, unset, broken);
  return unset == 0 && broken == 0 ? 0 : 1;
}
