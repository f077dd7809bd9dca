/* Forks while a team exists, as worker pools do. A child may run code without regions, or regions
 * of one thread, and end; the parent goes on with its regions. An early child, forked before the
 * first region, may open full ones. A last child execs. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kRounds = 20, kCount = 1000 };
static const long kExpected = (long)kCount * (kCount - 1) / 2;

static long sum_full(void) {
  long sum = 0;
#pragma omp parallel for reduction(+ : sum)
  for (int i = 0; i < kCount; i++) sum += i;
  return sum;
}

static long sum_one_thread(void) {
  long sum = 0;
#pragma omp parallel for num_threads(1) reduction(+ : sum)
  for (int i = 0; i < kCount; i++) sum += i;
  return sum;
}

static long sum_serial(void) {
  long sum = 0;
  for (int i = 0; i < kCount; i++) sum += i + omp_get_max_threads() * 0;
  return sum;
}

/* 0 when the child computed the right sum. */
static int child_status(long (*work)(void)) {
  fflush(stdout);
  const pid_t child = fork();
  if (child < 0) return 2;
  if (child == 0) _exit(work() == kExpected ? 0 : 1);
  int status = 0;
  if (waitpid(child, &status, 0) != child) return 2;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 3;
}

static int exec_status(const char* self) {
  fflush(stdout);
  const pid_t child = fork();
  if (child < 0) return 2;
  if (child == 0) {
    execl(self, self, "child", (char*)NULL);
    _exit(2);
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child) return 2;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 3;
}

int main(int argc, char** argv) {
  if (argc > 1) return sum_full() == kExpected ? 0 : 1;
  int failed = 0;
  if (child_status(sum_full) != 0) failed++;
  for (int round = 0; round < kRounds; round++) {
    if (sum_full() != kExpected) failed++;
    if (child_status(sum_serial) != 0) failed++;
    if (child_status(sum_one_thread) != 0) failed++;
    if (sum_full() != kExpected) failed++;
  }
  if (exec_status(argv[0]) != 0) failed++;
  printf("fork: %d rounds, %d failed\n", kRounds, failed);
  return failed == 0 ? 0 : 1;
}
