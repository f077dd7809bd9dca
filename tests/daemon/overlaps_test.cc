// Two simulated programs that run at the same time, under a controller that may try them on shared
// cores: what they get then, what is said, and what the next run knows.
#include "daemon/overlaps.h"

#include <gtest/gtest.h>

#include "daemon/explain.h"
#include "daemon/lease_json.h"
#include "tests/daemon/company_fixture.h"

namespace optile::daemon {
namespace {

class OverlapsTest : public CompanyTest {
 protected:
  OverlapsTest() { start(); }

  void start() { begin({.overlaps = true}); }

  bool shared() const {
    return masks_.size() == 2 && masks_.begin()->second.size() + masks_.rbegin()->second.size() > 4;
  }

  // A program whose one op scales; while cores are shared it takes `factor` times as long.
  void add(const std::string& name, double factor) {
    CompanyTest::add(name, [this, factor](int width) {
      const double alone = 40e6 / width;
      return static_cast<uint64_t>(shared() ? alone * factor : alone);
    });
  }
  const sched::OverlapCounters& counters() const { return controller_->overlaps().counters(); }
};

TEST_F(OverlapsTest, WhatPaysIsKeptSaidShownAndStored) {
  add("one", 1.05);
  add("other", 1.05);
  run(300, [this] { return counters().kept > 0; });
  ASSERT_EQ(counters().kept, 1u) << said_;
  run(2);
  EXPECT_TRUE(shared());
  EXPECT_EQ(lines_with("try whether sharing"), 1u) << said_;
  EXPECT_EQ(lines_with("go on sharing"), 1u) << said_;
  const Json told = leases_json(*controller_);
  EXPECT_EQ(told["overlaps"]["now"]["state"], "kept");
  EXPECT_GT(told["overlaps"]["now"]["low"], 0.02);
  EXPECT_FALSE(told["clients"][0]["shared"].empty());
  EXPECT_EQ(told["clients"][0]["partner"], id(1));
  const Explained asked{"aten::mm", id(0), controller_->views(), store_.get()};
  const std::optional<Json> explained = explain_op(*controller_, asked);
  ASSERT_TRUE(explained);
  EXPECT_NE((*explained)["explanations"][0]["overlap"].dump().find("which pays"),
            std::string::npos);

  // The next run knows, and tries that first.
  controller_->flush(true);
  start();
  add("one", 1.05);
  add("other", 1.05);
  said_.clear();
  run(60, [this] { return counters().kept > 0; });
  EXPECT_EQ(counters().trials, 1u);
  EXPECT_EQ(counters().kept, 1u) << said_;
}

TEST_F(OverlapsTest, WhatHurtsEndsAtOnceAndIsNotTriedInTheNextRun) {
  add("one", 6.0);
  add("other", 6.0);
  run(900);
  EXPECT_EQ(counters().kept, 0u);
  EXPECT_GT(counters().aborted, 0u) << said_;
  EXPECT_FALSE(shared());
  EXPECT_LT(counters().trial_ticks, 5000u) << "of 900 seconds";
  const uint64_t trials = counters().trials;
  EXPECT_LE(trials, 5u) << "each shape once";
  controller_->flush(true);
  start();
  add("one", 6.0);
  add("other", 6.0);
  run(300);
  EXPECT_EQ(counters().trials, 0u) << said_;
}

TEST_F(OverlapsTest, UndoEndsItForTheRestOfTheRun) {
  add("one", 1.05);
  add("other", 1.05);
  run(300, [this] { return counters().kept > 0; });
  ASSERT_EQ(counters().kept, 1u) << said_;
  UndoRequest request;
  request.client = id(0);
  ASSERT_TRUE(controller_->undo(request).ok());
  EXPECT_FALSE(shared());
  const uint64_t trials = counters().trials;
  run(300);
  EXPECT_FALSE(shared());
  EXPECT_EQ(counters().trials, trials) << said_;
}

TEST_F(OverlapsTest, AWordOrAnArrivalEndsItAtOnce) {
  add("one", 1.05);
  add("other", 1.05);
  run(300, [this] { return counters().kept > 0; });
  ASSERT_EQ(counters().kept, 1u) << said_;
  run(1);
  ASSERT_TRUE(shared());
  LeaseWord word;
  word.client = id(1);
  word.kind = LeaseWord::Kind::kPause;
  ASSERT_TRUE(controller_->change_lease(word).ok());
  EXPECT_FALSE(shared());
  word.kind = LeaseWord::Kind::kResume;
  ASSERT_TRUE(controller_->change_lease(word).ok());
  run(10);
  EXPECT_TRUE(shared()) << "taken up again: " << said_;
  controller_->depart(id(1));
  masks_.erase(id(1));
  programs_.pop_back();
  EXPECT_TRUE(masks_[id(0)].empty()) << "alone: all cores, without a mask";
  EXPECT_FALSE(controller_->overlaps().view());
}

TEST_F(OverlapsTest, CurvesHearNothingOfWhatWasShared) {
  add("one", 1.05);
  add("other", 1.05);
  run(300, [this] { return counters().kept > 0; });
  ASSERT_EQ(counters().kept, 1u) << said_;
  const std::vector<double> before = controller_->leases()->curve(id(0));
  run(100);
  EXPECT_EQ(controller_->leases()->curve(id(0)), before);
}

}  // namespace
}  // namespace optile::daemon
