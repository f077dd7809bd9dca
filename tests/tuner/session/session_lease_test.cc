// A session whose cores change while it runs: what its search may lose under the new ones.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/tuner/session/simulated_client.h"
#include "tests/tuner/session/simulated_programs.h"

namespace optile::tuner {
namespace {

// Every op scales, so that each trial of a narrower width costs something.
SimulatedProgram training() {
  std::vector<std::function<double(int)>> curves;
  for (int i = 0; i < 24; ++i) curves.emplace_back(scaling((40 + i % 5) * kMs, 0.1 * kMs));
  return one_of_each(std::move(curves));
}

// Noise of noisy() clients, whose mean is above that of a step without.
constexpr double kOpNoise = 0.1;
constexpr double kStepNoise = 0.05;
const double kMeanOfNoise = std::exp((kOpNoise * kOpNoise + kStepNoise * kStepNoise) / 2);

// The steps of an exploration, those of them that were trials, and what all lost, in steps at the
// default width.
struct Explored {
  int steps = 0;
  uint32_t trials = 0;
  double lost = 0;
};

Explored explore(Session& session, SimulatedClient& client, int own) {
  Explored explored;
  const double step = client.uniform_step_ns(own) * kMeanOfNoise;
  const uint32_t sampled = session.view().sampled_steps;
  for (; explored.steps < 1000 && session.view().phase == Phase::kExploring; ++explored.steps) {
    const double before = client.busy_ns();
    client.run_steps(1);
    explored.lost += (client.busy_ns() - before) / step - 1;
  }
  explored.trials = session.view().sampled_steps - sampled;
  return explored;
}

void change(Session& session, SimulatedClient& client, int cores) {
  ASSERT_TRUE(client.run_until_tuned(1000));
  session.set_bounds(perfmodel::unbound_cases(cores), cores, cores);
  client.set_default_width(cores);
}

SimulatedClientOptions noisy(int default_width, uint64_t seed) {
  SimulatedClientOptions options;
  options.default_width = default_width;
  options.seed = seed;
  options.noise.per_op = kOpNoise;
  options.noise.per_step = kStepNoise;
  return options;
}

// Steps on eight cores take half as long as those on four did, so the time that was sampled on four
// looks like a loss on eight: the search ended after its first page, of 15 steps.
TEST(SessionLease, SearchContinuesAfterLeaseGrows) {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    Session session(options_for(8));
    SimulatedClient client(session, training(), noisy(8, seed));
    change(session, client, 4);
    explore(session, client, 4);
    change(session, client, 8);
    const Explored grown = explore(session, client, 8);
    EXPECT_GT(grown.steps, 30) << seed;
    // Against steps on four cores every trial on eight gains, and any may be afforded.
    EXPECT_LT(grown.lost, 4.5) << seed;
  }
}

// The other way round it looked like a gain, which the search then lost: in more than twice the
// steps of one that begins on eight cores.
TEST(SessionLease, SearchIsNotProlongedAfterLeaseShrinks) {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    Session fresh(options_for(8));
    SimulatedClient other(fresh, training(), noisy(8, seed));
    while (fresh.view().phase == Phase::kRecognising) other.run_steps(1);
    const Explored alone = explore(fresh, other, 8);
    Session session(options_for(16));
    SimulatedClient client(session, training(), noisy(16, seed));
    change(session, client, 8);
    const Explored narrowed = explore(session, client, 8);
    EXPECT_LT(narrowed.steps, alone.steps * 3 / 2) << seed;
    // Against steps on sixteen cores every trial on eight loses, and soon none may be afforded.
    EXPECT_GE(narrowed.trials, 0.8 * alone.trials) << seed;
    EXPECT_LT(narrowed.lost, 20) << seed;
  }
}

// Cores are lent for moments: what steps take with them says nothing about the plan.
TEST(SessionLease, IgnoresStepsRunWithLentCores) {
  Session session(options_for(4));
  SimulatedClient client(session, mixed_program(), {});
  ASSERT_TRUE(client.run_until_tuned(400));
  client.run_steps(40);
  const std::size_t heard = session.session_summary().tuned_steps;
  const uint32_t controls = session.view().guard.controls;
  session.set_lent(true);
  client.run_steps(2);  // until the page has arrived
  const std::size_t before = session.session_summary().tuned_steps;
  EXPECT_LE(before, heard + 2);
  session.on_surroundings_changed();  // asks for a control
  client.run_steps(60);
  EXPECT_EQ(session.session_summary().tuned_steps, before);
  EXPECT_EQ(session.view().guard.controls, controls);
  EXPECT_EQ(client.page()->schedule_length, 0);
  session.set_lent(false);
  client.run_steps(60);
  EXPECT_GT(session.session_summary().tuned_steps, before);
  EXPECT_GT(session.view().guard.controls, controls) << "it was only put off";
}

// A control that was on its way when the neighbour began to wait is put off, too.
TEST(SessionLease, PostponesControlWhileCoresAreLent) {
  Session session(options_for(4));
  SimulatedClient client(session, mixed_program(), {});
  ASSERT_TRUE(client.run_until_tuned(400));
  client.run_steps(40);
  session.on_surroundings_changed();
  for (int i = 0; i < 20 && client.page()->schedule_length == 0; ++i) client.run_steps(1);
  ASSERT_GT(client.page()->schedule_length, 0);
  const uint32_t controls = session.view().guard.controls;
  session.set_lent(true);
  client.run_steps(30);
  EXPECT_EQ(client.page()->schedule_length, 0);
  EXPECT_LE(session.view().guard.controls, controls + 1) << "the step that ran may be counted";
  session.set_lent(false);
  client.run_steps(60);
  EXPECT_GT(session.view().guard.controls, controls);
}

// Widths of the second op, which is fastest with two threads on any number of cores: in the page of
// a client that was left two of its four, while the other two are lent to it.
class LentPlan : public testing::Test {
 protected:
  LentPlan() {
    EXPECT_TRUE(client_.run_until_tuned(400));
    known_ = session_.take_settled()->plan;
    session_.set_bounds(perfmodel::unbound_cases(2), 2, 2);
    client_.set_default_width(2);
    EXPECT_TRUE(client_.run_until_tuned(1000));
    client_.run_steps(40);
    EXPECT_EQ(width(), 0) << "as wide as it may be";
  }
  int width() const {
    for (const PlanEntry& entry : client_.page()->entries) {
      if (entry.place.key == program_.ops[1].key) return entry.width;
    }
    return 0;
  }
  void lend(const std::optional<StoredPlan>& known) {
    session_.set_lent(true, known);
    client_.run_steps(4);
  }

  SimulatedProgram program_ = mixed_program();
  Session session_{options_for(4)};
  SimulatedClient client_{session_, program_, {}};
  StoredPlan known_;
};

TEST_F(LentPlan, IsInForceWhileCoresAreLent) {
  lend(known_);
  EXPECT_EQ(width(), 2);
  for (const PlanEntry& entry : client_.page()->entries) {
    EXPECT_EQ(entry.baseline.count(), 0) << "a neighbour that wakes proves nothing";
    EXPECT_LT(entry.width, 4);
  }
  session_.set_lent(false);
  client_.run_steps(4);
  EXPECT_EQ(width(), 0);
  lend(std::nullopt);
  EXPECT_EQ(width(), 0) << "wider with the others, where nothing is known";
}

TEST_F(LentPlan, IsIgnoredForDifferentStep) {
  known_.step_fingerprint ^= 1;
  lend(known_);
  EXPECT_EQ(width(), 0);
}

TEST_F(LentPlan, SkipsWidthsThatWereUndone) {
  const uint64_t undone = program_.ops[2].key;  // fastest alone, also on two cores
  session_.undo(undone);
  lend(known_);
  EXPECT_EQ(width(), 2);
  for (const PlanEntry& entry : client_.page()->entries) EXPECT_NE(entry.place.key, undone);
  session_.undo(program_.ops[1].key);  // which only the plan that is lent makes narrower
  client_.run_steps(4);
  EXPECT_EQ(width(), 0);
  session_.undo(0);
  client_.run_steps(4);
  EXPECT_TRUE(client_.page()->entries.empty());
}

TEST_F(LentPlan, EndsWhenBoundsChange) {
  lend(known_);
  StoredPlan for_three = known_;
  for_three.default_width = 3;
  for (StoredEntry& entry : for_three.entries) entry.own_ns = 1e6;
  session_.set_bounds(perfmodel::unbound_cases(3), 3, 3, for_three);
  client_.set_default_width(3);
  client_.run_steps(4);
  ASSERT_EQ(width(), 2);
  for (const PlanEntry& entry : client_.page()->entries) {
    EXPECT_TRUE(entry.width == 0 || entry.baseline.count() > 0);
  }
}

// More cores are of use where some op is as wide as it may be, once its steps have been heard.
TEST(SessionLease, HasUseForMoreCoresWhenSomeOpIsAtFullWidth) {
  Session mixed(options_for(4));
  SimulatedClient mixed_client(mixed, mixed_program(), {});
  EXPECT_FALSE(mixed.session_summary().has_use_for_more);
  ASSERT_TRUE(mixed_client.run_until_tuned(400));
  EXPECT_FALSE(mixed.session_summary().has_use_for_more) << "not heard yet";
  mixed_client.run_steps(40);
  EXPECT_TRUE(mixed.session_summary().has_use_for_more);
  EXPECT_FALSE(mixed.session_summary().default_widths_in_force);

  const auto narrow = [] { return table({90 * kMs, 10 * kMs, 14 * kMs, 15 * kMs}); };
  Session session(options_for(4));
  SimulatedClient client(session, one_of_each({narrow(), narrow(), narrow()}), {});
  ASSERT_TRUE(client.run_until_tuned(400));
  client.run_steps(40);
  EXPECT_FALSE(session.session_summary().has_use_for_more);
}

}  // namespace
}  // namespace optile::tuner
