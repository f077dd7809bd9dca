/* Forks after regions that had one thread each by an `if` clause, as a server does that sets itself
 * up: there is no team that could stay behind, and a child has all of its threads. */
#include <omp.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kHangSeconds = 30 };

static int team_if(int many) {
  int threads = 0;
#pragma omp parallel reduction(+ : threads) if (many)
  threads += 1;
  return threads;
}

int main(void) {
  const int own = omp_get_max_threads();
  int status = 0;
  if (team_if(0) != 1) return 1;
  const pid_t child = fork();
  if (child == 0) {
    alarm(kHangSeconds);
    _exit(omp_get_max_threads() == own && team_if(1) == own ? 0 : 1);
  }
  const int ended = child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status);
  printf("fork without a team: the child ended with %d\n", ended ? WEXITSTATUS(status) : -1);
  return ended ? WEXITSTATUS(status) : 1;
}
