#include "daemon/client/client_lines.h"

#include <gtest/gtest.h>

namespace optile::daemon {
namespace {

constexpr uint64_t kMillisecond = 1'000'000;
constexpr uint64_t kSecond = 1000 * kMillisecond;

TEST(ClientLines, FewLinesAreWrittenUnchanged) {
  ClientLines lines;
  for (uint64_t i = 0; i < ClientLines::kBurst; ++i) {
    EXPECT_EQ(lines.note(kSecond + i, i, "client attached"), "client attached");
  }
  EXPECT_FALSE(lines.due(10 * kSecond));
}

TEST(ClientLines, ManyLinesAreSummarisedOncePerSecond) {
  ClientLines lines;
  std::size_t written = 0;
  for (uint64_t ms = 0; ms < 60'000; ms += 10) {  // a hundred a second, each comes and leaves
    written += lines.note(ms * kMillisecond, ms, "client attached") ? 1U : 0U;
    written += lines.note((ms + 5) * kMillisecond, ms, "client left") ? 1U : 0U;
    written += lines.due((ms + 6) * kMillisecond) ? 1U : 0U;
  }
  EXPECT_LE(written, 60 + ClientLines::kBurst);
  EXPECT_GE(written, 55u);
}

TEST(ClientLines, SummaryCountsLinesAndQuotesLast) {
  ClientLines lines;
  for (uint64_t i = 0; i < ClientLines::kBurst; ++i) lines.note(0, i, "x");
  EXPECT_FALSE(lines.note(1, 7, "client 7 attached"));
  EXPECT_FALSE(lines.note(2, 8, "client 8 attached"));
  EXPECT_FALSE(lines.note(3, 7, "client 7 left"));
  EXPECT_EQ(lines.due(kSecond + 1), "clients: 3 lines of 2 programs; the last: client 7 left");
  EXPECT_FALSE(lines.due(3 * kSecond));
}

TEST(ClientLines, PendingLineIsWrittenAtEnd) {
  ClientLines lines;
  for (uint64_t i = 0; i < ClientLines::kBurst; ++i) lines.note(0, i, "x");
  EXPECT_FALSE(lines.note(1, 7, "client 7 left"));
  EXPECT_EQ(lines.flush(), "client 7 left");
  EXPECT_FALSE(lines.flush());
}

}  // namespace
}  // namespace optile::daemon
