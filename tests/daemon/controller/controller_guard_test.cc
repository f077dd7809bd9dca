// Plans that lose, from the shared memory to the store and into the next run; undo by hand.
#include "daemon/api/report.h"
#include "tests/daemon/fixtures/controller_fixture.h"

namespace optile::daemon {
namespace {

class ControllerGuardTest : public ControllerTest {
 protected:
  Conditions conditions() {
    const AttachRequest who = attach_request("x");
    Conditions conditions;
    conditions.machine = controller_->machine().fingerprint;
    conditions.program = {who.executable, who.program, who.arguments};
    conditions.launch_plan = who.launch_plan;
    return conditions;
  }
  std::optional<FoundPlan> stored() { return store_->find_plan(conditions(), 4); }

  void tune_once() {
    Attached first = attach(attach_request("first"));
    ASSERT_TRUE(run_until_tuned(first, 3000));
    run(first, 20);
    controller_->depart(first.id);
    ASSERT_TRUE(stored().has_value());
  }

  // Every width wrong by four times.
  void poison() {
    SettledRecord record;
    record.conditions = conditions();
    record.conditions.runtime = OPTILE_RUNTIME_LIBGOMP;
    record.settled.plan = stored()->plan;
    record.when = 1800000000;  // newer than any
    for (tuner::StoredEntry& entry : record.settled.plan.entries) {
      entry.width = entry.place.key == kAdd ? 0 : 1;
      entry.rule = tuner::Rule::kFastest;
    }
    StoreBatch batch;
    batch.settled.push_back(record);
    ASSERT_TRUE(store_->write(batch).ok());
  }
};

// fault: F42
TEST_F(ControllerGuardTest, RollsBackSlowPlanWithinTwentyStepsAndDeletesIt) {
  tune_once();
  poison();
  Attached second = attach(attach_request("second"));
  run(second, 20);
  EXPECT_EQ(second.program->widths().at(kMatmul), 4);
  run(second, 400);  // until the step is known
  const ClientView view = *controller_->view(second.id);
  const Json report = run_report(view, {}, store_->state());
  ASSERT_EQ(report["guard"]["rollbacks"].size(), 1u);
  EXPECT_EQ(report["guard"]["rollbacks"][0]["what"], "plan");
  EXPECT_GT(report["guard"]["rollbacks"][0]["loss_seconds"].get<double>(), 0);
  EXPECT_FALSE(report["plan_replayed"].get<bool>());
  controller_->depart(second.id);
  EXPECT_FALSE(stored().has_value()) << "the next run tunes anew";
}

TEST_F(ControllerGuardTest, ReportsAndStoresEntryDisabledByShim) {
  Attached client = attach(attach_request("r"));
  ASSERT_TRUE(run_until_tuned(client, 3000));
  run(client, 20);
  ASSERT_EQ(client.program->widths().at(kAdd), 1);
  optile_client_header& header = client.program->regions().client().header;
  header.disabled[0] = {kAdd, 0, 9'000'000, 1'000'000, 1, 1, 0};
  optile_store64(&header.disabled_count, 1);
  run(client, 3);
  EXPECT_EQ(client.program->widths().at(kAdd), 4);
  const ClientView view = *controller_->view(client.id);
  ASSERT_EQ(view.session->guard.rollbacks.size(), 1u);
  EXPECT_EQ(view.session->guard.rollbacks[0].what, "aten::add");
  EXPECT_NEAR(view.session->guard.rollbacks[0].loss_seconds, 0.008, 1e-9);
  controller_->depart(client.id);
  const std::optional<FoundPlan> found = stored();
  ASSERT_TRUE(found.has_value());
  for (const tuner::StoredEntry& entry : found->plan.entries) {
    if (entry.place.key == kAdd) {
      EXPECT_EQ(entry.rule, tuner::Rule::kRolledBack);
    }
  }
}

TEST_F(ControllerGuardTest, InvalidDisabledEntriesAreRejected) {
  Attached client = attach(attach_request("r"));
  run(client, 3);
  optile_client_header& header = client.program->regions().client().header;
  for (optile_disabled_entry& entry : header.disabled) {
    entry = {0, ~uint64_t{0}, ~uint64_t{0}, ~uint64_t{0}, ~uint32_t{0}, 65535, 65535};
  }
  optile_store64(&header.disabled_count, ~uint64_t{0});
  run(client, 3);
  const ClientView view = *controller_->view(client.id);
  EXPECT_EQ(view.counters.rejected, uint64_t{OPTILE_MAX_DISABLED});
  EXPECT_TRUE(view.session->guard.rollbacks.empty());
  header.disabled[0].key = kAdd;
  optile_store64(&header.disabled_count, 1);  // backwards
  run(client, 3);
  EXPECT_EQ(controller_->view(client.id)->counters.rejected, uint64_t{OPTILE_MAX_DISABLED});
}

TEST_F(ControllerGuardTest, PlanEntriesCarryBaselineTicksAtDefaultWidth) {
  const auto baseline_of = [](Attached& client, uint64_t key) -> uint64_t {
    const optile_plan_region& plan = client.program->regions().plan();
    for (const optile_plan_entry& entry : plan.pages[plan.generation & 1].slots) {
      if (entry.key == key) return entry.baseline_ticks;
    }
    return 0;
  };
  Attached client = attach(attach_request("r"));
  ASSERT_TRUE(run_until_tuned(client, 3000));
  run(client, 3);
  EXPECT_NEAR(static_cast<double>(baseline_of(client, kAdd)), 2'000'000, 1000);
  controller_->depart(client.id);
  Attached again = attach(attach_request("s"));
  EXPECT_NEAR(static_cast<double>(baseline_of(again, kAdd)), 2'000'000, 1000) << "from the store";
}

TEST_F(ControllerGuardTest, UndoHoldsInLaterRunsUntilRevoked) {
  tune_once();
  Attached client = attach(attach_request("r"));
  run(client, 10);
  ASSERT_EQ(client.program->widths().at(kAdd), 1);
  const base::Result<Controller::Undone> undone = controller_->undo({});
  ASSERT_TRUE(undone.ok());
  EXPECT_EQ(undone.value().clients.size(), 1u);
  run(client, 3);
  EXPECT_EQ(client.program->widths().at(kAdd), 4);
  EXPECT_FALSE(stored().has_value());
  controller_->depart(client.id);

  Attached later = attach(attach_request("later"));
  run(later, 400);
  EXPECT_EQ(later.program->widths().at(kAdd), 4);
  EXPECT_EQ(controller_->view(later.id)->session->sampled_steps, 0u);
  EXPECT_TRUE(controller_->view(later.id)->left_alone);
  const perfmodel::LaunchPlan plan = controller_->history().launch_plan({}, conditions().program);
  EXPECT_EQ(plan.text, perfmodel::launch_plan_left_alone().text);
  controller_->depart(later.id);

  UndoRequest revoke;
  revoke.revoke = true;
  revoke.program = "train.py";
  ASSERT_TRUE(controller_->undo(revoke).ok());
  Attached tuned = attach(attach_request("tuned"));
  EXPECT_TRUE(run_until_tuned(tuned, 3000));
  run(tuned, 5);
  EXPECT_EQ(tuned.program->widths().at(kAdd), 1);
}

TEST_F(ControllerGuardTest, UndoOfOneOpIsStoredForLaterRuns) {
  Attached client = attach(attach_request("r"));
  ASSERT_TRUE(run_until_tuned(client, 3000));
  run(client, 5);
  UndoRequest request;
  request.client = 99;
  EXPECT_EQ(controller_->undo(request).error().kind, base::ErrorKind::kNotFound);
  request.client = client.id;
  request.op = "aten::nothing";
  EXPECT_EQ(controller_->undo(request).error().kind, base::ErrorKind::kNotFound);
  request.op = "aten::add";
  const base::Result<Controller::Undone> undone = controller_->undo(request);
  ASSERT_TRUE(undone.ok());
  EXPECT_EQ(undone.value().ops, 1u);
  run(client, 3);
  EXPECT_EQ(client.program->widths().at(kAdd), 4);
  controller_->depart(client.id);
  ASSERT_TRUE(stored().has_value());
  Attached later = attach(attach_request("later"));
  run(later, 300);
  EXPECT_EQ(later.program->widths().at(kAdd), 4) << "remembered";
}

}  // namespace
}  // namespace optile::daemon
