// Processes that a control group keeps from running look asleep.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "daemon/process/process_entry.h"
#include "tests/daemon/fixtures/temporary_directory.h"

namespace optile::daemon {
namespace {

class FrozenProcess : public testing::Test {
 protected:
  void write(const std::string& path, const std::string& text) {
    const std::filesystem::path file = root_ / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  bool frozen() const { return is_frozen(77, root_.path()); }

  TemporaryDirectory root_;
};

TEST_F(FrozenProcess, DetectsCgroupV1Freezer) {
  write("proc/77/cgroup", "4:memory:/other\n6:freezer:/docker/abc\n");
  write("sys/fs/cgroup/freezer/other/freezer.state", "FROZEN\n");
  write("sys/fs/cgroup/freezer/docker/abc/freezer.state", "THAWED\n");
  EXPECT_FALSE(frozen());
  write("sys/fs/cgroup/freezer/docker/abc/freezer.state", "FREEZING\n");
  EXPECT_TRUE(frozen());
  write("sys/fs/cgroup/freezer/docker/abc/freezer.state", "FROZEN\n");
  EXPECT_TRUE(frozen());
}

TEST_F(FrozenProcess, DetectsCgroupV2Freeze) {
  write("proc/77/cgroup", "0::/user.slice/job.scope\n");
  write("sys/fs/cgroup/user.slice/job.scope/cgroup.freeze", "0\n");
  write("sys/fs/cgroup/user.slice/job.scope/cgroup.events", "populated 1\nfrozen 0\n");
  EXPECT_FALSE(frozen());
  write("sys/fs/cgroup/user.slice/job.scope/cgroup.events", "populated 1\nfrozen 1\n");
  EXPECT_TRUE(frozen()) << "by a group that cannot be seen";
  write("sys/fs/cgroup/user.slice/job.scope/cgroup.events", "populated 1\nfrozen 0\n");
  write("sys/fs/cgroup/user.slice/cgroup.freeze", "1\n");
  EXPECT_TRUE(frozen()) << "some thread is still in the kernel";
}

TEST_F(FrozenProcess, UnreadableStateIsNotFrozen) {
  EXPECT_FALSE(frozen());
  write("proc/77/cgroup", "0::/\n6:freezer:/\n");
  EXPECT_FALSE(frozen());
}

}  // namespace
}  // namespace optile::daemon
