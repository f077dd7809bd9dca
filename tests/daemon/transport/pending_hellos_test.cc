#include "daemon/transport/pending_hellos.h"

#include <gtest/gtest.h>

#include "tests/daemon/fixtures/accounts.h"

namespace optile::daemon {
namespace {

constexpr unsigned kRoot = 0;
constexpr std::size_t kPlenty = 1 << 20;

std::size_t add_all(PendingHellos& pending, unsigned uid) {
  std::size_t added = 0;
  while (pending.add(uid)) ++added;
  return added;
}

TEST(PendingHellos, AdmitsThousandAtOnce) {
  PendingHellos pending(kPlenty, false);
  EXPECT_EQ(add_all(pending, kAnna), PendingHellos::kMost);
  EXPECT_GE(PendingHellos::kMost, 1000u);
  EXPECT_EQ(pending.count(), PendingHellos::kMost);
}

TEST(PendingHellos, LimitIsFractionOfDescriptorLimit) {
  EXPECT_EQ(PendingHellos(1024, false).most(), 256u);
  EXPECT_EQ(PendingHellos(4096, false).most(), 1024u);
  EXPECT_EQ(PendingHellos(0, false).most(), PendingHellos::kFewest);
}

// fault: F13
TEST(PendingHellos, OneUserLeavesRoomForOthers) {
  PendingHellos pending(1024, true);
  EXPECT_EQ(add_all(pending, kAnna), 192u);
  EXPECT_EQ(add_all(pending, kBert), 64u);
  EXPECT_EQ(pending.count(), pending.most());
  pending.remove(kAnna);
  EXPECT_TRUE(pending.add(kBert)) << "whoever comes first";
}

TEST(PendingHellos, RootHasNoPerUserLimit) {
  PendingHellos pending(1024, true);
  EXPECT_EQ(add_all(pending, kRoot), pending.most());
}

TEST(PendingHellos, RemovingUnknownUserChangesNothing) {
  PendingHellos pending(1024, true);
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
