#include "bindings/cli/detached_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "bindings/cli/child_process.h"

namespace optile::cli {
namespace {

[[noreturn]] void become(const std::vector<char*>& arguments) {
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
  if (chdir("/") != 0) _exit(1);
  execv(arguments[0], arguments.data());
  _exit(127);
}

}  // namespace

base::Status start_detached(const std::vector<std::string>& command) {
  const std::vector<char*> arguments = argument_vector(command);
  const pid_t child = fork();
  if (child < 0) return base::errno_error(command.front() + " cannot be started", errno);
  if (child == 0) become(arguments);
  int ended = 0;
  while (waitpid(child, &ended, 0) < 0 && errno == EINTR) {
  }
  return {};
}

}  // namespace optile::cli
