// A body of a test in a process of its own, where a fake daemon listens on the socket that the
// environment names: the shim attaches once in a process's life.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "tests/daemon/temporary_directory.h"
#include "tests/preload/fake_daemon.h"

namespace optile::test {

// Fails where `body`, called with the daemon in the child, ends it otherwise than by returning.
template <typename Body>
void run_beside_daemon(Body body) {
  const daemon::TemporaryDirectory folder;
  const pid_t child = fork();
  if (child == 0) {
    FakeDaemon daemon(folder.path());
    setenv("OPTILE_SOCKET", daemon.socket_path().c_str(), 1);
    body(daemon);
    std::_Exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status;
}

}  // namespace optile::test
