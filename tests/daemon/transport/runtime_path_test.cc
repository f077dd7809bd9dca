#include "base/runtime_path.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/daemon/fixtures/temporary_directory.h"

namespace optile::base {
namespace {

using daemon::TemporaryDirectory;

TEST(RuntimePath, PrefersVariableThenSessionThenTemporaryDirectory) {
  const TemporaryDirectory directory;
  RuntimeEnvironment environment;
  environment.uid = geteuid();
  environment.temporary = "/var/empty";
  const std::string fallback = "/var/empty/optile-" + std::to_string(geteuid()) + "/optiled.sock";
  EXPECT_EQ(default_socket_path(environment), fallback);
  environment.xdg_runtime_dir = directory / "missing";  // set but not there
  EXPECT_EQ(default_socket_path(environment), fallback);
  environment.xdg_runtime_dir = directory.path();
  EXPECT_EQ(default_socket_path(environment), directory.path() + "/optile/optiled.sock");
  environment.uid = geteuid() + 1;  // somebody else's
  EXPECT_NE(default_socket_path(environment), directory.path() + "/optile/optiled.sock");
  environment.socket = "/else/where.sock";
  EXPECT_EQ(default_socket_path(environment), "/else/where.sock");
}

TEST(RuntimePath, CreatesPrivateDirectoryAndRejectsOthers) {
  const TemporaryDirectory directory;
  const std::string path = directory / "optile";
  ASSERT_TRUE(ensure_private_directory(path).ok());
  ASSERT_TRUE(ensure_private_directory(path).ok());  // again
  struct stat found {};
  stat(path.c_str(), &found);
  EXPECT_EQ(found.st_mode & 0777, 0700u);
  chmod(path.c_str(), 0755);
  EXPECT_FALSE(ensure_private_directory(path).ok());
  ASSERT_EQ(symlink(path.c_str(), (directory / "link").c_str()), 0);
  EXPECT_FALSE(ensure_private_directory(directory / "link").ok());
  EXPECT_FALSE(ensure_private_directory(directory / "no/parent").ok());
}

TEST(RuntimePath, RejectsLongPathsWithTheirLength) {
  EXPECT_TRUE(check_socket_path(std::string(100, 'x'), 7).ok());
  const Status status = check_socket_path(std::string(101, 'x'), 7);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.message().find("101"), std::string::npos);
  EXPECT_FALSE(check_socket_path("", 7).ok());
}

TEST(RuntimePath, FindsParentDirectory) {
  EXPECT_EQ(parent_directory("/a/b"), "/a");
  EXPECT_EQ(parent_directory("/a"), "/");
  EXPECT_EQ(parent_directory("a"), ".");
}

}  // namespace
}  // namespace optile::base
