#include "daemon/transport/peer_processes.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/daemon/fixtures/temporary_directory.h"

namespace optile::daemon {
namespace {

class PeerProcessesTest : public testing::Test {
 protected:
  PeerProcessesTest() : proc_(directory_.path()) {
    std::filesystem::create_symlink(std::to_string(getpid()), directory_ / "self");
    std::filesystem::create_directory(directory_ / "4711");
    std::ofstream(directory_ / "4711/status")
        << "Name:\ttrain\nUmask:\t0022\nUid:\t1000\t1001\t1000\t1000\nGid:\t7\t7\t7\t7\n";
  }
  std::string obstacle(int pid, unsigned uid) const {
    AttachRequest attach_request;
    attach_request.pid = pid;
    attach_request.uid = uid;
    return proc_.obstacle(attach_request);
  }
  TemporaryDirectory directory_;
  PeerProcesses proc_;
};

TEST_F(PeerProcessesTest, AcceptsVisibleProcessOfItsUser) {
  EXPECT_EQ(obstacle(4711, 1000), "");
  EXPECT_EQ(obstacle(4711, 1001), "") << "one of its numbers is enough";
}

// fault: F37
TEST_F(PeerProcessesTest, RejectsProcessInAnotherPidNamespace) {
  EXPECT_NE(obstacle(0, 1000).find("another pid namespace"), std::string::npos);
}

// A connection outlives the process that made it; its pid may be anybody's by now.
// fault: F38
TEST_F(PeerProcessesTest, RejectsProcessOfAnotherUser) {
  EXPECT_NE(obstacle(4711, 7).find("not of the user"), std::string::npos);
}

TEST_F(PeerProcessesTest, RejectsInvisibleProcess) {
  EXPECT_NE(obstacle(4712, 1000).find("may not see"), std::string::npos);
}

// fault: F37
TEST_F(PeerProcessesTest, RejectsProcOfAnotherNamespace) {
  std::filesystem::remove(directory_ / "self");
  EXPECT_NE(obstacle(4711, 1000).find("shows another"), std::string::npos);
  std::filesystem::create_symlink("1", directory_ / "self");
  EXPECT_NE(obstacle(4711, 1000).find("shows another"), std::string::npos);
}

TEST(PeerProcesses, AcceptsOwnProcess) {
  AttachRequest attach_request;
  attach_request.pid = getpid();
  attach_request.uid = geteuid();
  EXPECT_EQ(PeerProcesses().obstacle(attach_request), "");
}

}  // namespace
}  // namespace optile::daemon
