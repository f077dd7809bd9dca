// What an earlier daemon wrote down is believed as a whole or not at all.
#include "daemon/support/kept_entries.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <vector>

#include "tests/daemon/fixtures/temporary_directory.h"

namespace optile::daemon {
namespace {

class KeptEntriesTest : public testing::Test {
 protected:
  // Numbers only.
  bool read() {
    numbers_.clear();
    return read_kept_entries(
        file_, [this](const nlohmann::json& one) { numbers_.push_back(one.get<int>()); });
  }
  void write(const std::string& text) { std::ofstream(file_) << text; }

  TemporaryDirectory folder_;
  std::string file_ = folder_ / "kept.json";
  std::vector<int> numbers_;
};

TEST_F(KeptEntriesTest, EntriesAreReadInOrder) {
  write("[3, 1, 2]");
  EXPECT_TRUE(read());
  EXPECT_EQ(numbers_, (std::vector<int>{3, 1, 2}));
}

TEST_F(KeptEntriesTest, MissingOrMalformedFileHasNoEntries) {
  EXPECT_TRUE(read()) << "no file";
  for (const char* text : {"", "{", "{\"a\": 1}", "7", "[1, 2"}) {
    write(text);
    EXPECT_TRUE(read()) << text;
    EXPECT_TRUE(numbers_.empty()) << text;
  }
}

TEST_F(KeptEntriesTest, OneInvalidEntryFailsWholeRead) {
  write(R"([1, "two", 3])");
  EXPECT_FALSE(read());
}

TEST_F(KeptEntriesTest, SymlinkIsIgnored) {
  std::ofstream(folder_ / "other.json") << "[1]";
  std::filesystem::create_symlink(folder_ / "other.json", file_);
  EXPECT_TRUE(read());
  EXPECT_TRUE(numbers_.empty());
}

}  // namespace
}  // namespace optile::daemon
