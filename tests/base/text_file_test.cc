#include "base/text_file.h"

#include <gtest/gtest.h>

namespace optile::base {
namespace {

TEST(CpuList, ReadsTheKernelsFormat) {
  EXPECT_EQ(parse_cpu_list("0-3,8\n"), (std::vector<int>{0, 1, 2, 3, 8}));
  EXPECT_EQ(parse_cpu_list("5"), (std::vector<int>{5}));
  EXPECT_TRUE(parse_cpu_list("").empty());
}

TEST(CpuList, StopsAtWhatIsMalformed) {
  EXPECT_EQ(parse_cpu_list("1,x"), (std::vector<int>{1}));
  EXPECT_TRUE(parse_cpu_list("3-1").empty());
  EXPECT_TRUE(parse_cpu_list("0-99999999").empty());
  EXPECT_TRUE(parse_cpu_list("-4").empty());
}

TEST(CpuList, TheSameRangeAgainAndAgainEnds) {
  std::string text = "0-65535";
  for (int i = 0; i < 1000; ++i) text += ",0-65535";
  EXPECT_LE(parse_cpu_list(text).size(), std::size_t{2} * 65536);
}

TEST(TextFile, MissingIsNothing) {
  EXPECT_FALSE(read_text_file("/nonexistent/file").has_value());
  EXPECT_TRUE(read_text_file("/proc/self/status").has_value());
}

}  // namespace
}  // namespace optile::base
