#include "bindings/cli/run/library_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/fixtures/files.h"

namespace optile::cli {
namespace {

namespace fs = std::filesystem;

class LibrarySearchTest : public testing::Test {
 protected:
  std::string library(const std::string& name) { return write_file(root_ / name, "x"); }

  TemporaryDirectory root_;
};

TEST_F(LibrarySearchTest, FirstFolderOfPathWins) {
  const std::string second = library("b/libx.so.1");
  const LibrarySearch behind((root_ / "a") + ":" + (root_ / "b"));
  EXPECT_EQ(behind.find("libx.so.1"), fs::canonical(second));
  const std::string first = library("a/libx.so.1");
  EXPECT_EQ(behind.find("libx.so.1"), fs::canonical(first));
}

TEST_F(LibrarySearchTest, SearchesPathBeforeDistribution) {
  const std::string ours = library("a/libc.so.6");
  EXPECT_EQ(LibrarySearch(root_ / "a").find("libc.so.6"), fs::canonical(ours));
  const std::string theirs = LibrarySearch("").find("libc.so.6");
  ASSERT_FALSE(theirs.empty());
  EXPECT_NE(theirs, fs::canonical(ours));
  EXPECT_EQ(theirs[0], '/');
}

TEST_F(LibrarySearchTest, ResolvesLinks) {
  const std::string real = library("openblas-pthread/libblas.so.3");
  fs::create_directories(root_ / "links");
  fs::create_symlink(real, root_ / "links/libblas.so.3");
  EXPECT_EQ(LibrarySearch(root_ / "links").find("libblas.so.3"), fs::canonical(real));
}

TEST_F(LibrarySearchTest, SkipsDanglingLinks) {
  fs::create_directories(root_ / "a");
  fs::create_symlink(root_ / "nowhere", root_ / "a/libx.so.1");
  const std::string real = library("b/libx.so.1");
  EXPECT_EQ(LibrarySearch((root_ / "a") + ":" + (root_ / "b")).find("libx.so.1"),
            fs::canonical(real));
}

TEST_F(LibrarySearchTest, ReturnsNothingForUnknownLibrary) {
  EXPECT_EQ(LibrarySearch("").find("libno-such-library.so.7"), "");
  // Empty parts and folders that do not exist are passed over.
  EXPECT_EQ(LibrarySearch("::/no/such/folder:").find("libno-such-library.so.7"), "");
}

}  // namespace
}  // namespace optile::cli
