#include "daemon/leases/lease_moves.h"

#include <gtest/gtest.h>

#include <vector>

namespace optile::daemon {
namespace {

constexpr uint64_t kMillisecond = 1'000'000;
constexpr uint64_t kSecond = 1000 * kMillisecond;

TEST(LeaseMoves, WritesMoveAtOnceAfterQuietSecond) {
  LeaseMoves moves;
  EXPECT_EQ(moves.note(5 * kSecond, 1, "client 1 arrived"), "lease: client 1 arrived");
  EXPECT_FALSE(moves.due(7 * kSecond));
  EXPECT_EQ(moves.note(8 * kSecond, 1, "client 1 left"), "lease: client 1 left");
}

TEST(LeaseMoves, SumsUpMovesWithinOneSecond) {
  LeaseMoves moves;
  EXPECT_TRUE(moves.note(0, 1, "a"));
  EXPECT_FALSE(moves.note(10 * kMillisecond, 2, "b"));
  EXPECT_FALSE(moves.note(20 * kMillisecond, 1, "c"));
  EXPECT_FALSE(moves.due(kSecond - 1));
  EXPECT_EQ(moves.due(kSecond), "leases: 2 moves of 2 programs; the last: c");
  EXPECT_FALSE(moves.note(kSecond + 1, 1, "d"));
  EXPECT_EQ(moves.due(2 * kSecond), "lease: d");
}

// Forty programs that pause ten times a second each: 800 moves a second.
TEST(LeaseMoves, WritesAtMostOneLinePerSecond) {
  LeaseMoves moves;
  std::vector<uint64_t> written;
  constexpr int kMoves = 800 * 60;
  for (int i = 0; i < kMoves; ++i) {
    const uint64_t now = static_cast<uint64_t>(i) * kSecond / 800;
    if (moves.note(now, static_cast<uint64_t>(i % 40), "moved")) written.push_back(now);
    if (moves.due(now)) written.push_back(now);
  }
  ASSERT_GE(written.size(), 55u);
  for (std::size_t i = 1; i < written.size(); ++i) {
    EXPECT_GE(written[i], written[i - 1] + kSecond);
  }
}

}  // namespace
}  // namespace optile::daemon
