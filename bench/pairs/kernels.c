/* One kernel for so many seconds, step after step: what pairs.py runs side by side. The threads are
 * OpenMP's. Step ends go to a file, in seconds of the monotonic clock. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
  kStream = 8 * 1024 * 1024, /* doubles in each of three arrays: far beyond any cache */
  kSide = 2048,              /* of the stencil's grid: two of them are 64 MB */
  kTile = 128,               /* of the gemm: three tiles stay in a second-level cache */
  kTiles = 64,               /* in a step */
  kChase = 4 * 1024 * 1024,  /* places that a chain leads through */
  kHops = 40000,             /* of each of kChains chains in a step */
  kChains = 8,
  kMostSteps = 1 << 20
};

static double* arrays[3];
static size_t* chain;
static size_t ends_of_chain[kChains];
static double step_ends[kMostSteps];

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static double* filled(size_t count) {
  double* array = malloc(count * sizeof *array);
  if (array == NULL) exit(1);
#pragma omp parallel for
  for (size_t i = 0; i < count; i++) array[i] = (double)(i % 7);
  return array;
}

/* Memory-bound: nothing is used twice. */
static void stream(void) {
  double *a = arrays[0], *b = arrays[1], *c = arrays[2];
#pragma omp parallel for
  for (size_t i = 0; i < kStream; i++) a[i] = b[i] + 3.0 * c[i];
}

/* Mostly memory-bound, with a neighbourhood. */
static void stencil(void) {
  double *from = arrays[0], *to = arrays[1];
#pragma omp parallel for
  for (size_t y = 1; y < kSide - 1; y++) {
    for (size_t x = 1; x < kSide - 1; x++) {
      const size_t at = y * kSide + x;
      to[at] = 0.2 * (from[at] + from[at - 1] + from[at + 1] + from[at - kSide] + from[at + kSide]);
    }
  }
  arrays[0] = to;
  arrays[1] = from;
}

/* Compute-bound: tiles that stay in the cache of their core. */
static void gemm(void) {
#pragma omp parallel for schedule(static)
  for (int tile = 0; tile < kTiles; tile++) {
    static __thread double a[kTile * kTile], b[kTile * kTile], c[kTile * kTile];
    for (size_t i = 0; i < (size_t)kTile; i++) {
      for (size_t k = 0; k < (size_t)kTile; k++) {
        const double factor = a[i * kTile + k] + tile;
        for (size_t j = 0; j < (size_t)kTile; j++) c[i * kTile + j] += factor * b[k * kTile + j];
      }
    }
    if (c[tile] < -1) a[0] = c[tile]; /* never; the compiler does not know */
  }
}

/* Latency-bound: each hop waits for the last one. */
static void chase(void) {
#pragma omp parallel for schedule(static)
  for (int one = 0; one < kChains; one++) {
    size_t at = ends_of_chain[one];
    for (int hop = 0; hop < kHops; hop++) at = chain[at];
    ends_of_chain[one] = at;
  }
}

/* One cycle through all places, in an order that no prefetcher guesses. */
static void make_chain(void) {
  chain = malloc(kChase * sizeof *chain);
  if (chain == NULL) exit(1);
  unsigned long long seed = 88172645463325252ULL;
  for (size_t i = 0; i < kChase; i++) chain[i] = i;
  for (size_t i = kChase - 1; i > 0; i--) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    const size_t j = seed % i;
    const size_t other = chain[j];
    chain[j] = chain[i];
    chain[i] = other;
  }
  for (size_t i = 0; i < kChains; i++) ends_of_chain[i] = i * (kChase / kChains);
}

static int write_report(const char* path, size_t steps) {
  FILE* file = fopen(path, "w");
  if (file == NULL) return 1;
  fputs("{\"step_ends\": [", file);
  for (size_t i = 0; i < steps; i++) fprintf(file, "%s%.6f", i == 0 ? "" : ", ", step_ends[i]);
  fputs("]}\n", file);
  return fclose(file) == 0 ? 0 : 1;
}

int main(int argc, char** argv) {
  static const struct {
    const char* name;
    void (*step)(void);
  } kernels[] = {{"stream", stream}, {"stencil", stencil}, {"gemm", gemm}, {"chase", chase}};
  void (*step)(void) = NULL;
  for (size_t i = 0; argc == 4 && i < sizeof kernels / sizeof kernels[0]; i++) {
    if (strcmp(argv[1], kernels[i].name) == 0) step = kernels[i].step;
  }
  const double seconds = argc == 4 ? strtod(argv[2], NULL) : 0;
  if (step == NULL || seconds <= 0) {
    fputs("kernels stream|stencil|gemm|chase SECONDS REPORT\n", stderr);
    return 2;
  }
  if (step == stream || step == stencil) {
    const size_t places = step == stream ? (size_t)kStream : (size_t)kSide * kSide;
    for (int i = 0; i < 3; i++) arrays[i] = filled(places);
  }
  if (step == chase) make_chain();
  const double end = now() + seconds;
  size_t steps = 0;
  while (steps < kMostSteps && now() < end) {
    step();
    step_ends[steps++] = now();
  }
  return write_report(argv[3], steps);
}
