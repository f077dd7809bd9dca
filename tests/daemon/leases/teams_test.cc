// Programs of OpenMP regions only, whose teams nothing resizes, beside others.
#include "daemon/controller/controller.h"

#include <gmock/gmock.h>

#include <map>
#include <vector>

#include "daemon/api/lease_json.h"
#include "daemon/client/oversubscribed_team.h"
#include "daemon/views/json_views.h"
#include "tests/daemon/fixtures/controller_fixture.h"

namespace optile::daemon {
namespace {

class TeamsTest : public ControllerTest {
 protected:
  struct Sweeps {
    uint64_t id = 0;
    ClientRegions regions;

    void sweep(uint64_t times) { regions.client().header.progress += times; }
    uint64_t wait_cap() const { return regions.plan().wait_cap; }
  };

  TeamsTest() {
    leases_ = true;
    make_controller();
  }

  Sweeps attach_sweeps(uint32_t threads) {
    ClientMemory memory = ClientMemory::make().value();
    const ClientMemory::Descriptors fds = memory.take_descriptors();
    Sweeps sweeps;
    sweeps.regions = ClientRegions(fds.plan.get(), fds.client.get());
    sweeps.regions.begin(now_ns_, 0);
    sweeps.regions.client().header.region_width = threads;
    const uint32_t op = sweeps.regions.register_op(0x77, "region sweeps+0x10", "");
    sweeps.regions.client().ops[op].flags = OPTILE_OP_REGION;
    sweeps.id = controller_->arrive(attach_request("sweeps"), std::move(memory)).value();
    controller_->drain();
    return sweeps;
  }

  // So many seconds of a pace each.
  void pass(int seconds, std::initializer_list<std::pair<Sweeps*, uint64_t>> paces) {
    for (int i = 0; i < seconds; ++i) {
      now_ns_ += 1000000000;
      for (const auto& [sweeps, pace] : paces) sweeps->sweep(pace);
      controller_->drain();
      controller_->lease_manager().refresh_budgets();
    }
  }

  std::size_t cores_of(uint64_t id) const {
    return controller_->lease_manager().leases()->table().view(id)->granted.cores.size();
  }
};

TEST_F(TeamsTest, CapsSpinningOfTeamWiderThanItsCores) {
  Sweeps first = attach_sweeps(4);
  pass(2, {{&first, 100}});
  EXPECT_EQ(first.wait_cap(), 0u) << "alone it waits as it wants";
  const Sweeps second = attach_sweeps(2);
  pass(1, {{&first, 50}});
  ASSERT_LT(cores_of(first.id), 4u);
  EXPECT_EQ(first.wait_cap(), 1u) << "less than a millisecond";
  const Json told = sharing_json(*controller_->view(first.id));
  EXPECT_EQ(told["wait_cap_ms"], 0);
  EXPECT_EQ(told["region_threads"], 4);
  EXPECT_EQ(second.wait_cap(), 0u);
  controller_->depart(second.id);
  pass(1, {{&first, 100}});
  EXPECT_EQ(first.wait_cap(), 0u);
  EXPECT_TRUE(sharing_json(*controller_->view(first.id))["wait_cap_ms"].is_null());
}

TEST_F(TeamsTest, ReportsWhyTeamIsNotNarrowed) {
  Sweeps first = attach_sweeps(4);
  pass(2, {{&first, 100}});
  EXPECT_TRUE(leases_json(*controller_)["clients"][0]["team"].is_null()) << "it has four cores";
  const Sweeps second = attach_sweeps(2);
  pass(1, {{&first, 50}});
  const auto team = [&] { return leases_json(*controller_)["clients"][0]["team"].dump(); };
  const auto says = [&](const std::string& words) {
    return team().find(words) != std::string::npos;
  };
  EXPECT_TRUE(says("keep 4 threads on " + std::to_string(cores_of(first.id)) + " cores")) << team();
  EXPECT_TRUE(says("--regions=tune")) << team();
  EXPECT_TRUE(says("OMP_WAIT_POLICY=passive")) << "no runtime follows the cap: " << team();
  first.regions.client().header.wait_changes = 1;
  EXPECT_TRUE(says("do not spin meanwhile")) << team();
  EXPECT_TRUE(leases_json(*controller_)["clients"][1]["team"].is_null());
  controller_->depart(second.id);
  pass(1, {{&first, 100}});
  EXPECT_EQ(team(), "null");
}

TEST_F(TeamsTest, WideTeamTextNamesFractionOfCore) {
  const Sweeps first = attach_sweeps(4);
  const ClientView view = *controller_->view(first.id);
  EXPECT_NE(oversubscribed_team_text(view, 0.5).find("4 threads on 0.5 of a core"),
            std::string::npos);
  EXPECT_NE(oversubscribed_team_text(view, 1).find("4 threads on one core"), std::string::npos);
  EXPECT_EQ(oversubscribed_team_text(view, 4), "");
  EXPECT_EQ(oversubscribed_team_text(view, 0), "") << "it has no lease";
}

TEST_F(TeamsTest, MeasuresProgressByRegionThroughput) {
  Sweeps first = attach_sweeps(4);
  pass(8, {{&first, 100}});
  Sweeps second = attach_sweeps(2);
  pass(8, {{&first, 50}, {&second, 100}});
  EXPECT_EQ(cores_of(first.id), 2u);
  EXPECT_EQ(cores_of(second.id), 2u);
  const auto progress = progress_of(controller_->lease_manager().leases()->clients(), first.id);
  ASSERT_TRUE(progress);
  EXPECT_TRUE(progress->measured);
  EXPECT_NEAR(progress->value, 0.5, 1e-6);
}

TEST_F(TeamsTest, LaunchWidthIsPartBesideOthers) {
  perfmodel::LaunchFacts facts;
  facts.uses_openmp = true;
  const Arrival program = {"/bin/sweeps", 0};
  const auto width = [&](double share, bool starts) {
    return controller_->lease_manager()
        .launch_beside(facts, {program, share, false, starts, false})
        .width;
  };
  EXPECT_EQ(width(1, true), 0) << "everything, where nobody is";
  EXPECT_EQ(width(1, false), 2) << "beside the one that is about to come";
  EXPECT_EQ(
      controller_->lease_manager().launch_beside(facts, {program, 1, false, true, true}).width, 0)
      << "that is it";
  EXPECT_EQ(width(3, false), 3);
  EXPECT_EQ(width(0.001, false), 1);
  const Sweeps first = attach_sweeps(4);
  EXPECT_EQ(width(1, false), 1) << "beside one that is here and one that is about to come";
  EXPECT_EQ(width(7, false), 3);
  facts.marks_ops = true;
  EXPECT_EQ(width(1, false), 0) << "its ops follow the lease, and could never be wider than now";
  facts.marks_ops = false;
  facts.resizes_teams = true;
  EXPECT_EQ(width(1, false), 0) << "its ops follow the lease";
  EXPECT_TRUE(
      controller_->lease_manager().launch_beside(facts, {program, 1, false, false, false}).others);
}

// The second of two waits again and again, for one second each time.
class LentCoresTest : public TeamsTest {
 protected:
  LentCoresTest() {
    busy_time_ = [](int) { return std::chrono::milliseconds(0); };
    make_controller();
  }

  // So many looks, ten milliseconds apart.
  void looks(int count, std::initializer_list<std::pair<Sweeps*, uint64_t>> paces) {
    for (int i = 0; i < count; ++i) {
      now_ns_ += 10000000;
      for (const auto& [sweeps, pace] : paces) sweeps->sweep(pace);
      controller_->drain();
      if (controller_->lease_manager().next_look()) controller_->lease_manager().detect_idle();
    }
  }
  bool idle(uint64_t id) const {
    return controller_->lease_manager().leases()->table().view(id)->idle;
  }
  bool borrows(uint64_t id) const {
    const auto cores = static_cast<int>(cores_of(id));
    return controller_->lease_manager().leases()->lending().borrows(id, cores);
  }
};

TEST_F(LentCoresTest, LendingVerdictIsRecalledForOneWeek) {
  Sweeps worker = attach_sweeps(4);
  Sweeps waiter = attach_sweeps(4);
  pass(8, {{&worker, 1000}, {&waiter, 1000}});
  for (int pause = 0; pause < 8; ++pause) {
    EXPECT_TRUE(borrows(worker.id)) << pause;
    looks(100, {{&worker, 10}});
    looks(20, {{&worker, 10}, {&waiter, 10}});
  }
  EXPECT_FALSE(borrows(worker.id)) << "it got as much done without";
  EXPECT_TRUE(borrows(waiter.id)) << "nobody ever lent it anything";
  controller_->depart(worker.id);
  controller_->depart(waiter.id);
  make_controller();
  worker = attach_sweeps(4);
  waiter = attach_sweeps(4);
  pass(1, {{&worker, 1000}, {&waiter, 1000}});
  EXPECT_FALSE(borrows(worker.id));
  looks(20, {{&worker, 10}});
  EXPECT_EQ(masks_[worker.id].size(), 2u);
  controller_->depart(worker.id);
  now_ns_ += UINT64_C(8) * 24 * 3600 * 1000000000;
  worker = attach_sweeps(4);
  EXPECT_TRUE(borrows(worker.id)) << "after a week it is tried again";
}

// Nobody looks any more where there is nobody to lend to.
TEST_F(LentCoresTest, IdleClientGetsAllCoresWhenLastOtherLeaves) {
  Sweeps worker = attach_sweeps(4);
  Sweeps waiter = attach_sweeps(4);
  pass(8, {{&worker, 1000}, {&waiter, 1000}});
  looks(20, {{&worker, 10}});
  ASSERT_TRUE(idle(waiter.id));
  ASSERT_EQ(masks_[waiter.id].size(), 2u);
  controller_->depart(worker.id);
  looks(20, {});
  EXPECT_FALSE(idle(waiter.id));
  EXPECT_TRUE(masks_[waiter.id].empty()) << "every core";
  EXPECT_EQ(controller_->view(waiter.id)->cores, 4);
  // It still waits, and lends to the next one.
  worker = attach_sweeps(4);
  pass(8, {{&worker, 1000}});
  looks(20, {{&worker, 10}});
  EXPECT_TRUE(idle(waiter.id));
  EXPECT_EQ(masks_[worker.id].size(), 4u) << "every core";
}

TEST_F(LentCoresTest, IdleClientGetsAllCoresWhenOtherIsDetached) {
  Sweeps worker = attach_sweeps(4);
  Sweeps waiter = attach_sweeps(4);
  pass(8, {{&worker, 1000}, {&waiter, 1000}});
  looks(20, {{&worker, 10}});
  ASSERT_TRUE(idle(waiter.id));
  using Kind = LeaseCommand::Kind;
  ASSERT_TRUE(controller_->lease_manager().apply({worker.id, Kind::kDetach, 1.0, {}, false}).ok());
  EXPECT_FALSE(idle(waiter.id));
  EXPECT_TRUE(masks_[waiter.id].empty()) << "every core";
}

TEST_F(LentCoresTest, HeldCoresAreLentOnceSecondClientWaits) {
  Sweeps worker = attach_sweeps(4);
  Sweeps first = attach_sweeps(4);
  Sweeps second = attach_sweeps(4);
  pass(8, {{&worker, 1000}, {&first, 1000}, {&second, 1000}});
  looks(60, {{&worker, 10}, {&second, 10}});
  ASSERT_TRUE(idle(first.id)) << "the first pause is lent";
  looks(20, {{&worker, 10}, {&first, 10}, {&second, 10}});
  looks(20, {{&worker, 10}, {&second, 10}});
  ASSERT_FALSE(idle(first.id)) << "the next one is compared with it";
  looks(20, {{&worker, 10}});
  EXPECT_TRUE(idle(second.id));
  EXPECT_TRUE(idle(first.id));
}

// Programs whose issuing thread has its number as thread id, and wants a processor for so much of
// the time.
class TimeSharingTeamsTest : public TeamsTest {
 protected:
  TimeSharingTeamsTest() {
    busy_time_ = [](int) { return std::chrono::milliseconds(0); };
    demand_ = [this](int,
                     const std::vector<int>& threads) -> std::optional<std::chrono::nanoseconds> {
      if (threads.empty()) return std::nullopt;
      return std::chrono::nanoseconds(runnable_ns_[threads.front()]);
    };
    make_controller();
  }

  Sweeps attach_thread(int thread, uint32_t team) {
    Sweeps sweeps = attach_sweeps(team);
    sweeps.regions.client().threads[0].tid = static_cast<uint32_t>(thread);
    return sweeps;
  }

  // So many looks, fifty milliseconds apart, in which each thread has its demand.
  void looks(int count, std::map<int, double> demands, std::vector<Sweeps*> all) {
    for (int i = 0; i < count; ++i) {
      now_ns_ += 50000000;
      for (const auto& [thread, demand] : demands) {
        runnable_ns_[thread] += static_cast<int64_t>(50000000 * demand);
      }
      for (Sweeps* one : all) one->sweep(5);
      controller_->drain();
      if (controller_->lease_manager().next_look()) controller_->lease_manager().detect_idle();
      if (i % 20 == 19) controller_->lease_manager().refresh_budgets();
    }
  }
  bool has_lease(const Sweeps& one) const {
    return controller_->lease_manager().leases()->clients().at(one.id).has_lease();
  }

  std::map<int, int64_t> runnable_ns_;
};

TEST_F(TimeSharingTeamsTest, WideTeamIsNotConfinedBesideLowDemandProgram) {
  Sweeps busy = attach_thread(1, 4);
  looks(20, {{1, 1}}, {&busy});
  Sweeps newcomer = attach_thread(2, 4);
  looks(5, {{1, 1}, {2, 0.01}}, {&busy, &newcomer});
  EXPECT_FALSE(has_lease(busy));
  EXPECT_TRUE(masks_[busy.id].empty()) << "at no moment";
  EXPECT_THAT(controller_->lease_manager().status(busy.id).shares_time,
              testing::HasSubstr("its team of 4"));
  looks(40, {{1, 1}, {2, 0.01}}, {&busy, &newcomer});
  EXPECT_TRUE(has_lease(busy)) << "nobody else wants a core";
  EXPECT_FALSE(has_lease(newcomer));
  EXPECT_TRUE(masks_[busy.id].empty()) << "all of them";
  EXPECT_EQ(controller_->lease_manager().status(busy.id).shares_time, "");
  const Json leases = leases_json(*controller_, {});
  ASSERT_EQ(leases["unleased"].size(), 1u);
  const std::string reason = leases["unleased"][0]["reason"];
  EXPECT_TRUE(reason.ends_with(controller_->lease_manager().status(newcomer.id).shares_time))
      << reason;
  EXPECT_THAT(reason, testing::HasSubstr(" 1.0 % "));
}

TEST_F(TimeSharingTeamsTest, BusyTeamsGetDisjointLeases) {
  Sweeps first = attach_thread(1, 4);
  looks(20, {{1, 1}}, {&first});
  Sweeps second = attach_thread(2, 4);
  looks(30, {{1, 1}, {2, 1}}, {&first, &second});
  ASSERT_TRUE(has_lease(first));
  ASSERT_TRUE(has_lease(second));
  EXPECT_EQ(masks_[first.id].size(), 2u);
  EXPECT_EQ(masks_[second.id].size(), 2u);
}

TEST_F(TimeSharingTeamsTest, ReportsLeaseTakenBack) {
  Sweeps first = attach_thread(1, 4);
  looks(40, {{1, 1}}, {&first});
  Sweeps second = attach_thread(2, 1);
  looks(40, {{1, 1}, {2, 1}}, {&second});
  const std::optional<ClientView> view = controller_->view(first.id);
  EXPECT_FALSE(has_lease(first));
  EXPECT_EQ(view->slow_leases.count, 1u);
  EXPECT_THAT(fallback_texts(*view), testing::Contains(testing::HasSubstr("lease taken back: ")));
}

TEST_F(TeamsTest, CapsSpinningOnTimeSharedCore) {
  Sweeps first = attach_sweeps(1);
  pass(2, {{&first, 100}});
  ASSERT_EQ(first.wait_cap(), 0u) << "alone it waits as it wants";
  std::vector<Sweeps> others;
  for (int i = 0; i < 4; ++i) others.push_back(attach_sweeps(1));
  pass(1, {{&first, 100}});
  ASSERT_LT(controller_->lease_manager().leases()->table().view(first.id)->granted.fraction, 1);
  EXPECT_EQ(first.wait_cap(), 2u) << "a millisecond";
  controller_->depart(others.back().id);
  pass(1, {{&first, 100}});
  ASSERT_EQ(controller_->lease_manager().leases()->table().view(first.id)->granted.fraction, 1);
  EXPECT_EQ(first.wait_cap(), 0u) << "its core is its own";
}

TEST_F(TeamsTest, TimeSharedThroughputIsNotCountedForWholeCore) {
  Sweeps first = attach_sweeps(4);
  pass(8, {{&first, 100}});
  std::vector<Sweeps> others;
  for (int i = 0; i < 4; ++i) others.push_back(attach_sweeps(1));
  pass(8, {{&first, 12}});
  controller_->depart(others.back().id);
  pass(4, {{&first, 25}});
  ASSERT_EQ(cores_of(first.id), 1u);
  const auto progress = progress_of(controller_->lease_manager().leases()->clients(), first.id);
  ASSERT_TRUE(progress);
  EXPECT_NEAR(progress->value, 0.25, 1e-6);
}

}  // namespace
}  // namespace optile::daemon
