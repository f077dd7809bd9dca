#include "bindings/cli/support/detached_process.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "bindings/abi/limits.h"
#include "bindings/cli/support/child_process.h"

namespace optile::cli {
namespace {

// The kernel leaves of a mask what the cpuset has.
void take_every_processor() {
  constexpr std::size_t kSets = OPTILE_MAX_CPUS / CPU_SETSIZE;
  cpu_set_t all[kSets] = {};
  for (std::size_t unit = 0; unit < OPTILE_MAX_CPUS; ++unit) CPU_SET_S(unit, sizeof all, all);
  static_cast<void>(sched_setaffinity(0, sizeof all, all));
}

// Those that would end a process that outlives its caller, or take its memory.
void raise_limits() {
  for (const auto resource : {RLIMIT_CPU, RLIMIT_FSIZE, RLIMIT_AS, RLIMIT_DATA}) {
    rlimit limit{};
    if (getrlimit(resource, &limit) != 0) continue;
    limit.rlim_cur = limit.rlim_max;
    static_cast<void>(setrlimit(resource, &limit));
  }
}

[[noreturn]] void become(const std::vector<char*>& arguments, Bounds bounds) {
  setsid();
  if (fork() != 0) _exit(0);
  const int nothing = open("/dev/null", O_RDWR);
  for (int fd = 0; fd < 3; ++fd) dup2(nothing, fd);
  close_range(3, ~0U, 0);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  // Ignored ones outlive exec, unlike handlers.
  for (const int ignorable : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE, SIGCHLD}) {
    signal(ignorable, SIG_DFL);
  }
  for (const char* name : {"LD_PRELOAD", "OMP_NUM_THREADS"}) unsetenv(name);
  setenv(kDetached, "1", 1);
  if (bounds == Bounds::kWidest) {
    take_every_processor();
    raise_limits();
  }
  if (chdir("/") != 0) _exit(1);
  execv(arguments[0], arguments.data());
  _exit(127);
}

}  // namespace

base::Status start_detached(const std::vector<std::string>& command, Bounds bounds) {
  const std::vector<char*> arguments = argument_vector(command);
  const pid_t child = fork();
  if (child < 0) return base::errno_error(command.front() + " cannot be started", errno);
  if (child == 0) become(arguments, bounds);
  int ended = 0;
  while (waitpid(child, &ended, 0) < 0 && errno == EINTR) {
  }
  return {};
}

}  // namespace optile::cli
