/* Forks once its own thread has a team, and opens a region of the full width in the child: under
 * GCC's runtime that waits for threads that stayed with the parent. A child that hangs is ended by
 * its own alarm, which is a failure. With `bare` the program only says whether it would hang. */
#include <omp.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/programs/processes/region_sum.h"

enum { kChildren = 5, kHangSeconds = 30 };

static int child_status(unsigned seconds) {
  fflush(stdout);
  const pid_t child = fork();
  if (child < 0) return 2;
  if (child == 0) {
    alarm(seconds);
    for (int round = 0; round < 3; round++) {
      if (sum() != kExpected) _exit(1);
    }
    _exit(0);
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child) return 2;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 3;
}

int main(int argc, char** argv) {
  const int own = omp_get_max_threads();
  int failed = sum() != kExpected;
  if (argc > 1 && strcmp(argv[1], "bare") == 0) {
    printf("the child %s\n", child_status(2) == 0 ? "went on" : "hung");
    return 0;
  }
  for (int i = 0; i < kChildren; i++) {
    failed += child_status(kHangSeconds) != 0;
    failed += sum() != kExpected;
    failed += omp_get_max_threads() != own;
  }
  printf("fork with a team: %d children, %d failures\n", kChildren, failed);
  return failed == 0 ? 0 : 1;
}
