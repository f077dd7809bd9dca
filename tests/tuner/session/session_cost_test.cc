// What a search may cost a program that has nothing to win, at every moment of its run. While
// trials were bounded in steps of the program, and not in the time that it had run, these lost up
// to six tenths of their first second on sixteen cores.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "tests/tuner/session/simulated_client.h"
#include "tests/tuner/session/simulated_programs.h"

namespace optile::tuner {
namespace {

struct Shape {
  int cores;
  double step_ns;
  int ops;
  double parallel;  // share of an op's work; all narrower widths lose
};

SimulatedProgram scaling_program(const Shape& shape) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> uniform(0.5, 1.5);
  SimulatedProgram program;
  for (int i = 0; i < shape.ops; ++i) {
    SimulatedOp op;
    op.key = 100 + static_cast<uint64_t>(i);
    op.name = "op" + std::to_string(i);
    const double share = shape.parallel * std::min(1.0, uniform(random));
    const double size =
        shape.step_ns / shape.ops * uniform(random) / ((1 - share) + share / shape.cores);
    op.ns = [=](int width) { return size * ((1 - share) + share / width); };
    program.ops.push_back(op);
    program.order.push_back(i);
  }
  return program;
}

struct Cost {
  double after_four_seconds = 0, after_twenty_seconds = 0;  // largest share from then on
  bool tuned = false;
};

// libgomp, where a change of width creates threads: 25 us for each core.
Cost cost_of(const Shape& shape, uint64_t seed) {
  SessionOptions options = options_for(shape.cores);
  options.seed = seed;
  Session session(options);
  SimulatedClientOptions client_options;
  client_options.seed = seed;
  client_options.default_width = shape.cores;
  client_options.runtime = perfmodel::Runtime::kLibgomp;
  client_options.change_ns = 25e3 * shape.cores;
  client_options.noise.per_op = 0.05;
  client_options.noise.per_step = 0.02;
  SimulatedClient client(session, scaling_program(shape), client_options);
  const double own = client.uniform_step_ns(shape.cores);
  Cost cost;
  for (int i = 1; own * i < 25e9; ++i) {
    client.run_steps(1);
    const double share = client.busy_ns() / (own * i) - 1;
    if (own * i > 4e9) cost.after_four_seconds = std::max(cost.after_four_seconds, share);
    if (own * i > 20e9) cost.after_twenty_seconds = std::max(cost.after_twenty_seconds, share);
  }
  cost.tuned = session.view().phase == Phase::kTuned;
  return cost;
}

TEST(SessionCost, StaysSmallShareOfEveryRun) {
  for (int cores : {2, 4, 16, 64}) {
    for (double step_ns : {4e6, 16e6, 150e6}) {
      for (int ops : {10, 150}) {
        for (double parallel : {0.8, 0.99}) {
          const Cost cost = cost_of({cores, step_ns, ops, parallel}, 3);
          const std::string program = std::to_string(cores) + " cores, " +
                                      std::to_string(step_ns * 1e-6) + " ms, " +
                                      std::to_string(ops) + " ops, " + std::to_string(parallel);
          EXPECT_LT(cost.after_four_seconds, 0.07) << program;
          EXPECT_LT(cost.after_twenty_seconds, 0.045) << program;
          // Where trials cost seconds they take longer than this.
          EXPECT_TRUE(cost.tuned || step_ns > 100e6) << program;
        }
      }
    }
  }
}

}  // namespace
}  // namespace optile::tuner
