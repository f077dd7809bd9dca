// A whole session against a simulated program, without noise: what it finds, what it costs, and
// what it does when the world around it changes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/tuner/session/simulated_client.h"
#include "tests/tuner/session/simulated_programs.h"

namespace optile::tuner {
namespace {

using perfmodel::Binding;

TEST(SessionCounts, CountsEventsAfterSearchWithoutSampling) {
  SessionOptions options = options_for(4);
  options.counted_steps = 8;
  Session session(options);
  SimulatedClient client(session, mixed_program(), {});
  int before = 0;
  while (session.view().phase != Phase::kTuned && before < 400) {
    ASSERT_FALSE(client.page() != nullptr && client.page()->count) << "while it is searched";
    client.run_steps(1);
    ++before;
  }
  Session plain(options_for(4));
  SimulatedClient plain_client(plain, mixed_program(), {});
  for (int i = 0; i < before; ++i) plain_client.run_steps(1);
  EXPECT_EQ(session.view().phase, Phase::kTuned);
  EXPECT_EQ(plain.view().phase, Phase::kTuned) << "the search waits for no counter";
  EXPECT_EQ(session.view().samples, plain.view().samples);

  const uint64_t samples = session.view().samples;
  int counted = 0;
  for (int i = 0; i < 60; ++i) {
    client.run_steps(1);
    counted += client.page()->count ? 1 : 0;
    EXPECT_EQ(client.page()->record_all, client.page()->count);
  }
  EXPECT_GE(counted, 8);
  EXPECT_LE(counted, 12);
  EXPECT_EQ(session.view().samples, samples);
  EXPECT_LE(session.view().tuned_steps.count(), 60u - 8u);
  EXPECT_GT(session.view().tuned_steps.count(), 40u);
  EXPECT_FALSE(client.page()->record_all);
}

TEST(SessionCounts, CountsEventsWhileObserving) {
  SessionOptions options = options_for(4);
  options.may_change_widths = false;
  options.counted_steps = 8;
  Session session(options);
  SimulatedClient client(session, mixed_program(), {});
  int counted = 0;
  for (int i = 0; i < 200; ++i) {
    client.run_steps(1);
    counted += client.page() != nullptr && client.page()->count ? 1 : 0;
  }
  EXPECT_GE(counted, 8);
  EXPECT_LE(counted, 12);
  EXPECT_TRUE(client.page()->may_pause_sampling);
}

TEST(SessionSearch, FindsBestWidthOfEachCurveShape) {
  Session session(options_for(4));
  SimulatedClient client(session, mixed_program(), {});
  ASSERT_TRUE(client.run_until_tuned(400));
  const std::vector<int> best = {4, 2, 1, 2, 1, 0, 4};
  for (std::size_t i = 0; i < best.size(); ++i) {
    if (best[i] == 0) continue;  // flat: any width will do
    EXPECT_EQ(client.planned_width(i), best[i]) << "op " << i;
  }
  const SessionView view = session.view();
  EXPECT_EQ(view.phase, Phase::kTuned);
  EXPECT_FALSE(view.decision.empty());
  EXPECT_FALSE(view.plan_replayed);
}

TEST(SessionSearch, ExplainsThatProgramRepeatsTooBriefly) {
  SessionOptions options = options_for(4);
  options.least_repeating = std::chrono::hours(1);
  Session session(options);
  SimulatedClient client(session, mixed_program(), {});
  EXPECT_FALSE(client.run_until_tuned(40));
  const SessionView view = session.view();
  EXPECT_EQ(view.phase, Phase::kRecognising);
  EXPECT_NE(view.decision.find("repeated for 3600000 ms"), std::string::npos) << view.decision;
}

TEST(SessionSearch, KeepsDefaultWidthsOfScalingProgram) {
  Session session(options_for(4));
  SimulatedClient client(session, one_of_each({scaling(8 * kMs), scaling(3 * kMs)}), {});
  ASSERT_TRUE(client.run_until_tuned(200));
  EXPECT_EQ(client.page()->entries.size(), 0u);
  EXPECT_EQ(session.view().ops[0].rule, Rule::kDefaultWidth);
}

TEST(SessionSearch, UsesUniformWidthWhenSwitchingIsCostly) {
  SimulatedProgram program;
  const SimulatedProgram pair = one_of_each({
      table({900e3, 400e3, 500e3, 800e3}),
      table({900e3, 420e3, 400e3, 800e3}),
  });
  program.ops = pair.ops;
  for (int i = 0; i < 20; ++i) program.order.push_back(i % 2);
  SimulatedClientOptions client_options;
  client_options.change_ns = 60e3;
  client_options.runtime = perfmodel::Runtime::kLibgomp;
  Session session(options_for(4));
  SimulatedClient client(session, program, client_options);
  ASSERT_TRUE(client.run_until_tuned(400));
  EXPECT_EQ(client.planned_width(0), client.planned_width(1));
  EXPECT_NEAR(client.planned_step_ns(), client.uniform_step_ns(2), 0.02 * kMs);
}

TEST(SessionCost, IsBelowTwelveStepsOnFourCores) {
  Session session(options_for(4));
  SimulatedClient client(session, mixed_program(), {});
  ASSERT_TRUE(client.run_until_tuned(400));
  const SessionView view = session.view();
  const double own_seconds = client.uniform_step_ns(4) * 1e-9;
  EXPECT_LT(view.seconds_lost_to_sampling, 12 * own_seconds);
  EXPECT_GT(view.sampled_steps, 3u);
}

// Every width is as good as another: what neighbours cost the steps is no cost of the search.
TEST(SessionCost, ExcludesTimeTakenByNeighbours) {
  const auto flat = [](int /*width*/) { return 10 * kMs; };
  SimulatedClientOptions beside;
  beside.noise.heavy_share = 0.15;
  double lost = 0;
  double sampled = 0;
  for (beside.seed = 1; beside.seed <= 30; ++beside.seed) {
    Session session(options_for(4));
    SimulatedClient client(session, one_of_each({flat, flat}), beside);
    client.run_steps(300);
    lost += session.view().seconds_lost_to_sampling;
    sampled += session.view().sampled_steps * 20e-3;
  }
  ASSERT_GT(sampled, 0);
  EXPECT_LT(lost / sampled, 0.2);
}

TEST(SessionCost, RunsClearlySlowerWidthOneOnce) {
  Session session(options_for(4));
  SimulatedClient client(session, one_of_each({scaling(40 * kMs), scaling(20 * kMs)}), {});
  ASSERT_TRUE(client.run_until_tuned(200));
  EXPECT_EQ(client.runs_of(1000, 1), 1);
  EXPECT_EQ(client.runs_of(1001, 1), 1);
}

TEST(SessionCost, RecordsNoEventsOnceTuned) {
  Session session(options_for(4));
  SimulatedClient client(session, mixed_program(), {});
  ASSERT_TRUE(client.run_until_tuned(400));
  const uint64_t events = client.op_events();
  const uint32_t sampled = session.view().sampled_steps;
  const std::size_t tuned = session.view().tuned_steps.count();
  client.run_steps(100);
  EXPECT_EQ(client.op_events(), events);
  EXPECT_EQ(session.view().sampled_steps, sampled);
  EXPECT_GE(session.view().tuned_steps.count(), tuned + 99);
  EXPECT_FALSE(client.page()->record_all);
  EXPECT_FALSE(client.page()->record_nested);
}

TEST(SessionReplay, SecondRunStartsTunedWithoutSampling) {
  const StoredPlan stored = tuned_once(mixed_program());
  SessionOptions options = options_for(4);
  options.stored = stored;
  Session session(options);
  SimulatedClient client(session, mixed_program(), {});
  client.run_steps(2);
  EXPECT_EQ(client.planned_width(2), 1) << "in force before the step is verified";
  ASSERT_TRUE(client.run_until_tuned(20));
  const uint64_t events = client.op_events();
  client.run_steps(50);
  const SessionView view = session.view();
  EXPECT_TRUE(view.plan_replayed);
  EXPECT_EQ(view.sampled_steps, 0u);
  EXPECT_EQ(client.op_events(), events);
  EXPECT_FALSE(client.page()->record_all);
  EXPECT_GE(view.tuned_steps.count(), 45u);
  EXPECT_EQ(view.ops.size(), 7u);
  EXPECT_TRUE(std::any_of(view.ops.begin(), view.ops.end(),
                          [](const OpView& op) { return op.rule == Rule::kReplayed; }));
  EXPECT_FALSE(session.take_settled().has_value()) << "nothing new for the store";
}

TEST(SessionReplay, TunesDifferentProgramNormally) {
  const StoredPlan stored = tuned_once(mixed_program());
  SessionOptions options = options_for(4);
  options.stored = stored;
  SimulatedProgram other = mixed_program();
  std::swap(other.order[1], other.order[5]);
  Session session(options);
  SimulatedClient client(session, other, {});
  ASSERT_TRUE(client.run_until_tuned(400));
  EXPECT_FALSE(session.view().plan_replayed);
  EXPECT_GT(session.view().sampled_steps, 0u);
  EXPECT_EQ(client.planned_width(2), 1);
}

TEST(SessionReplay, DropsPlanOfDifferentDefaultWidth) {
  const StoredPlan stored = tuned_once(mixed_program());
  SessionOptions options = options_for(4);
  options.stored = stored;
  SimulatedClientOptions narrow;
  narrow.default_width = 3;
  Session session(options);
  SimulatedClient client(session, mixed_program(), narrow);
  ASSERT_TRUE(client.run_until_tuned(400));
  EXPECT_FALSE(session.view().plan_replayed);
  for (std::size_t i = 0; i < 7; ++i) EXPECT_LE(client.planned_width(i), 3);
}

// A lease, not the program: then what was learned is obeyed as far as it goes, and learned anew
// once that can be afforded.
TEST(SessionReplay, AppliesPlanForMoreCoresAsFarAsItFits) {
  SessionOptions options = options_for(4);
  options.stored = tuned_once(mixed_program());
  Session session(options);
  SimulatedClient client(session, mixed_program(), {});
  client.run_steps(20);
  ASSERT_TRUE(session.view().plan_replayed);
  ASSERT_EQ(client.planned_width(2), 1);
  ASSERT_EQ(client.planned_width(1), 2);
  session.set_bounds(perfmodel::unbound_cases(2), 2, 2);
  client.set_default_width(2);
  EXPECT_EQ(session.view().phase, Phase::kTuned);
  EXPECT_TRUE(session.view().plan_replayed);
  client.run_steps(20);
  EXPECT_EQ(client.planned_width(2), 1);
  EXPECT_EQ(client.planned_width(1), 2);
  for (const PlanEntry& entry : client.page()->entries) EXPECT_LT(entry.width, 2);
  client.run_steps(2000);
  EXPECT_FALSE(session.view().plan_replayed);
  EXPECT_EQ(session.view().phase, Phase::kTuned);
}

TEST(SessionReplay, AppliesStoredPlanForNewWidthAtOnce) {
  const StoredPlan wide = tuned_once(mixed_program());
  Session session(options_for(4));
  SimulatedClient client(session, mixed_program(), {});
  client.run_steps(10);
  ASSERT_FALSE(session.view().plan_replayed);
  session.set_bounds(perfmodel::unbound_cases(2), 2, 2, std::nullopt);
  client.set_default_width(2);
  client.run_steps(10);
  session.set_bounds(perfmodel::unbound_cases(4), 4, 4, wide);
  client.set_default_width(4);
  EXPECT_TRUE(session.view().plan_replayed);
  client.run_steps(10);
  EXPECT_EQ(client.planned_width(2), 1);
  EXPECT_EQ(client.planned_width(1), 2);

  StoredPlan other = wide;
  other.default_width = 3;
  other.step_fingerprint ^= 1;
  session.set_bounds(perfmodel::unbound_cases(3), 3, 3, other);
  EXPECT_EQ(session.view().decision.find("for so many cores"), std::string::npos)
      << "another program's";
}

// Most ops of the step are left alone, its marker among them: what is told of while whole steps are
// compared repeats without them.
TEST(SessionRecognition, KeepsStepWhileOnlySomeOpsAreReported) {
  SimulatedProgram program = mixed_program();
  for (int i = 0; i < 40; ++i) {
    SimulatedOp op;
    op.key = 2000 + static_cast<uint64_t>(i);
    op.name = "region" + std::to_string(i);
    op.ns = table({0.1 * kMs, 0.1 * kMs, 0.1 * kMs, 0.1 * kMs});
    op.region = true;
    program.ops.push_back(op);
    program.order.push_back(static_cast<int>(program.ops.size()) - 1);
  }
  Session session(options_for(4));
  SimulatedClientOptions noisy;
  noisy.noise.per_step = 0.2;  // so that comparing takes a while
  SimulatedClient client(session, program, noisy);
  int compared = 0;
  for (int i = 0; i < 600; ++i) {
    client.run_steps(1);
    compared += session.view().phase == Phase::kComparing ? 1 : 0;
    if (client.page() == nullptr || !client.page()->marker) continue;
    ASSERT_EQ(client.page()->marker->ops, 47) << "after " << i << " steps";
  }
  EXPECT_GT(compared, 10);
  EXPECT_EQ(session.view().phase, Phase::kTuned);
}

TEST(ObservingSession, ChangesNoWidths) {
  SessionOptions options = options_for(4);
  options.may_change_widths = false;
  Session session(options);
  SimulatedClient client(session, mixed_program(), {});
  client.run_steps(30);
  EXPECT_EQ(session.view().phase, Phase::kObserving);
  EXPECT_TRUE(client.page()->record_all);
  client.run_steps(60);
  EXPECT_FALSE(client.page()->record_all);
  EXPECT_TRUE(client.page()->entries.empty());
  EXPECT_EQ(client.page()->schedule_length, 0);
  const SessionView view = session.view();
  EXPECT_EQ(view.sampled_steps, 0u);
  EXPECT_GT(view.own_steps.count(), 60u);
  ASSERT_EQ(view.ops.size(), 7u);
  for (const OpView& op : view.ops) {
    ASSERT_EQ(op.curve.sampled().size(), 1u);
    EXPECT_EQ(op.curve.sampled()[0].at.width, 4);
  }
  EXPECT_NEAR(view.observed_share, 0.99, 0.02);
}

TEST(SessionCaps, NextPageObeysNarrowerDefaultWidth) {
  Session session(options_for(4));
  SimulatedProgram program = one_of_each({
      table({9 * kMs, 5 * kMs, 2 * kMs, 4 * kMs}),  // best at 3
      table({1 * kMs, 2 * kMs, 3 * kMs, 4 * kMs}),
  });
  SimulatedClient client(session, program, {});
  ASSERT_TRUE(client.run_until_tuned(400));
  ASSERT_EQ(client.planned_width(0), 3);
  client.set_default_width(2);
  const std::optional<PlanDraft> next = session.take_plan(999);
  ASSERT_TRUE(next.has_value());
  for (const PlanEntry& entry : next->entries) {
    EXPECT_LT(entry.width, 2);
    for (int width : entry.schedule) EXPECT_LT(width, 2);
  }
}

TEST(SessionCaps, ReportsUserCapBelowFasterWidth) {
  Session session(options_for(4));
  SimulatedClient client(session, one_of_each({scaling(9 * kMs), scaling(4 * kMs)}), {});
  ASSERT_TRUE(client.run_until_tuned(400));
  client.set_default_width(2);
  ASSERT_TRUE(client.run_until_tuned(400));
  EXPECT_EQ(session.view().ops[0].rule, Rule::kUserCap);
}

TEST(SessionCaps, DoesNotReportLeaseAsUserCap) {
  Session session(options_for(4));
  SimulatedClient client(session, one_of_each({scaling(9 * kMs), scaling(4 * kMs)}), {});
  ASSERT_TRUE(client.run_until_tuned(400));
  session.set_bounds(perfmodel::unbound_cases(2), 2, 2);
  client.set_default_width(2);
  ASSERT_TRUE(client.run_until_tuned(400));
  EXPECT_EQ(session.view().ops[0].rule, Rule::kDefaultWidth);
}

TEST(SessionCaps, SkipsSearchForSingleThreadedProgram) {
  SimulatedClientOptions serial;
  serial.default_width = 1;
  Session session(options_for(4));
  SimulatedClient client(session, mixed_program(), serial);
  ASSERT_TRUE(client.run_until_tuned(50));
  EXPECT_EQ(session.view().sampled_steps, 0u);
}

TEST(SessionCaps, SettlesWhenDefaultWidthKeepsChanging) {
  Session session(options_for(4));
  SimulatedClient client(session, mixed_program(), {});
  for (int i = 0; i < 12; ++i) {
    client.run_steps(15);
    client.set_default_width(i % 2 == 0 ? 3 : 4);
  }
  ASSERT_TRUE(client.run_until_tuned(10));
}

TEST(SessionSearch, LeavesRegionsAndUnsteerableOpsAlone) {
  SimulatedProgram program = mixed_program();
  program.ops[1].region = true;
  program.ops[2].steerable = false;
  Session session(options_for(4));
  SimulatedClient client(session, program, {});
  ASSERT_TRUE(client.run_until_tuned(400));
  const SessionView view = session.view();
  for (const OpView& op : view.ops) {
    if (op.place.key == 1001 || op.place.key == 1002) {
      EXPECT_EQ(op.rule, Rule::kLeftAlone);
      EXPECT_EQ(op.width, 0);
    }
  }
}

TEST(SessionRobustness, TunesDespiteDroppedEvents) {
  SimulatedClientOptions lossy;
  lossy.drop = 0.03;
  Session session(options_for(4));
  SimulatedClient client(session, mixed_program(), lossy);
  ASSERT_TRUE(client.run_until_tuned(1500));
  EXPECT_LT(client.planned_step_ns(), 1.01 * client.uniform_step_ns(4));
}

// Each op once, except that those of the loop come `times` times in a row.
SimulatedProgram around_a_loop(int before, int loop, int times) {
  SimulatedProgram program = one_of_each(std::vector<std::function<double(int)>>(
      static_cast<std::size_t>(before + loop), scaling(0.2 * kMs, 0.01 * kMs)));
  for (int round = 1; round < times; ++round) {
    for (int i = 0; i < loop; ++i) program.order.push_back(before + i);
  }
  return program;
}

TEST(SessionCounts, CountsEveryStep) {
  Session session(options_for(4));
  SimulatedClient client(session, mixed_program(), {});
  ASSERT_TRUE(client.run_until_tuned(400));
  const uint32_t at_first = session.view().steps;
  client.run_steps(100);
  EXPECT_EQ(session.view().steps, at_first + 100);

  Session other(options_for(4));
  SimulatedClient second(other, mixed_program(), {});
  second.run_steps(250);
  EXPECT_GE(other.view().steps, 248u) << "those before the step was known count too";
  EXPECT_LE(other.view().steps, 250u);
}

TEST(SessionCounts, DoesNotCountLoopIterationsAsSteps) {
  Session session(options_for(4));
  SimulatedClient client(session, around_a_loop(40, 5, 60), {});
  // The first step's loop has far more rounds: it is recognised, tuned and settled by itself.
  std::vector<int> first;
  for (int i = 0; i < 40; ++i) first.push_back(i);
  for (int round = 0; round < 2500; ++round) {
    for (int i = 0; i < 5; ++i) first.push_back(40 + i);
  }
  client.run_sequence(first);
  client.run_steps(60);
  ASSERT_TRUE(session.view().marker);
  EXPECT_EQ(session.view().marker->ops, 340);  // the whole step in the end
  // What passed before the recogniser's memory begins is known by its number of ops alone.
  EXPECT_LE(session.view().steps, 61u + first.size() / 340);
}

TEST(SessionRobustness, FindsStepAroundInnerLoop) {
  Session session(options_for(4));
  SimulatedClient client(session, around_a_loop(40, 5, 120), {});
  client.run_steps(120);
  ASSERT_TRUE(session.view().marker);
  EXPECT_EQ(session.view().marker->ops, 640);
  EXPECT_GE(session.view().steps, 110u);
  EXPECT_LE(session.view().steps, 120u);
}

TEST(SessionRobustness, SettlesWhenMasksAreRefused) {
  SessionOptions options = options_for(8);
  options.cases = {{1, Binding::kSpread},  {2, Binding::kSpread},  {3, Binding::kSpread},
                   {4, Binding::kSpread},  {2, Binding::kCompact}, {4, Binding::kCompact},
                   {6, Binding::kCompact}, {8, Binding::kCompact}};
  SimulatedClientOptions refused;
  refused.default_width = 8;
  refused.masks_refused = true;
  Session session(options);
  SimulatedClient client(session, one_of_each({scaling(8 * kMs), scaling(2 * kMs, 1 * kMs)}),
                         refused);
  ASSERT_TRUE(client.run_until_tuned(600));
}

TEST(SessionRobustness, RetunesAfterStepChanges) {
  Session session(options_for(4));
  SimulatedClient client(session, mixed_program(), {});
  ASSERT_TRUE(client.run_until_tuned(400));
  SimulatedProgram other = mixed_program();
  for (SimulatedOp& op : other.ops) op.key += 5000;
  // The first step stays a part of the new one, but its ops have other ones before them.
  SimulatedProgram both = mixed_program();
  for (std::size_t i = 0; i < other.ops.size(); ++i) {
    both.ops.push_back(other.ops[i]);
    both.order.push_back(static_cast<int>(both.ops.size()) - 1);
  }
  client.replace_program(both);
  client.run_steps(60);
  ASSERT_TRUE(client.run_until_tuned(600));
  EXPECT_EQ(session.view().marker->ops, 14);
  EXPECT_EQ(client.planned_width(9), 1);
}

TEST(SessionPaperSearch, SamplesWidthOneFirstThenWider) {
  SessionOptions options = options_for(4);
  options.search = SearchKind::kPaper;
  options.strategy = Strategy::kOne;
  Session session(options);
  SimulatedClient client(session, mixed_program(), {});
  std::vector<int> widths;
  for (int step = 0; step < 300 && session.view().phase != Phase::kComparing; ++step) {
    client.run_steps(1);
    if (client.page() == nullptr || client.page()->schedule_length == 0) continue;
    int widest = 0;
    for (const PlanEntry& entry : client.page()->entries) {
      for (int width : entry.schedule) widest = std::max(widest, width);
    }
    if (widest > 0 && (widths.empty() || widths.back() != widest)) widths.push_back(widest);
  }
  EXPECT_EQ(widths, (std::vector<int>{1, 2, 3}));
  ASSERT_TRUE(client.run_until_tuned(400));
  EXPECT_EQ(client.planned_width(1), 2);
  EXPECT_EQ(client.planned_width(2), 1);
  EXPECT_EQ(client.planned_width(3), 2);
}

TEST(SessionScaling, TunesStepsOfFiveHundredAndFiveThousandOps) {
  for (int length : {500, 5000}) {
    SimulatedProgram program;
    const int distinct = 60;
    for (int i = 0; i < distinct; ++i) {
      SimulatedOp op;
      op.key = 77 + static_cast<uint64_t>(i);
      op.name = "op" + std::to_string(i % 7);
      op.ns = i % 3 == 0 ? table({100e3, 140e3, 170e3, 200e3}) : scaling(400e3);
      program.ops.push_back(op);
    }
    std::mt19937_64 random(5);
    for (int i = 0; i < length; ++i) {
      program.order.push_back(static_cast<int>(random() % distinct));
    }
    Session session(options_for(4));
    SimulatedClient client(session, program, {});
    ASSERT_TRUE(client.run_until_tuned(400)) << length;
    double oracle = 0;
    for (int index : program.order) {
      const auto& op = program.ops[static_cast<std::size_t>(index)];
      oracle += std::min({op.ns(1), op.ns(2), op.ns(3), op.ns(4)});
    }
    EXPECT_LT(client.planned_step_ns(), 1.02 * oracle) << length;
    EXPECT_LE(client.page()->entries.size(), 4096u);
  }
}

TEST(SessionScaling, SkipsHopelessNarrowWidthsOnThirtyTwoCores) {
  Session session(options_for(32));
  SimulatedClientOptions wide;
  wide.default_width = 32;
  const auto knee = [](double parallel, double overhead) {
    return [=](int width) { return parallel / width + overhead * width; };
  };
  SimulatedClient client(
      session,
      one_of_each({scaling(320 * kMs), knee(64 * kMs, 0.25 * kMs), knee(16 * kMs, 0.4 * kMs)}),
      wide);
  ASSERT_TRUE(client.run_until_tuned(600));
  EXPECT_EQ(client.planned_width(0), 32);
  EXPECT_EQ(client.runs_of(1000, 1), 0) << "a width far below a hopeless one is never run";
  const double oracle = 10 * kMs + 8 * kMs + 2 * std::sqrt(16 * 0.4) * kMs;
  EXPECT_LT(client.planned_step_ns(), 1.03 * oracle);
  EXPECT_LT(session.view().seconds_lost_to_sampling, 80 * client.uniform_step_ns(32) * 1e-9);
}

TEST(SessionRecognition, KeepsRecognisingWithoutRepeatingStep) {
  Session session(options_for(4));
  SimulatedProgram program = mixed_program();
  SimulatedClient client(session, program, {});
  std::mt19937_64 random(3);
  std::vector<int> noise(200000);
  for (int& index : noise) index = static_cast<int>(random() % 7);
  for (int i = 0; i < 6; ++i) client.run_sequence(noise);
  EXPECT_EQ(session.view().phase, Phase::kRecognising);
}

}  // namespace
}  // namespace optile::tuner
