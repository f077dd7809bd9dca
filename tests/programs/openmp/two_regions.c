/* Two OpenMP regions that take turns: one with much to do, one with next to nothing. What they
 * compute is the same whatever the size of their teams, and is printed; the sizes go into the file
 * that the first argument names, a line for each region. The second argument is how many steps.
 * A third one names a plugin whose region is opened in each step too and has the third line; with
 * TWO_REGIONS_DEEP set, what it needs is looked for in its own libraries first.
 * Like most programs it neither asks for nor sets the number of threads. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kMostThreads = 64, kLarge = 240000, kSmall = 64, kSmallEach = 2 };

extern int omp_get_num_threads(void);

static uint32_t large[kLarge];
static uint32_t small[kSmall];
static long teams[3][kMostThreads + 1];
static int (*plugin_team)(void);

static void note(int region, int size) {
  teams[region][size < kMostThreads ? size : kMostThreads]++;
}

static void count(int region) {
  note(region, omp_get_num_threads());
}

static uint32_t mix(uint32_t word) {
  word ^= word >> 16;
  word *= UINT32_C(0x7feb352d);
  word ^= word >> 15;
  word *= UINT32_C(0x846ca68b);
  return word ^ (word >> 16);
}

static void much(void) {
#pragma omp parallel
  {
#pragma omp master
    count(0);
#pragma omp for schedule(static)
    for (int i = 0; i < kLarge; i++) large[i] = mix(mix(mix(large[i] + (uint32_t)i)));
  }
}

static void little(void) {
#pragma omp parallel
  {
#pragma omp master
    count(1);
#pragma omp for schedule(static)
    for (int i = 0; i < kSmall; i++) small[i] = mix(small[i] ^ large[i]);
  }
}

static int write_teams(const char* path) {
  FILE* file = fopen(path, "w");
  if (file == NULL) return 2;
  for (int region = 0; region < (plugin_team == NULL ? 2 : 3); region++) {
    for (int size = 1; size <= kMostThreads; size++) {
      if (teams[region][size] != 0) fprintf(file, "%d:%ld ", size, teams[region][size]);
    }
    fprintf(file, "\n");
  }
  return fclose(file) == 0 ? 0 : 2;
}

static int open_plugin(const char* path) {
  const int how = getenv("TWO_REGIONS_DEEP") != NULL ? RTLD_NOW | RTLD_DEEPBIND : RTLD_LAZY;
  void* plugin = dlopen(path, how | RTLD_LOCAL);
  void* team = plugin == NULL ? NULL : dlsym(plugin, "plugin_team");
  memcpy(&plugin_team, &team, sizeof team);
  return team != NULL;
}

int main(int words, char** word) {
  if (words < 3) return 2;
  if (words > 3 && !open_plugin(word[3])) return 2;
  const long steps = strtol(word[2], NULL, 10);
  for (long step = 0; step < steps; step++) {
    much();
    for (int i = 0; i < kSmallEach; i++) little();
    if (plugin_team != NULL) note(2, plugin_team());
  }
  uint32_t sum = 0;
  for (int i = 0; i < kLarge; i++) sum = mix(sum + large[i]);
  for (int i = 0; i < kSmall; i++) sum = mix(sum + small[i]);
  printf("two regions: %ld steps, sum %08" PRIx32 "\n", steps, sum);
  return write_teams(word[1]);
}
