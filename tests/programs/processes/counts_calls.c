// Runs a command and prints how many system calls its first process made, until it ended, and how
// many of them before it became the program that is named: COUNTED PROGRAM COMMAND...
// Nothing else is traced: what it forks runs free.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

static int is_now(pid_t child, const char* program) {
  char link[64];
  char path[4096];
  snprintf(link, sizeof link, "/proc/%d/exe", (int)child);
  const ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = '\0';
  return strcmp(path, program) == 0;
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const pid_t child = fork();
  if (child == 0) {
    ptrace(PTRACE_TRACEME, 0, 0, 0);
    raise(SIGSTOP);
    execvp(argv[2], argv + 2);
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ptrace(PTRACE_SETOPTIONS, child, 0,
         PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL);
  long stops = 0;
  long before = -1;
  int signal_number = 0;
  while (ptrace(PTRACE_SYSCALL, child, 0, signal_number) == 0 && waitpid(child, &status, 0) > 0) {
    if (!WIFSTOPPED(status)) break;
    signal_number = 0;
    if (WSTOPSIG(status) == (SIGTRAP | 0x80)) {
      ++stops;
    } else if (status >> 8 == (SIGTRAP | (PTRACE_EVENT_EXEC << 8))) {
      if (before < 0 && is_now(child, argv[1])) before = stops / 2;
    } else {
      signal_number = WSTOPSIG(status);
    }
  }
  printf("%ld %ld\n", before, stops / 2);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
