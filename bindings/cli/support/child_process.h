// Starts the program: in our place, or as our child when something is to be done after its end.
#pragma once

#include <string>
#include <vector>

#include "bindings/cli/run/launch_environment.h"

namespace optile::cli {

inline constexpr int kOwnFailure = 125;
inline constexpr int kCannotExecute = 126;
inline constexpr int kNotFound = 127;

// What becomes of our environment in the program's: first the removals, then what is set.
struct Changes {
  std::vector<std::string> removed;
  Variables set;
  bool ends_with_us = false;  // of run_program(): SIGTERM where this process is killed
};

// Never returns when it succeeds; else the exit code, with the reason on stderr.
int exec_program(const std::vector<std::string>& command, const Changes& changes);

// Runs the program as a child in our process group and terminal. Signals that reach us are passed
// on; a stop stops us too. Returns the wait status.
struct ChildEnd {
  bool started = false;
  int exit_code = kOwnFailure;  // when it was not started
  int wait_status = 0;
  int interrupted = 0;  // SIGINT, SIGQUIT, SIGTERM or SIGHUP, whichever reached us last; 0 = none
};
ChildEnd run_program(const std::vector<std::string>& command, const Changes& changes);

// From another thread, to the program of run_program(). False: none runs.
bool signal_program(int number);

// Ends this process as the child ended: same exit code, or the same signal.
[[noreturn]] void end_like(int wait_status);

// As exec wants them: pointers into `command`, which has to live as long, and a null at the end.
std::vector<char*> argument_vector(const std::vector<std::string>& command);

}  // namespace optile::cli
