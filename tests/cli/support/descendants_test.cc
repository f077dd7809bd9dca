// What is ended of what runs below a process, and what not. Each test has a process of its own,
// since all that runs below it is ended.
#include "bindings/cli/support/descendants.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>

#include "bindings/cli/support/detached_process.h"

namespace optile::cli {
namespace {

// "" = it found nothing wrong.
std::string run_in_child(const std::function<const char*()>& body) {
  int pipe_ends[2];
  if (pipe(pipe_ends) != 0) return "no pipe";
  const pid_t child = fork();
  if (child == 0) {
    const std::string wrong = body();
    const ssize_t written = write(pipe_ends[1], wrong.data(), wrong.size());
    _exit(written < 0 ? 1 : 0);
  }
  close(pipe_ends[1]);
  char text[256];
  const ssize_t got = read(pipe_ends[0], text, sizeof text);
  close(pipe_ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return "the child failed";
  return {text, static_cast<std::size_t>(got < 0 ? 0 : got)};
}

// Of a process in a session of its own that its parent, a shell which has ended, has left behind.
pid_t start_left_behind(const std::string& variable = "") {
  const std::string command =
      variable + " setsid /bin/sh -c 'echo $$; exec sleep 1000 >/dev/null' </dev/null &";
  FILE* const shell = popen(command.c_str(), "r");
  if (shell == nullptr) return 0;
  char line[32] = "";
  const bool read = std::fgets(line, sizeof line, shell) != nullptr;
  pclose(shell);
  return read ? std::atoi(line) : 0;
}

bool lives(pid_t pid) {
  return kill(pid, 0) == 0;
}

TEST(Descendants, WhatWasLeftBehindIsAdoptedAndEnded) {
  EXPECT_EQ("", run_in_child([] {
              adopt_orphans();
              const pid_t left = start_left_behind();
              const pid_t other = start_left_behind();
              if (left <= 0 || other <= 0) return "nothing was started";
              end_descendants(true);
              const bool both_ended = !lives(left) && !lives(other);
              for (const pid_t one : {left, other}) kill(one, SIGKILL);
              return both_ended ? "" : "some are left";
            }));
}

TEST(Descendants, WhatOptileHasDetachedRunsOn) {
  EXPECT_EQ("", run_in_child([] {
              adopt_orphans();
              const pid_t detached = start_left_behind(std::string(kDetached) + "=1");
              if (detached <= 0) return "nothing was started";
              end_descendants(true);
              if (!lives(detached)) return "it was ended";
              kill(detached, SIGKILL);
              return "";
            }));
}

TEST(Descendants, WithoutReapingTheCallerLearnsHowItsChildEnded) {
  EXPECT_EQ("", run_in_child([] {
              const pid_t child = fork();
              if (child == 0) {
                for (;;) pause();
              }
              end_descendants(false);
              int status = 0;
              if (waitpid(child, &status, 0) != child) return "somebody else has waited for it";
              return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL ? "" : "it was not killed";
            }));
}

}  // namespace
}  // namespace optile::cli
