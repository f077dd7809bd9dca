// A session whose framework runs several ops at once: how it has them pass while it measures,
// compares and is done.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <vector>

#include "tests/tuner/session/simulated_programs.h"
#include "tuner/session/session.h"

namespace optile::tuner {
namespace {

using perfmodel::Nanoseconds;

constexpr int kCores = 4;
constexpr int kPlaces = 8;
constexpr double kOpNs = 1e6;

// Of an execution alone: some use every thread, some lose by each.
double op_ns(int place, int width) {
  return place % 2 == 0 ? kOpNs / width : kOpNs * (0.9 + 0.1 * width);
}

// What a step takes by how its ops pass, over the time of its ops one after the other.
struct Executor {
  double untouched = 0.6;
  double capped = 0.6;  // at half of the threads
  double packed = 0.6;
  double narrow = 0.8;  // capped at one
  double ahead = 0.7;   // admitted by what the step waits for
};

// A program in TensorFlow's manner: declared steps, ops in an order that differs in each.
class ExecutorClient {
 public:
  ExecutorClient(Session& session, Executor executor, int cores = kCores)
      : session_(session), executor_(executor), cores_(cores) {
    session_.set_default_width(cores_, false);
    for (int i = 0; i < kPlaces; ++i) {
      perfmodel::OpDescription op;
      op.key = key_of(i);
      op.name = i < 4 ? "Conv2D" : "MatMul";
      op.unordered = true;
      session_.add_op(op);
    }
  }

  void run_steps(int count) {
    for (int i = 0; i < count; ++i) run_step();
  }
  bool run_until_tuned(int most) {
    for (int i = 0; i < most; ++i) {
      run_step();
      if (session_.view().phase == Phase::kTuned) {
        run_steps(3);
        return true;
      }
    }
    return false;
  }
  const PlanDraft& page() const { return *page_; }
  // Kinds of flow of the steps that ran while the session was in this phase.
  const std::set<OpFlow::Kind>& flows_in(Phase phase) { return flows_[phase]; }
  int unheard_steps() const { return unheard_steps_; }

 private:
  static uint64_t key_of(int place) { return static_cast<uint64_t>(100 + place); }

  OpFlow flow() const {
    if (!page_) return {};
    if (!column_ || page_->schedule_flow.empty()) return page_->flow;
    return page_->schedule_flow[static_cast<std::size_t>(*column_)];
  }

  int width_of(int place) const {
    if (!page_) return cores_;
    for (const PlanEntry& entry : page_->entries) {
      if (entry.place.key != key_of(place)) continue;
      const int width = column_ && !entry.schedule.empty()
                            ? entry.schedule[static_cast<std::size_t>(*column_)]
                            : entry.width;
      return width == 0 ? cores_ : width;
    }
    return cores_;
  }

  void run_step() {
    adopt();
    const OpFlow passes = flow();
    flows_[session_.view().phase].insert(passes.kind);
    const bool serial = passes.kind == OpFlow::Kind::kSerial;
    std::vector<int> order(kPlaces);
    for (int i = 0; i < kPlaces; ++i) order[static_cast<std::size_t>(i)] = i;
    std::shuffle(order.begin(), order.end(), random_);
    double sum = 0;
    for (const int place : order) {
      const int width = serial ? width_of(place) : cores_;
      const double taken = op_ns(place, width) * noise();
      sum += taken;
      if (!page_ || page_->record_all) tell_op(place, width, taken, !serial);
    }
    StepEvent step;
    step.step = ++step_;
    step.duration = ns(serial ? sum : side_by_side_ns(passes) * noise());
    // Ops of a step that passes untouched are told where all are, and now and then.
    step.heard =
        !page_ || page_->record_all || serial || passes.admits() || (!column_ && step_ % 32 < 2);
    if (step.heard) {
      step.observed = step.steerable = step.duration;
      step.ops = kPlaces;
    } else {
      ++unheard_steps_;
    }
    step.column = column_;
    step.plan = number_;
    now_ += static_cast<double>(step.duration.count());
    session_.on_progress(static_cast<uint64_t>(step_) * kPlaces, step_);
    session_.on_declared_steps(step_);
    session_.on_step(step);
    if (column_ && ++*column_ >= page_->schedule_length) column_.reset();
  }

  double side_by_side_ns(const OpFlow& passes) const {
    double sum = 0;
    for (int i = 0; i < kPlaces; ++i) sum += op_ns(i, cores_);
    if (passes.kind == OpFlow::Kind::kAhead) return sum * executor_.ahead;
    if (passes.admits()) return sum * executor_.packed;
    if (passes.width_cap == 0) return sum * executor_.untouched;
    return sum * (passes.width_cap == 1 ? executor_.narrow : executor_.capped);
  }

  void tell_op(int place, int width, double taken, bool overlapped) {
    OpEvent event;
    event.place = {key_of(place), static_cast<uint64_t>(7 + place)};
    event.begin = ns(now_);
    event.duration = ns(taken);
    event.step = step_;
    event.width = width;
    event.default_width = width == cores_;
    event.overlapped = overlapped;
    event.column = column_;
    event.plan = number_;
    session_.on_op(event);
  }

  void adopt() {
    std::optional<PlanDraft> draft = session_.take_plan(number_ + 1);
    if (!draft) return;
    page_ = std::move(draft);
    ++number_;
    column_.reset();
    if (page_->schedule_length > 0) column_ = 0;
  }

  static Nanoseconds ns(double value) { return Nanoseconds(std::llround(value)); }
  double noise() { return std::exp(0.01 * std::normal_distribution<double>(0, 1)(random_)); }

  Session& session_;
  Executor executor_;
  int cores_;
  std::mt19937_64 random_{7};
  std::optional<PlanDraft> page_;
  uint64_t number_ = 0;
  std::optional<int> column_;
  uint32_t step_ = 0;
  int unheard_steps_ = 0;
  double now_ = 0;
  std::map<Phase, std::set<OpFlow::Kind>> flows_;
};

using Kind = OpFlow::Kind;

TEST(SideBySide, MeasuresOpsOneAtATime) {
  Session session(options_for(kCores));
  ExecutorClient client(session, {});
  ASSERT_TRUE(client.run_until_tuned(600));
  EXPECT_EQ(client.flows_in(Phase::kExploring), (std::set<Kind>{Kind::kSerial}));
  EXPECT_EQ(client.flows_in(Phase::kComparing),
            (std::set<Kind>{Kind::kFree, Kind::kPacked, Kind::kAhead}));
}

TEST(SideBySide, KeepsUntouchedFlowWhereNothingIsFaster) {
  Session session(options_for(kCores));
  ExecutorClient client(session, {0.6, 0.65, 0.65});
  ASSERT_TRUE(client.run_until_tuned(600));
  EXPECT_EQ(client.page().flow, OpFlow{});
}

TEST(SideBySide, CountsCoverageOfStepsThatWereHeard) {
  Session session(options_for(kCores));
  ExecutorClient client(session, {0.6, 0.55, 0.65});
  ASSERT_TRUE(client.run_until_tuned(600));
  EXPECT_GT(client.unheard_steps(), 0);
  EXPECT_DOUBLE_EQ(session.view().observed_share, 1);
}

TEST(SideBySide, AdmitsOpsWhereThatIsFastest) {
  Session session(options_for(kCores));
  ExecutorClient client(session, {0.6, 0.6, 0.5});
  ASSERT_TRUE(client.run_until_tuned(600));
  const PlanDraft& page = client.page();
  EXPECT_EQ(page.flow.kind, Kind::kPacked);
  EXPECT_EQ(page.cores, kCores);
  EXPECT_FALSE(page.may_pause_sampling);
  ASSERT_EQ(page.entries.size(), std::size_t{kPlaces});
  for (const PlanEntry& entry : page.entries) {
    EXPECT_EQ(entry.menu.per_step, 1);
    ASSERT_GE(entry.menu.choices.size(), 2u);
    // The fastest width comes first.
    const bool scales = (entry.place.key - 100) % 2 == 0;
    EXPECT_EQ(entry.menu.choices.front().width == kCores, scales) << entry.place.key;
    EXPECT_TRUE(std::is_sorted(entry.menu.choices.begin(), entry.menu.choices.end(),
                               [](const auto& a, const auto& b) { return a.seconds < b.seconds; }));
  }
}

// What an earlier run's session has left in the store, as the store gives it back.
StoredPlan stored_after(Executor executor) {
  Session session(options_for(kCores));
  ExecutorClient client(session, executor);
  EXPECT_TRUE(client.run_until_tuned(600));
  std::optional<Session::Settled> settled = session.take_settled();
  if (!settled) return {};
  for (const StoredProfile& profile : settled->profiles) {
    settled->plan.times.push_back({profile.key, profile.at.width, profile.median_ns});
  }
  return settled->plan;
}

TEST(SideBySide, ReplaysAdmissionsOfEarlierRun) {
  SessionOptions options = options_for(kCores);
  options.stored = stored_after({0.6, 0.6, 0.5});
  EXPECT_EQ(options.stored->flow.kind, Kind::kPacked);
  Session session(options);
  ExecutorClient client(session, {0.6, 0.6, 0.5});
  ASSERT_TRUE(client.run_until_tuned(20));
  EXPECT_EQ(client.page().flow.kind, Kind::kPacked);
  ASSERT_EQ(client.page().entries.size(), std::size_t{kPlaces});
  for (const PlanEntry& entry : client.page().entries) {
    EXPECT_EQ(entry.menu.per_step, 1);
    EXPECT_GE(entry.menu.choices.size(), 2u);
  }
  EXPECT_TRUE(client.flows_in(Phase::kExploring).empty());
}

// Before the step is known again they would pass one at a time otherwise.
TEST(SideBySide, ReplaysCapFromFirstStep) {
  SessionOptions options = options_for(kCores);
  options.stored = stored_after({0.6, 0.5, 0.6});
  Session session(options);
  ExecutorClient client(session, {0.6, 0.5, 0.6});
  client.run_steps(2);
  EXPECT_EQ(client.page().flow.kind, Kind::kFree);
  EXPECT_EQ(client.page().flow.width_cap, 2);
}

TEST(SideBySide, ReplayObeysStrategyThatUserChose) {
  SessionOptions options = options_for(kCores);
  options.stored = stored_after({0.6, 0.6, 0.5});
  options.strategy = Strategy::kUniform;
  Session session(options);
  ExecutorClient client(session, {0.6, 0.6, 0.5});
  ASSERT_TRUE(client.run_until_tuned(600));
  EXPECT_FALSE(client.page().flow.admits());
}

TEST(SideBySide, ReplaysUntouchedFlowWithoutSearching) {
  SessionOptions options = options_for(kCores);
  options.stored = stored_after({0.6, 0.65, 0.65});
  Session session(options);
  ExecutorClient client(session, {0.6, 0.65, 0.65});
  ASSERT_TRUE(client.run_until_tuned(20));
  EXPECT_EQ(client.page().flow, OpFlow{});
  EXPECT_TRUE(client.flows_in(Phase::kExploring).empty());
}

TEST(SideBySide, CapsOpsBeforeAnyIsMeasuredByItself) {
  Session session(options_for(kCores));
  ExecutorClient client(session, {0.6, 0.5, 0.6});
  ASSERT_TRUE(client.run_until_tuned(60));
  client.run_steps(20);
  EXPECT_EQ(client.page().flow, (OpFlow{Kind::kFree, 2}));
  EXPECT_TRUE(client.flows_in(Phase::kExploring).empty());
}

TEST(SideBySide, ExploresBesideCapOnceItCanBeAfforded) {
  Session session(options_for(kCores));
  ExecutorClient client(session, {0.6, 0.5, 0.4});
  ASSERT_TRUE(client.run_until_tuned(60));
  EXPECT_EQ(client.page().flow.width_cap, 2);
  client.run_steps(2000);
  EXPECT_EQ(client.page().flow.kind, Kind::kPacked);
}

TEST(SideBySide, KeepsCapThatExploringDoesNotBeat) {
  Session session(options_for(kCores));
  ExecutorClient client(session, {0.6, 0.5, 0.6});
  client.run_steps(3000);
  EXPECT_EQ(client.flows_in(Phase::kExploring), (std::set<Kind>{Kind::kSerial}));
  EXPECT_EQ(client.page().flow, (OpFlow{Kind::kFree, 2}));
}

// Ops of one thread each have no width to search.
TEST(SideBySide, ExploresNothingBesideCapOfOne) {
  Session session(options_for(kCores));
  ExecutorClient client(session, {0.6, 0.5, 0.6, 0.4});
  client.run_steps(3000);
  EXPECT_TRUE(client.flows_in(Phase::kExploring).empty());
  EXPECT_EQ(client.page().flow, (OpFlow{Kind::kFree, 1}));
}

TEST(SideBySide, ExploresBesideCapOfRunThatWasShort) {
  SessionOptions options = options_for(kCores);
  options.stored = stored_after({0.6, 0.5, 0.4});
  EXPECT_TRUE(options.stored->times.empty());
  Session session(options);
  ExecutorClient client(session, {0.6, 0.5, 0.4});
  client.run_steps(20);
  EXPECT_EQ(client.page().flow.width_cap, 2);
  client.run_steps(2000);
  EXPECT_EQ(client.page().flow.kind, Kind::kPacked);
}

TEST(SideBySide, ComparesOnlyCapsWhereOneWidthIsWanted) {
  SessionOptions options = options_for(kCores);
  options.strategy = Strategy::kUniform;
  Session session(options);
  ExecutorClient client(session, {0.6, 0.65, 0.5});
  ASSERT_TRUE(client.run_until_tuned(200));
  EXPECT_TRUE(client.flows_in(Phase::kExploring).empty());
  EXPECT_EQ(client.page().flow, OpFlow{});
}

// As on a machine with cache tiles, where the threads of a team are bound to them.
TEST(SideBySide, TriesWidthsUnboundWhereOthersAreBound) {
  SessionOptions options = options_for(kCores);
  options.cases = {{2, perfmodel::Binding::kCompact}, {4, perfmodel::Binding::kCompact}};
  options.strategy = Strategy::kOne;
  Session session(options);
  ExecutorClient client(session, {1, 1, 1});
  ASSERT_TRUE(client.run_until_tuned(600));
  std::set<int> widths;
  for (const PlanEntry& entry : client.page().entries) widths.insert(entry.width);
  EXPECT_TRUE(widths.contains(1)) << "those that lose by each thread";
}

TEST(SideBySide, FillsHardwareThreadsWhereThereAreSome) {
  SessionOptions options = options_for(kCores);
  options.hardware_threads = 2;
  Session session(options);
  ExecutorClient client(session, {0.6, 0.6, 0.5});
  ASSERT_TRUE(client.run_until_tuned(600));
  EXPECT_EQ(client.page().flow.kind, Kind::kFilled);
}

// So that an op fits beside others, and not only where it fits alone.
TEST(SideBySide, OffersWidthsFarApart) {
  constexpr int kMany = 16;
  SessionOptions options = options_for(kMany);
  options.strategy = Strategy::kThree;
  Session session(options);
  ExecutorClient client(session, {0.6, 0.6, 0.1}, kMany);
  ASSERT_TRUE(client.run_until_tuned(2000));
  ASSERT_EQ(client.page().flow.kind, Kind::kPacked);
  int wide = 0;
  for (const PlanEntry& entry : client.page().entries) {
    const std::vector<OpMenu::Choice>& choices = entry.menu.choices;
    if (choices.size() < OpMenu::kMostWidths - 1 || choices.front().width < kMany / 2) continue;
    ++wide;
    EXPECT_LE(choices.back().width, 2) << "also where nothing so narrow was measured";
    for (std::size_t i = 1; i + 1 < choices.size(); ++i) {
      EXPECT_LE(3 * choices[i].width, 2 * choices[i - 1].width) << entry.place.key;
    }
  }
  EXPECT_GE(wide, 2);
}

TEST(SideBySide, LooksAheadWhereThatIsFastest) {
  Session session(options_for(kCores));
  ExecutorClient client(session, {0.6, 0.6, 0.55, 0.8, 0.5});
  ASSERT_TRUE(client.run_until_tuned(600));
  EXPECT_EQ(client.page().flow.kind, Kind::kAhead);
  EXPECT_FALSE(client.page().entries.empty());
}

TEST(SideBySide, ObeysStrategyThatUserChose) {
  SessionOptions options = options_for(kCores);
  options.hardware_threads = 2;
  options.strategy = Strategy::kThree;
  Session session(options);
  ExecutorClient client(session, {0.6, 0.4, 0.55, 0.8, 0.3});
  ASSERT_TRUE(client.run_until_tuned(600));
  EXPECT_EQ(client.page().flow.kind, Kind::kPacked);
}

}  // namespace
}  // namespace optile::tuner
