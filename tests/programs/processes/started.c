/* Says how it was started. Built several times: as a plain program, with AddressSanitizer, and
 * where there is a compiler for it with musl. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char* or_none(const char* name) {
  const char* value = getenv(name);
  return value == NULL ? "(none)" : value;
}

int main(int argc, char** argv) {
  sigset_t blocked;
  sigprocmask(SIG_BLOCK, NULL, &blocked);
  for (int i = 1; i < argc; i++) printf("[%s] ", argv[i]);
  printf("MARK %s, LD_PRELOAD %s, input %s, %s, %s\n", or_none("MARK"), or_none("LD_PRELOAD"),
         lseek(0, 0, SEEK_CUR) == -1 && write(0, "", 0) == -1 ? "closed" : "open",
         getpgrp() == getpid() ? "a group of its own" : "in a group",
         sigismember(&blocked, SIGUSR1) ? "USR1 blocked" : "nothing blocked");
  return argc == 2 ? atoi(argv[1]) : 0;
}
