// Sessions under noise, over many seeds: what is settled is never clearly worse than what the
// program does by itself, and rarely far from the best that is possible.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <vector>

#include "tests/tuner/session/simulated_client.h"
#include "tests/tuner/session/simulated_programs.h"

namespace optile::tuner {
namespace {

constexpr int kSeeds = 40;

// A step of forty ops of ten kinds, with the curves that real ones have: some scale, some stop
// early, some are hurt by every thread, some jump.
SimulatedProgram forty_ops(uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform(0, 1);
  SimulatedProgram program;
  for (int i = 0; i < 10; ++i) {
    SimulatedOp op;
    op.key = 100 + static_cast<uint64_t>(i);
    op.name = "op" + std::to_string(i);
    const double size = (0.05 + 2 * uniform(random) * uniform(random)) * 1e6;
    const double parallel = uniform(random);
    const double overhead = i % 3 == 0 ? 0.15 * uniform(random) : 0.01;
    const double tooth = i % 4 == 1 ? 0.2 * uniform(random) : 0;
    op.ns = [=](int width) {
      return size * ((1 - parallel) + parallel / width + overhead * (width - 1) +
                     (width == 3 ? tooth : 0));
    };
    program.ops.push_back(op);
  }
  for (int i = 0; i < 40; ++i) program.order.push_back(static_cast<int>(random() % 10));
  return program;
}

double best_possible(const SimulatedProgram& program, int cores) {
  double total = 0;
  for (int index : program.order) {
    const SimulatedOp& op = program.ops[static_cast<std::size_t>(index)];
    double best = op.ns(1);
    for (int width = 2; width <= cores; ++width) best = std::min(best, op.ns(width));
    total += best;
  }
  return total;
}

struct Outcome {
  std::vector<double> against_own;   // settled / own
  std::vector<double> against_best;  // settled / best uniform
  std::vector<double> regret;        // settled / oracle
  std::vector<double> lost_steps;
};

Outcome over_seeds(SimulatedClientOptions base, SearchKind search) {
  Outcome outcome;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SessionOptions options = options_for(4);
    options.seed = seed;
    options.search = search;
    Session session(options);
    base.seed = seed * 977;
    const SimulatedProgram program = forty_ops(seed);
    SimulatedClient client(session, program, base);
    EXPECT_TRUE(client.run_until_tuned(1500)) << "seed " << seed;
    const double own = client.uniform_step_ns(4);
    double uniform = own;
    for (int width = 1; width < 4; ++width) {
      uniform = std::min(uniform, client.uniform_step_ns(width));
    }
    outcome.against_own.push_back(client.planned_step_ns() / own);
    outcome.against_best.push_back(client.planned_step_ns() / uniform);
    outcome.regret.push_back(client.planned_step_ns() / best_possible(program, 4));
    outcome.lost_steps.push_back(session.view().seconds_lost_to_sampling / (own * 1e-9));
  }
  return outcome;
}

double largest(const std::vector<double>& values) {
  return *std::max_element(values.begin(), values.end());
}
double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}
void show(const char* name, const Outcome& outcome) {
  std::printf(
      "%s: against own median %.3f worst %.3f, against best uniform %.3f / %.3f, "
      "against the oracle %.3f / %.3f, steps lost %.1f / %.1f\n",
      name, median(outcome.against_own), largest(outcome.against_own), median(outcome.against_best),
      largest(outcome.against_best), median(outcome.regret), largest(outcome.regret),
      median(outcome.lost_steps), largest(outcome.lost_steps));
}

TEST(SessionUnderNoise, StaysNearOptimumOnQuietMachine) {
  SimulatedClientOptions client;
  client.noise.per_op = 0.03;
  client.noise.per_step = 0.01;
  const Outcome outcome = over_seeds(client, SearchKind::kAuto);
  show("quiet", outcome);
  EXPECT_LE(largest(outcome.against_own), 1.02);
  EXPECT_LE(median(outcome.regret), 1.02);
  EXPECT_LE(median(outcome.lost_steps), 10);
}

TEST(SessionUnderNoise, StaysNearOptimumUnderHeavyTailsAndDrift) {
  SimulatedClientOptions client;
  client.noise.per_op = 0.10;
  client.noise.per_step = 0.03;
  client.noise.heavy_share = 0.05;
  client.noise.heavy_factor = 4;
  client.noise.drift_per_step = 0.0005;
  const Outcome outcome = over_seeds(client, SearchKind::kAuto);
  show("heavy", outcome);
  EXPECT_LE(largest(outcome.against_own), 1.02);
  EXPECT_LE(median(outcome.regret), 1.04);
}

TEST(SessionUnderNoise, StaysNearBestUniformWhenSwitchingIsCostly) {
  SimulatedClientOptions client;
  client.noise.per_op = 0.05;
  client.noise.per_step = 0.02;
  client.noise.heavy_share = 0.02;
  client.change_ns = 40e3;
  client.runtime = perfmodel::Runtime::kLibgomp;
  const Outcome outcome = over_seeds(client, SearchKind::kAuto);
  show("dear changes", outcome);
  EXPECT_LE(largest(outcome.against_own), 1.02);
  EXPECT_LE(median(outcome.against_best), 1.02);
}

// One sample a width and "stop at the first rise": noise ends the climb too early or too late. The
// comparison of whole steps still keeps the program from harm.
TEST(SessionUnderNoise, PaperSearchIsWorseButNotSlowerThanDefaultWidth) {
  SimulatedClientOptions client;
  client.noise.per_op = 0.10;
  client.noise.heavy_share = 0.05;
  client.noise.heavy_factor = 4;
  const Outcome paper = over_seeds(client, SearchKind::kPaper);
  const Outcome statistical = over_seeds(client, SearchKind::kAuto);
  show("paper", paper);
  show("auto", statistical);
  EXPECT_LE(largest(paper.against_own), 1.02);
  EXPECT_GT(median(paper.regret), median(statistical.regret));
}

}  // namespace
}  // namespace optile::tuner
