/* Starts itself again in every way that does not go through a plain fork, between regions: vfork
 * and exec, posix_spawn, system, and in the end exec in place of itself. */
#define _GNU_SOURCE
#include <omp.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/programs/processes/region_sum.h"

static int ended_well(pid_t child) {
  int status = 0;
  return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

static int by_vfork(char* self) {
  char* arguments[] = {self, "child", NULL};
  const pid_t child = vfork();
  if (child == 0) {
    execv(self, arguments);
    _exit(2);
  }
  return ended_well(child);
}

static int by_spawn(char* self) {
  char* arguments[] = {self, "child", NULL};
  pid_t child = 0;
  if (posix_spawn(&child, self, NULL, NULL, arguments, environ) != 0) return 0;
  return ended_well(child);
}

static int by_system(const char* self) {
  char line[4096];
  snprintf(line, sizeof line, "'%s' child", self);
  return system(line) == 0;
}

int main(int argc, char** argv) {
  if (argc > 1 && strcmp(argv[1], "child") == 0) return sum() == kExpected ? 0 : 1;
  if (argc > 1) {
    printf("in place of itself: %s\n", sum() == kExpected ? "right" : "wrong");
    return 0;
  }
  int failed = 0;
  for (int round = 0; round < 3; round++) {
    failed += sum() != kExpected;
    failed += !by_vfork(argv[0]);
    failed += sum() != kExpected;
    failed += !by_spawn(argv[0]);
    failed += !by_system(argv[0]);
    failed += sum() != kExpected;
  }
  printf("spawns: %d failures\n", failed);
  fflush(stdout);
  if (failed != 0) return 1;
  char* arguments[] = {argv[0], "again", NULL};
  execv(argv[0], arguments);
  return 2;
}
