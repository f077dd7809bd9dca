// Small programs and options that tests of sessions share.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tests/tuner/session/simulated_client.h"

namespace optile::tuner {

inline SessionOptions options_for(int cores) {
  SessionOptions options;
  options.cases = perfmodel::unbound_cases(cores);
  options.cores = cores;
  return options;
}

// Times in ns at widths 1, 2, ...
inline std::function<double(int)> table(std::vector<double> ns) {
  return [ns](int width) { return ns[static_cast<std::size_t>(width - 1)]; };
}
inline std::function<double(int)> scaling(double parallel, double serial = 0) {
  return [=](int width) { return serial + parallel / width; };
}

inline SimulatedProgram one_of_each(std::vector<std::function<double(int)>> curves) {
  SimulatedProgram program;
  for (std::size_t i = 0; i < curves.size(); ++i) {
    SimulatedOp op;
    op.key = 1000 + i;
    op.name = "op" + std::to_string(i);
    op.ns = curves[i];
    program.ops.push_back(op);
    program.order.push_back(static_cast<int>(i));
  }
  return program;
}

inline constexpr double kMs = 1e6;

inline SimulatedProgram mixed_program() {
  return one_of_each({
      scaling(8 * kMs),                                     // convex, best at 4
      table({2 * kMs, 1.4 * kMs, 1.7 * kMs, 2.2 * kMs}),    // best at 2
      table({1 * kMs, 1.5 * kMs, 1.8 * kMs, 2 * kMs}),      // rises: best at 1
      table({3 * kMs, 1.5 * kMs, 1.9 * kMs, 1.6 * kMs}),    // saw tooth: best at 2
      table({1.0 * kMs, 1.6 * kMs, 1.7 * kMs, 1.2 * kMs}),  // two minima: best at 1
      table({2 * kMs, 2 * kMs, 2 * kMs, 2 * kMs}),          // flat
      scaling(6 * kMs, 0.2 * kMs),
  });
}

// Every width is best at 4, the program's own.
inline SimulatedProgram wide_program() {
  return one_of_each({scaling(8 * kMs), scaling(6 * kMs), scaling(9 * kMs)});
}

// What a run of the program leaves for the next one.
inline StoredPlan tuned_once(const SimulatedProgram& program) {
  Session session(options_for(4));
  SimulatedClient client(session, program, {});
  EXPECT_TRUE(client.run_until_tuned(400));
  const auto settled = session.take_settled();
  EXPECT_TRUE(settled.has_value());
  EXPECT_FALSE(session.take_settled().has_value()) << "handed out once per settling";
  EXPECT_FALSE(settled->profiles.empty());
  return settled->plan;
}

}  // namespace optile::tuner
