#include "bindings/cli/support/output_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "tests/cli/fixtures/files.h"

namespace optile::cli {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class OutputFileTest : public testing::Test {
 protected:
  long files() const {
    return std::distance(fs::directory_iterator(folder_.path()), fs::directory_iterator());
  }
  TemporaryDirectory folder_;
  const std::string path_ = folder_ / "answer";
};

TEST_F(OutputFileTest, ReplacesFileWithoutLeftovers) {
  EXPECT_TRUE(may_be_written(path_).ok());
  EXPECT_EQ(files(), 0) << "asking changes nothing";
  ASSERT_TRUE(write_output(path_, std::string(10000, 'x')).ok());
  EXPECT_TRUE(may_be_written(path_).ok());
  ASSERT_TRUE(write_output(path_, "new").ok());
  EXPECT_EQ(read_file(path_), "new");
  EXPECT_EQ(files(), 1);
}

TEST_F(OutputFileTest, PreservesLinksAndCreatesTheirTargets) {
  fs::create_symlink(folder_ / "real", path_);
  EXPECT_TRUE(may_be_written(path_).ok());
  ASSERT_TRUE(write_output(path_, "new").ok());
  EXPECT_TRUE(fs::is_symlink(path_));
  EXPECT_EQ(read_file(folder_ / "real"), "new");
  fs::remove(path_);
  fs::create_symlink(folder_ / "no/such/real", path_);
  EXPECT_FALSE(may_be_written(path_).ok());
  EXPECT_FALSE(write_output(path_, "new").ok());
}

TEST_F(OutputFileTest, AcceptsPipesAndDevices) {
  EXPECT_TRUE(may_be_written("/dev/null").ok());
  EXPECT_TRUE(write_output("/dev/null", "new").ok());
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  EXPECT_TRUE(may_be_written(path_).ok()) << "and asking does not wait for a reader";
}

TEST_F(OutputFileTest, ReportsUnwritablePathsBeforeAndDuringWrite) {
  const std::string nowhere = folder_ / "no/such/folder/answer";
  const std::string below_a_file = write_file(folder_ / "file", "old") + "/answer";
  for (const std::string& path : {nowhere, below_a_file, folder_.path()}) {
    EXPECT_THAT(may_be_written(path).message(), HasSubstr(path + " cannot be written: "));
    EXPECT_THAT(write_output(path, "new").message(), HasSubstr(path + " cannot be written: "));
  }
  EXPECT_EQ(read_file(folder_ / "file"), "old");
}

TEST_F(OutputFileTest, ReportsFullDisk) {
  EXPECT_THAT(write_output("/dev/full", "new").message(), HasSubstr("No space left"));
}

// Root may write everywhere, and is somebody else here.
TEST_F(OutputFileTest, ReportsReadOnlyFolderBeforeWrite) {
  ASSERT_EQ(chmod(folder_.path().c_str(), 0555), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const bool nobody = geteuid() != 0 || setuid(65534) == 0;
    const base::Status may = may_be_written(path_);
    const bool said = may.message().find("Permission denied") != std::string::npos;
    _exit(nobody && said ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  ASSERT_EQ(chmod(folder_.path().c_str(), 0755), 0);
}

}  // namespace
}  // namespace optile::cli
