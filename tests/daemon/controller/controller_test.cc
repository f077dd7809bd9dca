#include <gtest/gtest.h>

#include <cerrno>

#include "daemon/api/report.h"
#include "daemon/support/history_limits.h"
#include "tests/daemon/fixtures/controller_fixture.h"
#include "tests/daemon/fixtures/temporary_directory.h"

namespace optile::daemon {
namespace {

constexpr int kManySteps = 600;  // recognised long before

TEST_F(ControllerTest, PublishesPlanPageOnArrival) {
  Attached attached = attach(attach_request("r"));
  EXPECT_EQ(attached.program->regions().plan().generation, 1u);
  EXPECT_EQ(controller_->next_drain(), std::chrono::milliseconds(5));
}

TEST_F(ControllerTest, FiguresViewHasSameWidthsWithoutProfiles) {
  Attached attached = attach(attach_request("r"));
  ASSERT_TRUE(run_until_tuned(attached, 3000));
  const tuner::SessionView whole = *controller_->attached()[0].session;
  const tuner::SessionView figures = *controller_->attached(tuner::Detail::kFigures)[0].session;
  EXPECT_EQ(figures.steps, whole.steps);
  EXPECT_EQ(figures.tuned_steps.count(), whole.tuned_steps.count());
  EXPECT_EQ(figures.default_widths_in_force, whole.default_widths_in_force);
  ASSERT_EQ(figures.ops.size(), whole.ops.size());
  for (std::size_t i = 0; i < whole.ops.size(); ++i) {
    EXPECT_EQ(figures.ops[i].place, whole.ops[i].place);
    EXPECT_EQ(figures.ops[i].width, whole.ops[i].width);
    EXPECT_EQ(figures.ops[i].profile.samples(), 0u);
    EXPECT_GT(whole.ops[i].profile.samples(), 0u);
  }
}

TEST_F(ControllerTest, TunesProgramAndReplaysPlanInNextRun) {
  Attached first = attach(attach_request("first"));
  ASSERT_TRUE(run_until_tuned(first, 3000));
  run(first, 50);
  EXPECT_EQ(first.program->widths().at(kAdd), 1);
  EXPECT_EQ(first.program->widths().at(kMatmul), 4);
  controller_->depart(first.id);
  EXPECT_EQ(controller_->client_count(), 0u);

  const RunStatus finished = controller_->find_run("first");
  ASSERT_EQ(finished.state, RunState::kFinished);
  EXPECT_EQ(finished.client->counters.rejected, 0u);
  const Json report =
      run_report(*finished.client, daemon::earlier_runs(controller_->history(), *finished.client),
                 store_->state());
  EXPECT_EQ(report["baseline_kind"], "control");
  EXPECT_GT(report["speedup"].get<double>(), 1.1);
  EXPECT_FALSE(report["plan_replayed"].get<bool>());

  Attached second = attach(attach_request("second"));
  ASSERT_TRUE(run_until_tuned(second, kManySteps));
  run(second, 20);
  EXPECT_EQ(second.program->widths().at(kAdd), 1);
  const std::optional<ClientView> view = controller_->view(second.id);
  EXPECT_TRUE(view->session->plan_replayed);
  EXPECT_EQ(view->session->sampled_steps, 0u);
  EXPECT_EQ(controller_->find_run("second").state, RunState::kRunning);
}

TEST_F(ControllerTest, ObserveModeKeepsDefaultWidths) {
  AttachRequest who = attach_request("observed");
  who.mode = OPTILE_MODE_OBSERVE;
  Attached attached = attach(who);
  for (int step = 0; step < kManySteps; ++step) {
    attached.program->run_step();
    controller_->drain();
    for (const auto& [key, width] : attached.program->widths()) ASSERT_EQ(width, 4);
  }
  controller_->depart(attached.id);
  const std::vector<RunRecord> runs =
      daemon::earlier_runs(controller_->history(), *controller_->find_run("observed").client);
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].kind, RunKind::kObserve);
  EXPECT_GT(runs[0].steps, kManySteps / 2);
}

TEST_F(ControllerTest, ReportsSpeedupAgainstSeparateBaselineRun) {
  AttachRequest who = attach_request("baseline");
  who.baseline = true;
  who.launch_plan = "";
  Attached baseline = attach(who);
  run(baseline, kManySteps);
  controller_->depart(baseline.id);
  Attached tuned = attach(attach_request("tuned"));
  ASSERT_TRUE(run_until_tuned(tuned, 3000));
  run(tuned, 50);
  controller_->depart(tuned.id);
  const ClientView client = *controller_->find_run("tuned").client;
  const Json report =
      run_report(client, daemon::earlier_runs(controller_->history(), client), store_->state());
  EXPECT_EQ(report["baseline_kind"], "separate_run");
  const double expected = report["step_seconds"]["baseline"].get<double>() /
                          report["step_seconds"]["tuned"].get<double>();
  EXPECT_NEAR(report["speedup"].get<double>(), expected, 1e-9);
}

TEST_F(ControllerTest, FreezeWithoutStoredPlanKeepsDefaultWidths) {
  AttachRequest who = attach_request("frozen");
  who.mode = OPTILE_MODE_FREEZE;
  Attached attached = attach(who);
  for (int step = 0; step < 300; ++step) {
    attached.program->run_step();
    controller_->drain();
    for (const auto& [key, width] : attached.program->widths()) ASSERT_EQ(width, 4);
  }
}

TEST_F(ControllerTest, ReadsRemainingRingSamplesAtDeparture) {
  Attached attached = attach(attach_request("late"));
  run(attached, 2);
  const uint64_t before = controller_->view(attached.id)->counters.read;
  attached.program->run_step();  // nobody drains
  controller_->depart(attached.id);
  EXPECT_GE(controller_->find_run("late").client->counters.read, before + 3);
}

TEST_F(ControllerTest, RefusesUnsteadyClientClockAndReportsIt) {
  Attached attached = attach(attach_request("clock"));
  ClientMemory memory = ClientMemory::make().value();
  const ClientMemory::Descriptors fds = memory.take_descriptors();
  ClientRegions regions(fds.plan.get(), fds.client.get());
  regions.begin(now_ns_, 4);
  regions.client().header.clock_kind = OPTILE_CLOCK_CPU_COUNTER;  // which is not steady here
  const uint64_t id = controller_->arrive(attach_request("clock"), std::move(memory)).value();
  controller_->drain();
  const std::optional<ClientView> view = controller_->view(id);
  EXPECT_TRUE(view->clock_refused);
  EXPECT_FALSE(fallback_texts(*view).empty());
  controller_->depart(id);
}

TEST_F(ControllerTest, LimitsAttachedAndFinishedClients) {
  std::vector<uint64_t> ids;
  for (std::size_t i = 0; i < kMaxClients; ++i) {
    ids.push_back(controller_->arrive(attach_request("x"), ClientMemory::make().value()).value());
  }
  const base::Result<uint64_t> refused =
      controller_->arrive(attach_request("y"), ClientMemory::make().value());
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.message().find("untuned"), std::string::npos);
  for (const uint64_t id : ids) controller_->depart(id);
  EXPECT_EQ(controller_->views().size(), kMaxFinished);
  EXPECT_FALSE(controller_->view(ids.front()).has_value());
  EXPECT_TRUE(controller_->view(ids.back()).has_value());
  controller_->depart(ids.front());  // again: nothing happens
}

// fault: F14
TEST_F(ControllerTest, LimitsFinishedClientsByTheirOps) {
  for (int i = 0; i < 8; ++i) {
    Attached attached = attach(attach_request("many-" + std::to_string(i)));
    ClientRegions& regions = attached.program->regions();
    for (uint64_t key = 1; key <= OPTILE_MAX_OPS; ++key) regions.register_op(key, "op", "");
    controller_->drain();
    controller_->depart(attached.id);
  }
  EXPECT_EQ(controller_->views().size(), kMaxFinishedOps / OPTILE_MAX_OPS);
  EXPECT_EQ(controller_->find_run("many-7").state, RunState::kFinished);
  EXPECT_EQ(controller_->find_run("many-0").state, RunState::kUnknown);
}

TEST_F(ControllerTest, ShrunkBudgetCapsNextPage) {
  Attached attached = attach(attach_request("shrunk"));
  run(attached, 10);
  budget_.units = {0, 1};
  budget_.cores = 2;
  controller_->lease_manager().refresh_budgets();
  run(attached, 400);
  const optile_plan_region& plan = attached.program->regions().plan();
  EXPECT_EQ(plan.pages[plan.generation & 1].default_width_cap, 2u);
  EXPECT_EQ(plan.pages[plan.generation & 1].cpu_count, 2u);
}

TEST_F(ControllerTest, TwoProgramsGetDisjointMasksAndMatchingWidthCaps) {
  leases_ = true;
  make_controller();
  Attached one = attach(attach_request("one"));
  run(one, 10);
  EXPECT_TRUE(masks_[one.id].empty()) << "alone";
  Attached other = attach(attach_request("other"));
  run(one, 3);
  run(other, 10);
  ASSERT_EQ(masks_[one.id].size() + masks_[other.id].size(), 4u);
  for (int unit : masks_[one.id]) {
    EXPECT_EQ(std::count(masks_[other.id].begin(), masks_[other.id].end(), unit), 0);
  }
  const auto cap = [](Attached& program) {
    const optile_plan_region& plan = program.program->regions().plan();
    return plan.pages[plan.generation & 1].default_width_cap;
  };
  EXPECT_EQ(cap(one), masks_[one.id].size());
  EXPECT_EQ(cap(other), masks_[other.id].size());
  EXPECT_EQ(controller_->view(one.id)->cores, static_cast<int>(masks_[one.id].size()));

  controller_->depart(other.id);
  run(one, 3);
  EXPECT_TRUE(masks_[one.id].empty()) << "alone again";
  EXPECT_EQ(cap(one), 0u);
}

TEST_F(ControllerTest, ExactRespectKeepsUserWidthOnPartialLease) {
  leases_ = true;
  make_controller();
  AttachRequest exact = attach_request("exact");
  exact.respect = OPTILE_RESPECT_EXACT;
  Attached one = attach(exact, OPTILE_WIDTH_ENVIRONMENT);
  Attached other = attach(attach_request("other"));
  run(one, 200);
  EXPECT_LT(masks_[one.id].size(), 4u) << "its cores are shared like anybody's";
  for (const auto& [key, width] : one.program->widths()) EXPECT_EQ(width, 4) << key;
  const ClientView view = controller_->view(one.id).value();
  EXPECT_TRUE(view.is_fixed_by_user);
  EXPECT_EQ(view.default_width_cap, 0);
  EXPECT_EQ(view.shared_cores, 0);
  EXPECT_EQ(view.session->phase, tuner::Phase::kObserving);
}

TEST_F(ControllerTest, ExactRespectObeysWidthSetByProgramLater) {
  AttachRequest exact = attach_request("exact");
  exact.respect = OPTILE_RESPECT_EXACT;
  Attached one = attach(exact);
  ASSERT_TRUE(run_until_tuned(one, 3000));
  run(one, 50);
  EXPECT_EQ(one.program->widths().at(kAdd), 1) << "nobody has said anything";
  optile_store32(&one.program->regions().client().header.default_width_source,
                 OPTILE_WIDTH_PROGRAM);
  run(one, 3);
  for (const auto& [key, width] : one.program->widths()) EXPECT_EQ(width, 4) << key;
  const ClientView view = controller_->view(one.id).value();
  EXPECT_NE(view.session->decision.find("you said so"), std::string::npos);
  // The next program of this name, without such a word, starts with what was found.
  controller_->depart(one.id);
  Attached next = attach(attach_request("next"));
  ASSERT_TRUE(run_until_tuned(next, 3000));
  EXPECT_TRUE(controller_->view(next.id)->session->plan_replayed);
}

TEST_F(ControllerTest, ExactRespectTunesWidthSetByFramework) {
  AttachRequest exact = attach_request("exact");
  exact.respect = OPTILE_RESPECT_EXACT;
  Attached one = attach(exact, OPTILE_WIDTH_FRAMEWORK);
  EXPECT_TRUE(run_until_tuned(one, 3000));
  EXPECT_FALSE(controller_->view(one.id)->is_fixed_by_user);
}

// F20: another control group than the daemon's, so its own budget says nothing of it.
TEST_F(ControllerTest, LeaseFollowsChangingClientCpuset) {
  leases_ = true;
  make_controller();
  confined_ = budget_;
  confined_.cpuset = {0, 1, 2, 3};
  AttachRequest who = attach_request("confined");
  who.pid = kConfinedPid;
  Attached one = attach(who);
  run(one, 10);
  Attached other = attach(attach_request("other"));
  run(one, 3);
  run(other, 3);
  ASSERT_EQ(masks_[one.id].size() + masks_[other.id].size(), 4u);
  const auto inside = [&](int most) {
    return std::all_of(masks_[one.id].begin(), masks_[one.id].end(),
                       [most](int unit) { return unit < most; });
  };
  const std::vector<std::vector<int>> cpusets = {{0}, {0, 1, 2, 3}, {0}};
  for (const std::vector<int>& cpuset : cpusets) {
    confined_.cpuset = cpuset;
    controller_->lease_manager().refresh_budgets();
    run(one, 3);
    run(other, 3);
    EXPECT_FALSE(masks_[one.id].empty());
    EXPECT_TRUE(inside(static_cast<int>(cpuset.size())));
    for (int unit : masks_[one.id]) {
      EXPECT_EQ(std::count(masks_[other.id].begin(), masks_[other.id].end(), unit), 0);
    }
    EXPECT_LE(masks_[one.id].size(), cpuset.size());
  }
}

TEST_F(ControllerTest, LeaseGrowsWhenClientQuotaIsRemoved) {
  leases_ = true;
  make_controller();
  confined_ = budget_;
  confined_.cores = 2;
  confined_.quota_cores = 1.5;
  AttachRequest who = attach_request("limited");
  who.pid = kConfinedPid;
  Attached one = attach(who);
  run(one, 10);
  EXPECT_EQ(controller_->view(one.id)->cores, 2);
  confined_ = budget_;
  controller_->lease_manager().refresh_budgets();
  run(one, 10);
  EXPECT_EQ(controller_->view(one.id)->cores, 4);
}

TEST_F(ControllerTest, GivesAwayCoresOfDyingClientBeforeDeparture) {
  leases_ = true;
  make_controller();
  Attached one = attach(attach_request("one"));
  Attached other = attach(attach_request("other"));
  ASSERT_EQ(masks_[one.id].size(), 2u);
  controller_->dying(other.id);
  EXPECT_TRUE(masks_[one.id].empty()) << "all of them";
  EXPECT_EQ(controller_->client_count(), 2u);
  controller_->depart(other.id);
  EXPECT_TRUE(masks_[one.id].empty());
}

TEST_F(ControllerTest, ObservedClientGetsNoLease) {
  leases_ = true;
  make_controller();
  Attached one = attach(attach_request("one"));
  AttachRequest watched = attach_request("watched");
  watched.mode = OPTILE_MODE_OBSERVE;
  Attached other = attach(watched);
  EXPECT_TRUE(masks_[one.id].empty());
  EXPECT_FALSE(masks_.contains(other.id));
}

TEST_F(ControllerTest, ConfinedClientPageListsOnlyItsPUs) {
  confined_.units = {2, 3};
  confined_.cores = 2;
  AttachRequest who = attach_request("confined");
  who.pid = kConfinedPid;
  Attached attached = attach(who);
  const optile_plan_region& plan = attached.program->regions().plan();
  const optile_plan_page& page = plan.pages[plan.generation & 1];
  ASSERT_EQ(page.cpu_count, 2u);
  EXPECT_EQ(page.compact_order[0], 2u);
  EXPECT_EQ(page.compact_order[1], 3u);
  EXPECT_EQ(page.default_width_cap, 0u);  // it came like this: nothing was taken away
  EXPECT_EQ(controller_->view(attached.id)->cores, 2);
  EXPECT_EQ(controller_->lease_manager().budget().cores, 4);
}

TEST_F(ControllerTest, RequestsCountersForSomeStepsAfterTuning) {
  Attached attached = attach(attach_request("counted"));
  const auto counts = [&] {
    const optile_plan_region& plan = attached.program->regions().plan();
    return (plan.pages[plan.generation & 1].flags & OPTILE_PAGE_COUNT) != 0;
  };
  ASSERT_TRUE(run_until_tuned(attached, 3000));
  int counted = 0;
  for (int step = 0; step < 60; ++step) {
    run(attached, 1);
    counted += counts() ? 1 : 0;
  }
  EXPECT_GE(counted, 8);
  EXPECT_LE(counted, 12);
  EXPECT_FALSE(counts());
}

TEST_F(ControllerTest, RequestsNoCountersWhereUserDisabledThem) {
  AttachRequest who = attach_request("off");
  who.mode = OPTILE_MODE_OBSERVE;
  ClientMemory memory = ClientMemory::make().value();
  const ClientMemory::Descriptors fds = memory.take_descriptors();
  Attached attached;
  ClientRegions regions(fds.plan.get(), fds.client.get());
  regions.client().header.counter_errno = ECANCELED;
  attached.program = std::make_unique<SimulatedProgram>(
      std::move(regions), std::vector<SimulatedProgram::Op>{}, training_step(), 4, &now_ns_);
  attached.id = controller_->arrive(who, std::move(memory)).value();
  for (int step = 0; step < kManySteps; ++step) {
    run(attached, 1);
    const optile_plan_region& plan = attached.program->regions().plan();
    ASSERT_EQ(plan.pages[plan.generation & 1].flags & OPTILE_PAGE_COUNT, 0u);
  }
  EXPECT_EQ(controller_->view(attached.id)->session->phase, tuner::Phase::kObserving);
}

TEST_F(ControllerTest, DrainsTunedClientsRarely) {
  Attached attached = attach(attach_request("calm"));
  ASSERT_TRUE(run_until_tuned(attached, 3000));
  run(attached, 5);
  EXPECT_GE(controller_->next_drain(), std::chrono::milliseconds(200));
  run(attached, 60);
  EXPECT_LE(controller_->next_drain(), std::chrono::milliseconds(1000));
}

// F8, F12: what a client leaves behind is tried again, later each time, and not forgotten.
// fault: F12
TEST_F(ControllerTest, RetriesFailedStoreWriteAtGrowingIntervals) {
  const TemporaryDirectory directory;
  const std::string path = directory / "store.db";
  store_ = Store::open(path);
  make_controller();
  const Database::Opened holder = Database::open(path, {0x6f70746c, 5, ""});
  ASSERT_NE(holder.database, nullptr);
  ASSERT_TRUE(holder.database->run("BEGIN IMMEDIATE").ok());
  Attached attached = attach(attach_request("a"));
  ASSERT_TRUE(run_until_tuned(attached, kManySteps));
  controller_->depart(attached.id);
  EXPECT_EQ(store_->state().keeping, Store::Keeping::kFailing);
  std::chrono::milliseconds wait(0);
  for (int attempt = 0; attempt < 3; ++attempt) {
    const std::optional<std::chrono::milliseconds> next =
        controller_->history().batches().next_write();
    ASSERT_TRUE(next.has_value());
    EXPECT_GT(*next, wait);
    wait = *next;
    const uint64_t failed = store_->state().failed_writes;
    controller_->drain();
    EXPECT_EQ(store_->state().failed_writes, failed) << "too early";
    now_ns_ += static_cast<uint64_t>(wait.count()) * 1000000;
    controller_->drain();
    EXPECT_EQ(store_->state().failed_writes, failed + 1);
  }
  ASSERT_TRUE(holder.database->run("ROLLBACK").ok());
  now_ns_ +=
      static_cast<uint64_t>(controller_->history().batches().next_write()->count()) * 1000000;
  controller_->drain();
  EXPECT_FALSE(controller_->history().batches().next_write().has_value());
  EXPECT_EQ(store_->state().keeping, Store::Keeping::kOnDisk);
}

TEST_F(ControllerTest, LaunchPlanChangeAfterSlowerRunNamesReason) {
  perfmodel::LaunchFacts facts;
  facts.blas_provider = "openblas-pthread";
  facts.budget_cores = 4;
  const ProgramKey program = {"/usr/bin/python3", "train.py", "python3 train.py"};
  const perfmodel::LaunchPlan before = controller_->history().launch_plan(facts, program);
  EXPECT_FALSE(before.text.empty());
  StoreBatch batch;
  RunRecord untouched;
  untouched.conditions = {controller_->machine().fingerprint, program, "", 1};
  untouched.kind = RunKind::kBaseline;
  untouched.steps = 50;
  untouched.step_seconds = 0.1;
  RunRecord ours = untouched;
  ours.kind = RunKind::kTune;
  ours.conditions.launch_plan = before.text;
  ours.step_seconds = 0.3;  // three times slower than untouched
  batch.runs = {untouched, ours};
  ASSERT_TRUE(store_->write(batch).ok());
  const perfmodel::LaunchPlan after = controller_->history().launch_plan(facts, program);
  if (before.text != after.text) {
    EXPECT_NE(after.reasons.back().find("taken back"), std::string::npos);
  }
}

TEST_F(ControllerTest, ReportsBusiestProcessOfRun) {
  Attached idle = attach(attach_request("same"));
  Attached busy = attach(attach_request("same"));
  run(busy, kManySteps);
  controller_->depart(busy.id);
  EXPECT_EQ(controller_->find_run("same").state, RunState::kRunning);
  EXPECT_EQ(controller_->find_run("same").client->id, busy.id);
  controller_->depart(idle.id);
  EXPECT_EQ(controller_->find_run("same").state, RunState::kFinished);
  EXPECT_EQ(controller_->find_run("").state, RunState::kUnknown);
}

}  // namespace
}  // namespace optile::daemon
