/* Starts another program in the way that the first word names:
 *     starts WAY PROGRAM [ARGUMENT]...
 * and ends as that one ended, or says with which error it could not be started. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kSmallStack = 48 * 1024, kVforks = 50 };

static char* mark[] = {"MARK=given", NULL, NULL, NULL};

/* An environment of its own, with what the shim is preloaded by in it. */
static char** given(void) {
  static char preload[4200];
  static char options[256];
  const char* list = getenv("LD_PRELOAD");
  const char* asan = getenv("ASAN_OPTIONS");
  int count = 1;
  if (list != NULL) {
    snprintf(preload, sizeof preload, "LD_PRELOAD=%s", list);
    mark[count++] = preload;
  }
  if (asan != NULL) {
    snprintf(options, sizeof options, "ASAN_OPTIONS=%s", asan);
    mark[count++] = options;
  }
  return mark;
}

static int is(const char* way, const char* wanted) {
  return strcmp(way, wanted) == 0;
}

static void replace(const char* way, char** words) {
  const char* program = words[0];
  char** environment = given();
  if (is(way, "execv")) execv(program, words);
  if (is(way, "execv_openmp") && omp_get_max_threads() > 0) execv(program, words);
  if (is(way, "execve")) execve(program, words, environment);
  if (is(way, "execvp")) execvp(program, words);
  if (is(way, "execvpe")) execvpe(program, words, environment);
  if (is(way, "execl")) execl(program, program, "one", "", "three words here", (char*)NULL);
  if (is(way, "execl0")) execl(program, program, (char*)NULL);
  if (is(way, "execlp")) execlp(program, program, "one", "", "1", "2", "3", "4", "5", "6", NULL);
  if (is(way, "execle")) execle(program, program, "one", "two", (char*)NULL, environment);
  if (is(way, "fexecve")) fexecve(open(program, O_RDONLY | O_CLOEXEC), words, environment);
  if (is(way, "fexecve_path")) fexecve(open(program, O_PATH | O_CLOEXEC), words, environment);
  if (is(way, "execveat")) execveat(AT_FDCWD, program, words, environment, 0);
  if (is(way, "execveat_link")) {
    execveat(AT_FDCWD, program, words, environment, AT_SYMLINK_NOFOLLOW);
  }
  if (is(way, "execveat_empty")) {
    execveat(open(program, O_PATH | O_CLOEXEC), "", words, environment, AT_EMPTY_PATH);
  }
}

static int end_of(pid_t child) {
  int status = 0;
  if (waitpid(child, &status, 0) != child) return 101;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* With something in every argument: a group of its own, a signal blocked, no standard input. */
static int spawn(int in_path, char** words) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  sigset_t blocked;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGUSR1);
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addclose(&actions, 0);
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setsigmask(&attributes, &blocked);
  pid_t child = 0;
  errno = 77;
  const int error = in_path ? posix_spawnp(&child, words[0], &actions, &attributes, words, given())
                            : posix_spawn(&child, words[0], &actions, &attributes, words, given());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error == 0) return end_of(child);
  printf("not spawned: %s, errno %d\n", strerror(error), errno);
  return 100;
}

static int vfork_once(char** words) {
  const pid_t child = vfork();
  if (child == 0) {
    execvp("no-such-program-anywhere", words);
    execvp(words[0], words);
    _exit(errno == ENOENT ? 102 : 103);
  }
  return end_of(child);
}

/* The children borrow this thread's stack; nothing of theirs may be left in our memory. */
static int vfork_often(char** words) {
  const char* const preload = getenv("LD_PRELOAD");
  char** const before = environ;
  char* first[3] = {environ[0], environ[1], environ[2]};
  int worst = 0;
  for (int i = 0; i < kVforks; i++) {
    const int end = vfork_once(words);
    if (end > worst) worst = end;
  }
  const int same = environ == before && getenv("LD_PRELOAD") == preload &&
                   memcmp(first, environ, sizeof first) == 0;
  printf("%s, worst end %d\n", same ? "nothing left behind" : "the environment changed", worst);
  return worst;
}

static void* vfork_on_thread(void* words) {
  static int end;
  end = vfork_often(words);
  return &end;
}

static int vfork_on_small_stack(char** words) {
  pthread_attr_t attributes;
  pthread_t thread;
  void* end = NULL;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kSmallStack);
  if (pthread_create(&thread, &attributes, vfork_on_thread, words) != 0) return 104;
  pthread_join(thread, &end);
  return *(int*)end;
}

static int by_popen(const char* program) {
  char line[4096];
  FILE* out = popen(program, "r");
  if (out == NULL) return 105;
  while (fgets(line, sizeof line, out) != NULL) fputs(line, stdout);
  return WEXITSTATUS(pclose(out));
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const char* way = argv[1];
  char** words = argv + 2;
  setvbuf(stdout, NULL, _IONBF, 0);
  if (is(way, "posix_spawn")) return spawn(0, words);
  if (is(way, "posix_spawnp")) return spawn(1, words);
  if (is(way, "vfork")) return vfork_often(words);
  if (is(way, "vfork_small_stack")) return vfork_on_small_stack(words);
  if (is(way, "system")) return WEXITSTATUS(system(words[0]));
  if (is(way, "popen")) return by_popen(words[0]);
  errno = 0;
  replace(way, words);
  printf("%s: %s\n", way, strerror(errno));
  return 100;
}
