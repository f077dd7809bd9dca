// Programs that repeat a stored plan (--mode freeze) beside others: held to cores, and as wide as
// ever.
#include <algorithm>

#include "daemon/api/lease_json.h"
#include "tests/daemon/fixtures/controller_fixture.h"

namespace optile::daemon {
namespace {

class FreezeModeTest : public ControllerTest {
 protected:
  FreezeModeTest() {
    leases_ = true;
    make_controller();
  }

  AttachRequest frozen() {
    AttachRequest who = attach_request("again");
    who.mode = OPTILE_MODE_FREEZE;
    return who;
  }

  // So many seconds of steps.
  void pass(int duration_s, std::initializer_list<Attached*> programs) {
    for (int i = 0; i < duration_s; ++i) {
      const uint64_t until = now_ns_ + 1000000000;
      while (now_ns_ < until) {
        for (Attached* one : programs) run(*one, 1);
      }
      controller_->lease_manager().refresh_budgets();
    }
  }
  // Runs until a plan is kept, and leaves.
  std::map<uint64_t, int> learn() {
    Attached first = attach(attach_request("first"));
    EXPECT_TRUE(run_until_tuned(first, 400));
    run(first, 3);
    const std::map<uint64_t, int> widths = first.program->widths();
    controller_->depart(first.id);
    return widths;
  }

  std::vector<int> cores_of(uint64_t id) const {
    return controller_->lease_manager().leases()->table().view(id)->granted.cores;
  }
  const optile_plan_page& page_of(Attached& attached) {
    const optile_plan_region& plan = attached.program->regions().plan();
    return plan.pages[plan.generation & 1];
  }
  static Json lease(const Json& leases, uint64_t id) {
    for (const Json& one : leases["clients"]) {
      if (one["id"] == id) return one;
    }
    return nullptr;
  }
};

TEST_F(FreezeModeTest, LeaseNarrowsMaskButNotWidths) {
  const std::map<uint64_t, int> learnt = learn();
  ASSERT_EQ(learnt.at(kMatmul), 4);
  ASSERT_EQ(learnt.at(kAdd), 1);
  Attached again = attach(frozen());
  pass(2, {&again});
  EXPECT_EQ(again.program->widths(), learnt);
  EXPECT_EQ(cores_of(again.id).size(), 4u);
  Attached other = attach(attach_request("other"));
  pass(3, {&again, &other});
  const std::vector<int> its = cores_of(again.id);
  ASSERT_LT(its.size(), 4u);
  ASSERT_FALSE(its.empty());
  EXPECT_EQ(masks_[again.id].size(), its.size());
  EXPECT_EQ(again.program->widths(), learnt);
  EXPECT_EQ(page_of(again).default_width_cap, 0u);
  for (const int core : cores_of(other.id)) {
    EXPECT_EQ(std::count(its.begin(), its.end(), core), 0) << "nobody is put beside it";
  }
  EXPECT_EQ(again.program->regions().plan().wait_cap, 1u) << "a team wider than its cores";
  const Json told = leases_json(*controller_);
  EXPECT_NE(lease(told, again.id)["team"].dump().find("--mode freeze"), std::string::npos) << told;
  EXPECT_TRUE(told["unleased"].empty());
  controller_->depart(other.id);
  pass(1, {&again});
  EXPECT_EQ(cores_of(again.id).size(), 4u);
  EXPECT_EQ(again.program->widths(), learnt);
}

TEST_F(FreezeModeTest, PartialLeaseAtArrivalKeepsStoredWidths) {
  const std::map<uint64_t, int> learnt = learn();
  Attached other = attach(attach_request("other"));
  pass(1, {&other});
  Attached again = attach(frozen());
  ASSERT_LT(cores_of(again.id).size(), 4u);
  pass(3, {&other, &again});
  EXPECT_EQ(again.program->widths(), learnt);
  EXPECT_TRUE(controller_->view(again.id)->session->plan_replayed);
}

TEST_F(FreezeModeTest, ProgressIsKnownWithinOneSecond) {
  Attached other = attach(attach_request("other"));
  ASSERT_TRUE(run_until_tuned(other, 400));
  Attached again = attach(frozen());
  pass(1, {&again, &other});
  EXPECT_GT(controller_->lease_manager().leases()->table().client_count(), 0u);
  const Json its = lease(leases_json(*controller_), again.id);
  ASSERT_TRUE(its.is_object());
  EXPECT_FALSE(its["progress"].is_null()) << "what cores are worth to it is known";
}

TEST_F(FreezeModeTest, RunOnPartialLeaseIsNotRecorded) {
  learn();
  const auto runs = [this] {
    controller_->history().batches().flush(true);
    Conditions wanted;
    wanted.machine = controller_->machine().fingerprint;
    const AttachRequest who = frozen();
    wanted.program = {who.executable, who.program, who.arguments};
    return store_->find_runs(wanted).size();
  };
  const std::size_t before = runs();
  Attached alone = attach(frozen());
  pass(2, {&alone});
  controller_->depart(alone.id);
  EXPECT_EQ(runs(), before + 1);
  Attached again = attach(frozen());
  AttachRequest who = attach_request("other");
  who.program = "other.py";
  Attached other = attach(who);
  pass(3, {&again, &other});
  controller_->depart(again.id);
  EXPECT_EQ(runs(), before + 1);
}

TEST_F(FreezeModeTest, PinSetsCoresAndMask) {
  learn();
  Attached again = attach(frozen());
  using Kind = LeaseCommand::Kind;
  ASSERT_TRUE(controller_->lease_manager().apply({again.id, Kind::kPin, 1.0, {2, 3}}).ok());
  EXPECT_EQ(cores_of(again.id), (std::vector<int>{2, 3}));
  EXPECT_EQ(masks_[again.id], (std::vector<int>{2, 3}));
}

TEST_F(FreezeModeTest, ObservedAndBaselineRunsHaveNoLease) {
  AttachRequest who = attach_request("watched");
  who.mode = OPTILE_MODE_OBSERVE;
  const Attached watched = attach(who);
  EXPECT_FALSE(controller_->lease_manager().leases()->clients().at(watched.id).has_lease());
  AttachRequest base = frozen();
  base.baseline = true;
  EXPECT_FALSE(may_have_lease(base));
}

}  // namespace
}  // namespace optile::daemon
