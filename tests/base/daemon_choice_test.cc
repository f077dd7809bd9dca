#include "base/daemon_choice.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "base/unique_fd.h"

namespace optile::base {
namespace {

RuntimeEnvironment environment() {
  RuntimeEnvironment made;
  made.system_socket = "/run/optile/optiled.sock";
  made.temporary = "/somewhere";
  made.uid = 1000;
  return made;
}

std::function<int(const std::string&)> answers(int error) {
  return [error](const std::string&) { return error; };
}

constexpr const char* kOwn = "/somewhere/optile-1000/optiled.sock";

TEST(DaemonChoice, PrefersNamedSocketOverEnvironment) {
  RuntimeEnvironment said = environment();
  said.socket = "/said.sock";
  EXPECT_EQ(choose_daemon(said, "", answers(0)).socket, "/said.sock");
  const DaemonChoice named = choose_daemon(said, "/named.sock", answers(0));
  EXPECT_EQ(named.socket, "/named.sock");
  EXPECT_FALSE(named.system);
  EXPECT_TRUE(choose_daemon(said, said.system_socket, answers(ENOENT)).system);
}

TEST(DaemonChoice, UsesSystemDaemonWhenItAnswers) {
  const DaemonChoice choice = choose_daemon(environment(), "", answers(0));
  EXPECT_EQ(choice.socket, "/run/optile/optiled.sock");
  EXPECT_TRUE(choice.system);
  EXPECT_EQ(choice.obstacle, "");
}

TEST(DaemonChoice, FallsBackToUserDaemonWhenSystemFails) {
  for (const int error : {ENOENT, ECONNREFUSED, EACCES}) {
    const DaemonChoice choice = choose_daemon(environment(), "", answers(error));
    EXPECT_EQ(choice.socket, kOwn);
    EXPECT_FALSE(choice.system);
    EXPECT_EQ(choice.obstacle.empty(), error != EACCES) << choice.obstacle;
  }
}

TEST(DaemonChoice, TryConnectSucceedsOnlyWithListener) {
  char folder[] = "/tmp/optile-choice-XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  const std::string path = std::string(folder) + "/s";
  EXPECT_EQ(try_connect(path), ENOENT);
  UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(try_connect(path), ECONNREFUSED);
  ASSERT_EQ(listen(fd.get(), 4), 0);
  EXPECT_EQ(try_connect(path), 0);
  unlink(path.c_str());
  rmdir(folder);
}

}  // namespace
}  // namespace optile::base
