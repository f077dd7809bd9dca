#include "base/text_file.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace optile::base {
namespace {

TEST(CpuList, ReadsKernelFormat) {
  EXPECT_EQ(parse_cpu_list("0-3,8\n"), (std::vector<int>{0, 1, 2, 3, 8}));
  EXPECT_EQ(parse_cpu_list("5"), (std::vector<int>{5}));
  EXPECT_TRUE(parse_cpu_list("").empty());
}

TEST(CpuList, StopsAtMalformedInput) {
  EXPECT_EQ(parse_cpu_list("1,x"), (std::vector<int>{1}));
  EXPECT_TRUE(parse_cpu_list("3-1").empty());
  EXPECT_TRUE(parse_cpu_list("0-99999999").empty());
  EXPECT_TRUE(parse_cpu_list("-4").empty());
}

TEST(CpuList, LimitsSizeOfRepeatedRanges) {
  std::string text = "0-65535";
  for (int i = 0; i < 1000; ++i) text += ",0-65535";
  EXPECT_LE(parse_cpu_list(text).size(), std::size_t{2} * 65536);
}

TEST(TextFile, MissingFileGivesNoValue) {
  EXPECT_FALSE(read_text_file("/nonexistent/file").has_value());
  EXPECT_TRUE(read_text_file("/proc/self/status").has_value());
}

TEST(TextFile, ReadsAtMostOneMebibyte) {
  std::string name = (std::filesystem::temp_directory_path() / "optile-text-XXXXXX").string();
  const int file = mkstemp(name.data());
  ASSERT_GE(file, 0);
  close(file);
  constexpr std::size_t kMost = std::size_t{1} << 20;
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{4095},
                                 std::size_t{4096}, std::size_t{10000}, kMost, kMost + 1}) {
    std::string text(size, 'x');
    for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>('a' + i % 23);
    std::ofstream(name, std::ios::binary | std::ios::trunc) << text;
    const std::optional<std::string> read = read_text_file(name);
    ASSERT_TRUE(read.has_value()) << size;
    EXPECT_EQ(*read, text.substr(0, kMost)) << size;
  }
  std::filesystem::remove(name);
}

}  // namespace
}  // namespace optile::base
