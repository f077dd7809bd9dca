// A team's threads follow the plan's order of processing units, and the mask that the program has.
#include "bindings/preload/actuators/team_binding.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <cstdlib>
#include <vector>

#include "bindings/preload/core/op_boundary.h"
#include "bindings/preload/shared_memory/attachment.h"
#include "tests/preload/fixtures/boundary_fixture.h"
#include "tests/preload/fixtures/thread_mask.h"

namespace optile::preload {
namespace {

using test::FakeDaemon;
class TeamBinding : public OpBoundary {};

// Where each thread of a team of `threads` may run.
std::vector<Mask> masks_of_team(int threads) {
  std::vector<Mask> masks(static_cast<size_t>(threads));
#pragma omp parallel num_threads(threads)
  masks[static_cast<size_t>(omp_get_thread_num())] = own_mask();
  return masks;
}

void order_units(optile_plan_page& page, int first, int second) {
  page.binding = OPTILE_BINDING_COMPACT;
  page.cpu_count = 2;
  page.compact_order[0] = static_cast<uint16_t>(first);
  page.compact_order[1] = static_cast<uint16_t>(second);
}

// A step begins under a plan that binds teams to these units in this order.
void begin_step_on(FakeDaemon& daemon, int first, int second) {
  daemon.publish({}, 0, [&](optile_plan_page& page) { order_units(page, first, second); });
  declared_step();
}

TEST_F(TeamBinding, BindsTeamInPlanOrderAndFreesMasterAfter) {
  if (own_mask().size() < 2) GTEST_SKIP() << "one processing unit: nothing to bind to";
  in_child([](FakeDaemon& daemon) {
    const Mask all = own_mask();
    attach(daemon);
    begin_step_on(daemon, all[1], all[0]);
    auto masks = masks_of_team(3);
    CHECK_OR_EXIT(masks[0] == Mask{all[1]});
    CHECK_OR_EXIT(masks[1] == Mask{all[0]});
    CHECK_OR_EXIT((masks[2] == Mask{all[0], all[1]}));
    CHECK_OR_EXIT(own_mask() == all);
    // A lease that moves is followed, and none frees everybody.
    begin_step_on(daemon, all[0], all[1]);
    masks = masks_of_team(2);
    CHECK_OR_EXIT(masks[0] == Mask{all[0]} && masks[1] == Mask{all[1]});
    daemon.publish({});
    declared_step();
    masks = masks_of_team(3);
    for (const auto& free : masks) CHECK_OR_EXIT(free == all);
  });
}

// Before it was bound, and after.
TEST_F(TeamBinding, KeepsWorkerPlacedByProgram) {
  if (own_mask().size() < 2) GTEST_SKIP() << "one processing unit: nothing to bind to";
  in_child([](FakeDaemon& daemon) {
    const Mask all = own_mask();
    const auto place_worker = [&](int unit) {
#pragma omp parallel num_threads(2)
      if (omp_get_thread_num() == 1) move_this_thread({unit});
    };
    attach(daemon);
    place_worker(all[0]);
    begin_step_on(daemon, all[0], all[1]);
    auto masks = masks_of_team(3);
    CHECK_OR_EXIT(masks[0] == Mask{all[0]} && masks[1] == masks[0]);
    CHECK_OR_EXIT((masks[2] == Mask{all[0], all[1]}));
    daemon.publish({});
    declared_step();
    masks = masks_of_team(3);
    CHECK_OR_EXIT(masks[0] == all && masks[1] == Mask{all[0]} && masks[2] == all);

    place_worker(all.back() == all[1] ? all[0] : all.back());
    move_this_thread(all);
    const Mask placed = masks_of_team(2)[1];
    for (int binds = 2; binds > 0; --binds) {
      daemon.publish({}, 0, [&](optile_plan_page& page) { order_units(page, all[1], all[1]); });
      declared_step();
      masks = masks_of_team(2);
      CHECK_OR_EXIT(masks[0] == Mask{all[1]} && masks[1] == placed);
      daemon.publish({});
      declared_step();
      masks_of_team(2);
    }
  });
}

// What a team of a worker's own makes has the worker's mask, which is ours.
TEST_F(TeamBinding, RebindsWorkerWithInheritedMask) {
  if (own_mask().size() < 2) GTEST_SKIP() << "one processing unit: nothing to bind to";
  in_child([](FakeDaemon& daemon) {
    const Mask all = own_mask();
    attach(daemon);
    begin_step_on(daemon, all[0], all[0]);
    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2)
    {
#pragma omp parallel num_threads(2)
      if (omp_get_thread_num() == 1) CHECK_OR_EXIT(own_mask() == Mask{all[0]});
    }
#pragma omp parallel num_threads(2)
    if (omp_get_thread_num() == 1) move_this_thread({all[0]});  // as one that was made there
    begin_step_on(daemon, all[1], all[1]);
    for (const auto& mask : masks_of_team(2)) CHECK_OR_EXIT(mask == Mask{all[1]});
  });
}

// It may be left by a jump, and no mask of ours stays behind then.
TEST_F(TeamBinding, LeavesTeamOfOneUnbound) {
  if (own_mask().size() < 2) GTEST_SKIP() << "one processing unit: nothing to bind to";
  in_child([](FakeDaemon& daemon) {
    const Mask all = own_mask();
    attach(daemon);
    begin_step_on(daemon, all[0], all[1]);
    CHECK_OR_EXIT(masks_of_team(2)[0] == Mask{all[0]});
    CHECK_OR_EXIT(masks_of_team(1)[0] == all);
    // By its width, not by a clause.
    omp_set_num_threads(1);
    Mask mask;
#pragma omp parallel
    mask = own_mask();
    CHECK_OR_EXIT(mask == all);
  });
}

TEST_F(TeamBinding, FreesMasterIntoItsCurrentLease) {
  if (own_mask().size() < 2) GTEST_SKIP() << "one processing unit: no lease can move";
  in_child([](FakeDaemon& daemon) {
    const Mask all = own_mask();
    attach(daemon);
    move_this_thread({all[0]});
    begin_step_on(daemon, all[0], all[0]);
    CHECK_OR_EXIT(masks_of_team(2)[1] == Mask{all[0]});
    // Without a new plan.
    move_this_thread(all);
    declared_step();
    masks_of_team(2);
    CHECK_OR_EXIT(own_mask() == all);
    // With one.
    move_this_thread({all[1]});
    begin_step_on(daemon, all[1], all[1]);
    const auto masks = masks_of_team(2);
    CHECK_OR_EXIT(masks[0] == Mask{all[1]} && masks[1] == masks[0]);
    CHECK_OR_EXIT(own_mask() == Mask{all[1]});
    CHECK_OR_EXIT((daemon.client().header.fallbacks & OPTILE_FALLBACK_MASK_REFUSED) == 0);
  });
}

// At any moment of a step, also while its region runs: the daemon's word is not taken back.
TEST_F(TeamBinding, KeepsMasterMovedDuringStep) {
  if (own_mask().size() < 2) GTEST_SKIP() << "one processing unit: no lease can move";
  in_child([](FakeDaemon& daemon) {
    const Mask all = own_mask();
    attach(daemon);
    begin_step_on(daemon, all[0], all[0]);
    masks_of_team(2);
    CHECK_OR_EXIT(own_mask() == all);
    move_this_thread({all[0]});
    masks_of_team(2);
    CHECK_OR_EXIT(own_mask() == Mask{all[0]});
    move_this_thread({all[1]});
    CHECK_OR_EXIT(masks_of_team(2)[0] == Mask{all[1]});
    move_this_thread(all);
#pragma omp parallel num_threads(2)
    if (omp_get_thread_num() == 0) move_this_thread({all[1]});
    CHECK_OR_EXIT(own_mask() == Mask{all[1]});
    CHECK_OR_EXIT((daemon.client().header.fallbacks & OPTILE_FALLBACK_MASK_REFUSED) == 0);
  });
}

TEST_F(TeamBinding, DefersOrderUntilItsLeaseArrives) {
  if (own_mask().size() < 2) GTEST_SKIP() << "one processing unit: no lease can move";
  in_child([](FakeDaemon& daemon) {
    const Mask all = own_mask();
    attach(daemon);
    move_this_thread({all[0]});
    begin_step_on(daemon, all[1], all[1]);
    for (const auto& free : masks_of_team(2)) CHECK_OR_EXIT(free == Mask{all[0]});
#pragma omp parallel num_threads(2)
    move_this_thread({all[1]});
    declared_step();
    for (const auto& bound : masks_of_team(2)) CHECK_OR_EXIT(bound == Mask{all[1]});
    CHECK_OR_EXIT((daemon.client().header.fallbacks & OPTILE_FALLBACK_MASK_REFUSED) == 0);
  });
}

TEST_F(TeamBinding, EndsWhenPuStaysOutsideProgramMask) {
  in_child([](FakeDaemon& daemon) {
    const Mask all = own_mask();
    attach(daemon);
    daemon.publish({}, 0,
                   [&](optile_plan_page& page) { order_units(page, all[0], all.back() + 1); });
    for (int i = 0; i < 2000; ++i) declared_step();
    for (const auto& free : masks_of_team(2)) CHECK_OR_EXIT(free == all);
    CHECK_OR_EXIT((daemon.client().header.fallbacks & OPTILE_FALLBACK_MASK_REFUSED) != 0);
    // For good.
    begin_step_on(daemon, all[0], all[0]);
    for (const auto& free : masks_of_team(2)) CHECK_OR_EXIT(free == all);
  });
}

TEST_F(TeamBinding, LeavesTeamAloneWhenUserSetsProcBind) {
  setenv("OMP_PROC_BIND", "false", 1);
  in_child([](FakeDaemon& daemon) {
    const Mask all = own_mask();
    attach(daemon);
    begin_step_on(daemon, all[0], all[0]);
    for (const auto& free : masks_of_team(2)) CHECK_OR_EXIT(free == all);
    CHECK_OR_EXIT((daemon.client().header.fallbacks & OPTILE_FALLBACK_USER_BINDING) != 0);
  });
  unsetenv("OMP_PROC_BIND");
}

TEST_F(TeamBinding, TaskReductionStaysCorrectWhenBound) {
  in_child([](FakeDaemon& daemon) {
    const Mask all = own_mask();
    attach(daemon);
    begin_step_on(daemon, all[0], all[0]);
    int sum = 0;
#pragma omp parallel num_threads(3) reduction(task, + : sum)
    {
#pragma omp task in_reduction(+ : sum)
      sum += 5;
    }
    CHECK_OR_EXIT(sum == 15);
  });
}

}  // namespace
}  // namespace optile::preload
