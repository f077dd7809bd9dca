// Which issuing thread has which places in the order of units.
#include "bindings/preload/unit_rows.h"

#include <gtest/gtest.h>

#include <barrier>
#include <thread>
#include <vector>

#include "bindings/abi/limits.h"
#include "bindings/preload/issuer_share.h"

namespace optile::preload {
namespace {

class UnitRows : public ::testing::Test {
 protected:
  ~UnitRows() override {
    for (uint32_t slot = 0; slot < kMostIssuing; ++slot) give_row_back(slot);
  }
};

TEST_F(UnitRows, ThoseWhoWantAsManyFillTheOrderInRows) {
  for (uint32_t slot = 0; slot < 4; ++slot) {
    EXPECT_EQ(take_row(slot, 4, 16, 0), static_cast<int>(4 * slot));
  }
  EXPECT_EQ(take_row(4, 1, 16, 0), -1);
  give_row_back(2);
  EXPECT_EQ(take_row(4, 4, 16, 0), 8);
  EXPECT_FALSE(has_row(2));
  EXPECT_TRUE(has_row(4));
}

TEST_F(UnitRows, ARowBeginsAnywhereWhereNoneOfItsSizeIsFree) {
  EXPECT_EQ(take_row(0, 3, 8, 0), 0);
  EXPECT_EQ(take_row(1, 5, 8, 0), 3);
  give_row_back(0);
  EXPECT_EQ(take_row(1, 2, 8, 0), 0) << "its own are free to itself";
  EXPECT_EQ(take_row(0, 3, 8, 0), 3);
  EXPECT_EQ(take_row(2, 3, 8, 0), -1) << "two are left";
  EXPECT_EQ(take_row(2, 2, 8, 0), 6);
}

TEST_F(UnitRows, NobodyGetsMoreThanThereIs) {
  EXPECT_EQ(take_row(0, 9, 8, 0), -1);
  EXPECT_EQ(take_row(0, 0, 8, 0), -1);
  EXPECT_EQ(take_row(0, 1, OPTILE_MAX_CPUS + 1, 0), -1);
  EXPECT_EQ(take_row(0, OPTILE_MAX_CPUS, OPTILE_MAX_CPUS, 0), 0);
}

TEST_F(UnitRows, WhoHasStoppedIssuingMakesRoom) {
  note_use(0, 100);
  note_use(1, 200);
  EXPECT_EQ(take_row(0, 2, 4, 0), 0);
  EXPECT_EQ(take_row(1, 2, 4, 0), 2);
  EXPECT_EQ(take_row(2, 2, 4, 100), -1) << "both began an op not long ago";
  EXPECT_EQ(take_row(2, 2, 4, 150), 0);
  EXPECT_FALSE(has_row(0));
  give_row_back(0);
  EXPECT_TRUE(has_row(2)) << "what it lost is not its to give back";
}

TEST_F(UnitRows, WhoIsInsideALongOpKeepsItsOwn) {
  IssuerPart part;
  note_use(0, 100);
  EXPECT_EQ(take_row(0, 2, 2, 0), 0);
  enter_op(0, &part, 2, 2, 100);
  EXPECT_EQ(take_row(1, 2, 2, 1000), -1);
  leave_op(0, &part, 900);
  EXPECT_EQ(take_row(1, 2, 2, 1000), 0);
}

TEST_F(UnitRows, ThreadsThatTakeAtOnceNeverHaveTheSame) {
  constexpr int kThreads = 4;
  constexpr uint32_t kUnits = 8;
  std::barrier<> meet(kThreads);
  std::vector<std::thread> running;
  for (uint32_t slot = 0; slot < kThreads; ++slot) {
    running.emplace_back([&, slot] {
      for (uint32_t round = 0; round < 200; ++round) {
        meet.arrive_and_wait();
        const uint32_t wanted = 1 + (round + slot) % 3;
        const int first = take_row(slot, wanted, kUnits, 0);
        meet.arrive_and_wait();
        if (first < 0) continue;
        EXPECT_TRUE(has_row(slot)) << round;
      }
      give_row_back(slot);
    });
  }
  for (std::thread& one : running) one.join();
}

}  // namespace
}  // namespace optile::preload
