// A session whose cores change while it runs: what its search may lose under the new ones.
#include <gtest/gtest.h>

#include "tests/tuner/simulated_client.h"
#include "tests/tuner/simulated_programs.h"

namespace optile::tuner {
namespace {

// Every op scales, so that each trial of a narrower width costs something.
SimulatedProgram training() {
  std::vector<std::function<double(int)>> curves;
  for (int i = 0; i < 24; ++i) curves.emplace_back(scaling((40 + i % 5) * kMs, 0.1 * kMs));
  return one_of_each(std::move(curves));
}

// The steps of an exploration, and what they lost, in steps at the own width.
struct Explored {
  int steps = 0;
  double lost = 0;
};

Explored explore(Session& session, SimulatedClient& client, int own) {
  Explored explored;
  const double step = client.uniform_step_ns(own);
  for (; explored.steps < 1000 && session.view().phase == Phase::kExploring; ++explored.steps) {
    const double before = client.busy_ns();
    client.run_steps(1);
    explored.lost += (client.busy_ns() - before) / step - 1;
  }
  return explored;
}

void change(Session& session, SimulatedClient& client, int cores) {
  ASSERT_TRUE(client.run_until_tuned(1000));
  session.set_bounds(unbound(cores), cores, cores);
  client.set_own_width(cores);
}

SimulatedClientOptions noisy(int own_width, uint64_t seed) {
  SimulatedClientOptions options;
  options.own_width = own_width;
  options.seed = seed;
  options.noise.per_op = 0.1;
  options.noise.per_step = 0.05;
  return options;
}

// Steps on eight cores take half as long as those on four did, so the time that was sampled on four
// looks like a loss on eight: the search ended after its first page, of 15 steps.
TEST(SessionLease, WhatWasSampledOnFewerCoresIsNoLoss) {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    Session session(options_for(8));
    SimulatedClient client(session, training(), noisy(8, seed));
    change(session, client, 4);
    explore(session, client, 4);
    change(session, client, 8);
    EXPECT_GT(explore(session, client, 8).steps, 30) << seed;
  }
}

// The other way round it looked like a gain, which the search then lost: in more than twice the
// steps of one that begins on eight cores.
TEST(SessionLease, WhatWasSampledOnMoreCoresIsNoGain) {
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
    EXPECT_LT(narrowed.lost, 20) << seed;
  }
}

}  // namespace
}  // namespace optile::tuner
