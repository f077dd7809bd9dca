#include "daemon/leases/user_bounds.h"

#include <gtest/gtest.h>

#include "daemon/client/configuration_space.h"
#include "tests/daemon/fixtures/accounts.h"
#include "tests/sched/leases/lease_commands.h"

namespace optile::daemon {
namespace {

class UserBoundsTest : public testing::Test {
 protected:
  UserBoundsTest()
      : machine_(perfmodel::make_machine_source("pack:1 l2:1 core:4 pu:1")->read().value()),
        leases_(machine_, whole_budget(machine_), clients_,
                {[](uint64_t, int, const std::vector<int>&) {},
                 [this](const std::vector<int>&) { return load_; }, true}) {
    for (int unit = 0; unit < 4; ++unit) load_.units[unit] = {};
  }

  void arrive(uint64_t client, unsigned uid) {
    leases_.arrive(client, 100, 4);
    leases_.update(client, {.owner = ClientFacts::Owner{uid, ""}, .bound_to = std::vector<int>{}});
    (void)leases_.decide(std::chrono::milliseconds(1000));
  }
  void pin(uint64_t client, std::vector<int> cores) {
    ASSERT_TRUE(leases_.apply(sched::commands::pin(client, std::move(cores))).ok());
    bounds_.note(client);
    (void)leases_.decide(std::chrono::milliseconds(1000));
  }
  perfmodel::Machine machine_;
  LoadReading load_;
  ManagedClients clients_;
  Leases leases_;
  UserBounds bounds_;
};

TEST(EvenPart, IsAtLeastOneCore) {
  EXPECT_EQ(even_part(4, 1), 4u);
  EXPECT_EQ(even_part(4, 3), 1u);
  EXPECT_EQ(even_part(4, 9), 1u);
  EXPECT_EQ(even_part(0, 0), 1u);
}

TEST_F(UserBoundsTest, SingleUserMayPinAllCores) {
  arrive(1, kAnna);
  EXPECT_TRUE(bounds_.check(leases_, 1, 4).ok());
}

TEST_F(UserBoundsTest, AllPinsOfUserCountAgainstItsPart) {
  arrive(1, kAnna);
  arrive(2, kAnna);
  arrive(3, kBert);
  EXPECT_TRUE(bounds_.check(leases_, 1, 2).ok());
  EXPECT_EQ(bounds_.check(leases_, 1, 3).error().kind, base::ErrorKind::kUnavailable);
  pin(1, {0});
  EXPECT_TRUE(bounds_.check(leases_, 1, 2).ok()) << "the pin before goes";
  EXPECT_TRUE(bounds_.check(leases_, 2, 1).ok());
  EXPECT_FALSE(bounds_.check(leases_, 2, 2).ok());
  EXPECT_TRUE(bounds_.check(leases_, 3, 2).ok()) << "what others hold is theirs";
}

// fault: F40
TEST_F(UserBoundsTest, NewestPinIsTakenBackWhenAnotherUserArrives) {
  arrive(1, kAnna);
  arrive(2, kAnna);
  pin(1, {0, 1});
  pin(2, {2});
  EXPECT_TRUE(bounds_.beyond(leases_).empty());
  arrive(3, kBert);
  EXPECT_EQ(bounds_.beyond(leases_), std::vector<uint64_t>{2}) << "the newest first";
  bounds_.forget(2);
  EXPECT_TRUE(bounds_.beyond(leases_).empty());
}

TEST_F(UserBoundsTest, ExternalLoadTakesNoPinBack) {
  arrive(1, kAnna);
  arrive(2, kBert);
  pin(1, {0, 1});
  for (int second = 1; second < 20; ++second) {
    for (auto& [unit, ticks] : load_.units) (unit < 2 ? ticks.busy : ticks.idle) += 100;
    leases_.set_budget(whole_budget(machine_), std::chrono::seconds(second));
  }
  ASSERT_EQ(leases_.table().resources().budget.cores, 2);
  EXPECT_TRUE(bounds_.beyond(leases_).empty());
  EXPECT_TRUE(bounds_.check(leases_, 1, 2).ok());
}

}  // namespace
}  // namespace optile::daemon
