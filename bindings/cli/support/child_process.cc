#include "bindings/cli/support/child_process.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace optile::cli {
namespace {

// Terminal signals (INT, QUIT, TSTP) reach the child by itself, being in the foreground group; all
// others that are sent to us alone are handed on.
constexpr int kHandedOn[] = {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGWINCH, SIGALRM};
constexpr int kFromTerminal[] = {SIGINT, SIGQUIT};

volatile pid_t child_pid = 0;
volatile sig_atomic_t interruption = 0;

// A terminal's Ctrl-C comes from the kernel (si_code > 0) and has reached the child already; the
// same signal from kill() was meant for the program and only reached us.
void hand_on(int number, siginfo_t* from, void* /*context*/) {
  const bool from_terminal = (number == SIGINT || number == SIGQUIT) && from->si_code > 0;
  if (number == SIGINT || number == SIGQUIT || number == SIGTERM || number == SIGHUP) {
    interruption = number;
  }
  if (child_pid > 0 && !from_terminal) kill(child_pid, number);
}

void handle_signals() {
  struct sigaction action = {};
  action.sa_sigaction = hand_on;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigemptyset(&action.sa_mask);
  struct sigaction before = {};
  for (const int number : kHandedOn) {
    sigaction(number, nullptr, &before);
    if (before.sa_handler != SIG_IGN) sigaction(number, &action, nullptr);
  }
  for (const int number : kFromTerminal) sigaction(number, &action, nullptr);
}

}  // namespace

std::vector<char*> argument_vector(const std::vector<std::string>& command) {
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  return arguments;
}

int exec_program(const std::vector<std::string>& command, const Changes& changes) {
  for (const std::string& name : changes.removed) unsetenv(name.c_str());
  for (const auto& [name, value] : changes.set) setenv(name.c_str(), value.c_str(), 1);
  const std::vector<char*> arguments = argument_vector(command);
  execvp(arguments[0], arguments.data());
  const int why = errno;
  std::fprintf(stderr, "optile: cannot run %s: %s\n", arguments[0], std::strerror(why));
  return why == ENOENT ? kNotFound : kCannotExecute;
}

ChildEnd run_program(const std::vector<std::string>& command, const Changes& changes) {
  ChildEnd end;
  // Blocked until the handlers know whom to hand signals to; the child gets the old mask back.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &before);
  interruption = 0;
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) {
    sigprocmask(SIG_SETMASK, &before, nullptr);
    std::fprintf(stderr, "optile: cannot start a process: %s\n", std::strerror(errno));
    return end;
  }
  if (child == 0) {
    sigprocmask(SIG_SETMASK, &before, nullptr);
    if (changes.ends_with_us) {
      prctl(PR_SET_PDEATHSIG, SIGTERM);
      if (getppid() != parent) _exit(kOwnFailure);
    }
    _exit(exec_program(command, changes));
  }
  child_pid = child;
  handle_signals();
  sigprocmask(SIG_SETMASK, &before, nullptr);
  for (;;) {
    int status = 0;
    if (waitpid(child, &status, WUNTRACED) < 0) {
      if (errno == EINTR) continue;
      break;
    }
    if (WIFSTOPPED(status)) {
      raise(SIGSTOP);
      kill(child, SIGCONT);
      continue;
    }
    end.started = true;
    end.wait_status = status;
    break;
  }
  child_pid = 0;
  end.interrupted = interruption;
  return end;
}

bool signal_program(int number) {
  const pid_t child = child_pid;
  return child > 0 && kill(child, number) == 0;
}

void end_like(int wait_status) {
  if (WIFSIGNALED(wait_status)) {
    // The core dump, if any, is the program's; ours would only be noise.
    const rlimit no_core = {0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    const int number = WTERMSIG(wait_status);
    signal(number, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    raise(number);
    std::_Exit(128 + number);
  }
  std::_Exit(WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : kOwnFailure);
}

}  // namespace optile::cli
