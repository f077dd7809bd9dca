// Leases of a daemon whose predecessor was killed: what programs were held to is kept for them.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/daemon/fixtures/leases_fixture.h"

namespace optile::daemon {
namespace {

// ---- after the daemon was killed ---------------------------------------------------------------

class LeasesAfterRestartTest : public LeasesTest {
 protected:
  LeasesAfterRestartTest()
      : next_(machine_, whole_budget(machine_), next_clients_,
              {[this](uint64_t client, int, const std::vector<int>& units) {
                 masks_[client] = {units.begin(), units.end()};
               },
               {},
               false,
               [this] {
                 ++reads_;
                 return before_;
               },
               kStart}) {}

  void comes(uint64_t client, milliseconds now) {
    next_.arrive(client, static_cast<int>(client) + 100, 4);
    next_.on_reattach(now);
    goes_on(now);
  }
  void goes_on(milliseconds now) {
    for (const GrantedLease& one : next_.decide(now)) granted_[one.client] = one;
  }
  void a_second_later(milliseconds now) {
    next_.set_budget(whole_budget(machine_), now);
    goes_on(now);
  }

  std::vector<HeldProcess> before_;
  int reads_ = 0;
  ManagedClients next_clients_;
  Leases next_;
};

TEST_F(LeasesAfterRestartTest, FirstReturningClientLeavesOthersTheirCores) {
  before_ = {{101, {2, 3}}, {102, {0, 1}}};
  comes(1, kStart + seconds(1));
  EXPECT_EQ(masks_[1], (std::set<int>{2, 3})) << "the other one runs on the rest";
  EXPECT_EQ(cores(1), 2);
  a_second_later(kStart + seconds(2));
  EXPECT_EQ(masks_[1], (std::set<int>{2, 3}));
  comes(2, kStart + seconds(3));
  EXPECT_EQ(masks_[1], (std::set<int>{2, 3}));
  EXPECT_EQ(masks_[2], (std::set<int>{0, 1}));
  next_.leave(1);
  goes_on(kStart + seconds(4));
  EXPECT_TRUE(masks_[2].empty()) << "it is alone";
}

TEST_F(LeasesAfterRestartTest, ReservationExpiresForMissingClient) {
  before_ = {{101, {2, 3}}, {102, {0, 1}}};
  comes(1, kStart + seconds(1));
  a_second_later(kStart + RestartReservations::kLongest - milliseconds(1));
  EXPECT_EQ(cores(1), 2);
  a_second_later(kStart + RestartReservations::kLongest);
  EXPECT_EQ(cores(1), 4);
  EXPECT_TRUE(masks_[1].empty());
}

TEST_F(LeasesAfterRestartTest, ReservationEndsWithItsProcess) {
  before_ = {{101, {2, 3}}, {102, {0, 1}}};
  comes(1, kStart + seconds(1));
  before_ = {{101, {2, 3}}};
  a_second_later(kStart + seconds(2));
  EXPECT_EQ(cores(1), 4);
}

TEST_F(LeasesAfterRestartTest, NewClientGetsUnreservedCores) {
  before_ = {{101, {3}}, {102, {0, 1}}};
  comes(7, kStart + seconds(1));
  EXPECT_EQ(masks_[7], std::set<int>{2});
  comes(1, kStart + seconds(2));
  EXPECT_EQ(masks_[7].size() + masks_[1].size(), 2u);
  EXPECT_TRUE(masks_[7].contains(2) != masks_[1].contains(2));
}

TEST_F(LeasesAfterRestartTest, TimeSharedClientReturnsToItsCore) {
  before_ = {{101, {1}}, {102, {1}}, {103, {0, 2, 3}}};
  comes(2, kStart + seconds(1));
  EXPECT_EQ(masks_[2], std::set<int>{1});
}

TEST_F(LeasesAfterRestartTest, LentCoresAreReservedForTheirLender) {
  before_ = {{101, {0, 1, 2, 3}}, {102, {2, 3}}};
  comes(1, kStart + seconds(1));
  EXPECT_EQ(masks_[1], (std::set<int>{0, 1}));
  comes(2, kStart + seconds(2));
  EXPECT_EQ(masks_[1], (std::set<int>{0, 1}));
  EXPECT_EQ(masks_[2], (std::set<int>{2, 3}));
}

TEST_F(LeasesAfterRestartTest, LenderReturnsToItsCoresBeforeBorrower) {
  before_ = {{101, {0, 1, 2, 3}}, {102, {2, 3}}};
  comes(2, kStart + seconds(1));
  EXPECT_EQ(masks_[2], (std::set<int>{2, 3}));
}

TEST_F(LeasesAfterRestartTest, NewClientHasNoLeaseWhileAllCoresAreReserved) {
  before_ = {{101, {2, 3}}, {102, {0, 1}}};
  comes(7, kStart + seconds(1));
  EXPECT_FALSE(masks_.contains(7));
  comes(1, kStart + seconds(2));
  a_second_later(kStart + RestartReservations::kLongest);
  EXPECT_EQ(masks_[7].size(), 2u);
  EXPECT_EQ(masks_[1].size(), 2u);
}

// Each of them is looked up in /proc then.
TEST_F(LeasesAfterRestartTest, ReadsHeldProcessesOnceForManyReattaches) {
  for (int pid = 101; pid <= 300; ++pid) before_.push_back({pid, {pid % 4}});
  for (uint64_t client = 1; client <= 199; ++client) {
    next_.arrive(client, static_cast<int>(client) + 100, 4);
    next_.set_budget(whole_budget(machine_), kStart + milliseconds(client));
    next_.on_reattach(kStart + milliseconds(client));
  }
  EXPECT_EQ(reads_, 1);
  goes_on(kStart + milliseconds(200));
  a_second_later(kStart + seconds(1));
  EXPECT_EQ(reads_, 2) << "whether the last one still lives";
  before_.pop_back();
  a_second_later(kStart + seconds(2));
  a_second_later(kStart + seconds(3));
  EXPECT_EQ(reads_, 3) << "nobody is waited for";
}

}  // namespace
}  // namespace optile::daemon
