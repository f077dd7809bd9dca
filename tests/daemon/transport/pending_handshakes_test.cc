#include "daemon/transport/pending_handshakes.h"

#include <gtest/gtest.h>

#include "tests/daemon/fixtures/accounts.h"

namespace optile::daemon {
namespace {

constexpr unsigned kRoot = 0;
constexpr std::size_t kPlenty = 1 << 20;

std::size_t add_all(PendingHandshakes& pending, unsigned uid) {
  std::size_t added = 0;
  while (pending.add(uid)) ++added;
  return added;
}

TEST(PendingHandshakes, AdmitsThousandAtOnce) {
  PendingHandshakes pending(kPlenty, false);
  EXPECT_EQ(add_all(pending, kAnna), PendingHandshakes::kMost);
  EXPECT_GE(PendingHandshakes::kMost, 1000u);
  EXPECT_EQ(pending.count(), PendingHandshakes::kMost);
}

TEST(PendingHandshakes, LimitIsFractionOfDescriptorLimit) {
  EXPECT_EQ(PendingHandshakes(1024, false).most(), 256u);
  EXPECT_EQ(PendingHandshakes(4096, false).most(), 1024u);
  EXPECT_EQ(PendingHandshakes(0, false).most(), PendingHandshakes::kFewest);
}

// fault: F13
TEST(PendingHandshakes, OneUserLeavesRoomForOthers) {
  PendingHandshakes pending(1024, true);
  EXPECT_EQ(add_all(pending, kAnna), 192u);
  EXPECT_EQ(add_all(pending, kBert), 64u);
  EXPECT_EQ(pending.count(), pending.most());
  pending.remove(kAnna);
  EXPECT_TRUE(pending.add(kBert)) << "whoever comes first";
}

TEST(PendingHandshakes, RootHasNoPerUserLimit) {
  PendingHandshakes pending(1024, true);
  EXPECT_EQ(add_all(pending, kRoot), pending.most());
}

TEST(PendingHandshakes, RemovingUnknownUserChangesNothing) {
  PendingHandshakes pending(1024, true);
  EXPECT_TRUE(pending.add(kAnna));
  pending.remove(kBert);
  EXPECT_EQ(pending.count(), 1u);
  pending.remove(kAnna);
  pending.remove(kAnna);
  EXPECT_EQ(pending.count(), 0u);
  EXPECT_EQ(add_all(pending, kAnna), pending.most_of_user());
}

}  // namespace
}  // namespace optile::daemon
