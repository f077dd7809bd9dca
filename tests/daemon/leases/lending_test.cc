// Two simulated programs under a controller, of which one waits again and again: who borrows its
// cores, and what is measured of that.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "tests/daemon/fixtures/co_runners_fixture.h"

namespace optile::daemon {
namespace {

constexpr uint64_t kMs = 1000000;

uint64_t scales(int width) {
  return 20 * kMs / static_cast<uint64_t>(width);
}

class LendingTest : public SimulatedProgramsTest {
 protected:
  LendingTest() { begin(); }

  // One beside the program that is there already; both settle, and then the new one waits.
  void add_one_that_waits() {
    add("waits", scales);
    run(20);
    ASSERT_EQ(masks_[id(0)].size(), 2u) << said_;
    waits(1.5, 1.5);
  }
  SimulatedProgram& program(std::size_t place) { return *programs_[place]->attached.program; }
  bool is_known() const { return said_.find(" with lent cores: it borrows") != std::string::npos; }
};

// One whose sampling is paused says of three steps in 65 how many ops they had: what was compared
// was chance.
TEST_F(LendingTest, CountsEveryOpOfBorrowerInComparedPauses) {
  add("works", scales);
  program(0).may_pause_sampling();
  add_one_that_waits();
  run(60, [this] { return is_known(); });
  ASSERT_TRUE(is_known()) << said_;
  const std::size_t at = said_.find(" gets ");
  ASSERT_NE(at, std::string::npos) << said_;
  EXPECT_NEAR(std::stod(said_.substr(at + 6)), 2.0, 0.25) << said_;
  EXPECT_TRUE(controller_->lease_manager().leases()->lending().borrows(id(0), 2));
  const uint64_t heard = program(0).regions().client().header.progress;
  run(10);
  EXPECT_LT(program(0).regions().client().header.progress - heard, 1200u)
      << "it pauses again, once that is known";
}

TEST_F(LendingTest, HistoryKeepsArrivalsAfterManyLoans) {
  add("works", scales);
  add_one_that_waits();
  run(100);
  const auto& events = controller_->lease_manager().history().newest_first();
  const auto loans =
      std::count_if(events.begin(), events.end(), [](const LeaseEvent& one) { return one.loan; });
  EXPECT_EQ(loans, kMaxLoanEvents) << said_;
  const auto arrived = [](const LeaseEvent& one) {
    return one.text.find("client 2 arrived") != std::string::npos;
  };
  EXPECT_TRUE(std::any_of(events.begin(), events.end(), arrived)) << said_;
}

TEST_F(LendingTest, StopsLendingToClientWithoutGain) {
  add("works", [](int width) { return width > 2 ? 12 * kMs : scales(width); });
  add_one_that_waits();
  run(60, [this] { return is_known(); });
  ASSERT_TRUE(is_known()) << said_;
  EXPECT_FALSE(controller_->lease_manager().leases()->lending().borrows(id(0), 2)) << said_;
}

// What the plan made narrower stays so; what it left as wide as the lease is gets the lent cores.
TEST_F(LendingTest, LentCoresWidenOnlyFullWidthOps) {
  add("works", scales, [](int width) { return 2 * kMs * static_cast<uint64_t>(width); });
  add_one_that_waits();
  std::set<std::pair<int, int>> widths;
  run(6, [&] {
    widths.emplace(program(0).widths().at(kMatmul), program(0).widths().at(kAdd));
    return false;
  });
  EXPECT_TRUE(widths.contains({2, 1})) << said_;
  EXPECT_TRUE(widths.contains({4, 1})) << said_;
}

// Alone it had all four, and what it found out then is in the store: the short op is slower with
// more than two, and best off with one, since two would need another team.
TEST_F(LendingTest, LentCoresRestoreStoredWidthsForThatCount) {
  add("works", scales,
      [](int width) { return width == 1 ? 5 * kMs : (width == 2 ? 4 : 10) * kMs; });
  run(20);
  ASSERT_EQ(program(0).widths().at(kMatmul), 4);
  ASSERT_EQ(program(0).widths().at(kAdd), 1);
  add_one_that_waits();
  std::set<std::pair<int, int>> widths;
  run(6, [&] {
    widths.emplace(program(0).widths().at(kMatmul), program(0).widths().at(kAdd));
    return false;
  });
  EXPECT_TRUE(widths.contains({2, 2})) << said_;
  EXPECT_TRUE(widths.contains({4, 1})) << said_;
  EXPECT_FALSE(widths.contains({4, 4})) << said_;
}

// It is lent cores as soon as its curve is known, and has a use for them a little later.
TEST_F(LendingTest, ClientTunedDuringLongWaitBorrowsSoonAfter) {
  add("waits", scales);
  run(10);
  waits(0, 60);
  run(1);
  add("works", scales);
  const auto tuned = [this] {
    return controller_->view(id(1))->session->phase == tuner::Phase::kTuned;
  };
  run(30, tuned);
  ASSERT_TRUE(tuned()) << said_;
  EXPECT_LT(program(1).widths().at(kMatmul), 4) << "searched within its own cores";
  run(3);
  EXPECT_EQ(program(1).widths().at(kMatmul), 4) << said_;
}

// A notebook that nobody uses, or a program that was stopped.
TEST_F(LendingTest, TunesForCoresOfLongIdleClient) {
  add("works", scales);
  add("waits", scales);
  run(20);
  ASSERT_EQ(masks_[id(0)].size(), 2u) << said_;
  const std::vector<int> own = masks_[id(1)];
  const auto cores = [this] { return controller_->view(id(0))->cores; };
  waits(0, 100);
  run(50);
  EXPECT_EQ(cores(), 2) << "a loan is not tuned for";
  EXPECT_EQ(program(0).widths().at(kMatmul), 4);
  run(30);
  EXPECT_EQ(cores(), 4) << said_;
  EXPECT_EQ(controller_->view(id(0))->session->phase, tuner::Phase::kTuned);
  EXPECT_EQ(program(0).widths().at(kMatmul), 4);
  EXPECT_EQ(masks_[id(1)], own);
  waits(1000, 0);
  run(30, [&] { return masks_[id(0)].size() == 2; });
  EXPECT_EQ(cores(), 2) << said_;
  EXPECT_EQ(masks_[id(1)], own);
  const uint64_t steps = programs_[0]->steps;
  run(1);
  EXPECT_EQ(program(0).widths().at(kMatmul), 2);
  EXPECT_EQ(controller_->view(id(0))->session->phase, tuner::Phase::kTuned)
      << "what it found on two cores is in force again";
  EXPECT_GT(programs_[0]->steps, steps);
}

}  // namespace
}  // namespace optile::daemon
