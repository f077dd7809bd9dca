// Strategies 3 and 4 over an executor that runs: whatever order things happen in, something does.
#include "sched/strategies/step_admission.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

namespace optile::sched {
namespace {

// As fast as its width makes it, up to `most`.
AdmittedPlace place_of(int op, double seconds, int most, int cores) {
  AdmittedPlace place;
  place.op = op;
  for (int width = 1; width <= std::min(most + 1, cores); ++width) {
    place.widths.push_back({width, seconds / std::min(width, most) + 1e-6 * width});
  }
  return place;
}

AdmissionProblem problem_of(int places, int cores) {
  AdmissionProblem problem;
  problem.cores = cores;
  for (int i = 0; i < places; ++i) {
    problem.places.push_back(place_of(i, 1e-3 * (i + 1), 1 + i % 2, cores));
  }
  return problem;
}

TEST(StepAdmission, RejectsProblemsThatCannotBeScheduled) {
  EXPECT_EQ(StepAdmission::make({}), nullptr);
  EXPECT_NE(StepAdmission::make(problem_of(2, 2)), nullptr);
  EXPECT_EQ(StepAdmission::make(problem_of(2, kMaxCores + 1)), nullptr);
  AdmissionProblem wide = problem_of(2, 2);
  wide.places[1].widths.push_back({3, 1.0});
  EXPECT_EQ(StepAdmission::make(wide), nullptr);
  AdmissionProblem endless = problem_of(2, 2);
  endless.places[0].widths[0].seconds = 0;
  EXPECT_EQ(StepAdmission::make(endless), nullptr);
  AdmissionProblem large = problem_of(2, 2);
  large.places[0].per_step = static_cast<int>(StepAdmission::kMostNodes);
  EXPECT_EQ(StepAdmission::make(large), nullptr);
}

TEST(StepAdmission, RunsTwoNarrowOpsBesideEachOther) {
  AdmissionProblem problem;
  problem.cores = 2;
  problem.places = {place_of(0, 2e-3, 1, 1), place_of(1, 1e-3, 1, 1)};
  const auto steps = StepAdmission::make(problem);
  ASSERT_NE(steps, nullptr);
  std::vector<Launch> launches;
  steps->on_ready(0);
  steps->decide(0, &launches);
  ASSERT_EQ(launches.size(), 1u);
  EXPECT_EQ(launches[0].which.width, 1);
  steps->on_ready(1);
  steps->decide(0, &launches);
  EXPECT_EQ(launches.size(), 2u);
}

// III-D: a candidate that outlasts what runs does not start.
TEST(StepAdmission, HoldsLongOpBesideShortOne) {
  AdmissionProblem problem;
  problem.cores = 2;
  problem.places = {place_of(0, 1e-3, 1, 1), place_of(1, 2e-3, 1, 1)};
  const auto steps = StepAdmission::make(problem);
  std::vector<Launch> launches;
  steps->on_ready(0);
  steps->decide(0, &launches);
  const int running = launches[0].node;
  steps->on_ready(1);
  steps->decide(0, &launches);
  EXPECT_EQ(launches.size(), 1u);
  steps->on_finished(running, 1e-3);
  steps->decide(1e-3, &launches);
  EXPECT_EQ(launches.size(), 2u);
}

TEST(StepAdmission, LetsFurtherExecutionsPass) {
  AdmissionProblem problem = problem_of(1, 2);
  problem.places[0].per_step = 2;
  const auto steps = StepAdmission::make(problem);
  EXPECT_TRUE(steps->on_ready(0).has_value());
  EXPECT_TRUE(steps->on_ready(0).has_value());
  EXPECT_FALSE(steps->on_ready(0).has_value());
  EXPECT_FALSE(steps->on_ready(1).has_value());
  steps->begin_step();
  EXPECT_TRUE(steps->on_ready(0).has_value());
}

// ---- every order of a small graph
// -----------------------------------------------------------------

// `inputs[i]` as bits: which nodes come before node i, all below i.
using Graph = std::vector<unsigned>;

std::vector<Graph> all_graphs(int nodes) {
  std::vector<Graph> graphs = {{}};
  for (int i = 0; i < nodes; ++i) {
    std::vector<Graph> longer;
    for (const Graph& graph : graphs) {
      for (unsigned inputs = 0; inputs < 1U << static_cast<unsigned>(i); ++inputs) {
        longer.push_back(graph);
        longer.back().push_back(inputs);
      }
    }
    graphs = std::move(longer);
  }
  return graphs;
}

// An executor of a few threads: each takes a ready node of its choice, waits at the gate until the
// node is admitted, and ends whenever it likes. `choices` says which of the possible events comes.
class PlayedStep {
 public:
  PlayedStep(const Graph& graph, StepAdmission& steps, int threads)
      : graph_(graph), steps_(steps), threads_(threads) {
    steps_.begin_step();
  }

  // Returns how many events were possible; 0: the step is over, or nothing can happen.
  std::size_t possible() const { return takeable().size() + running_.size(); }
  void play(std::size_t choice) {
    const std::vector<int> nodes = takeable();
    if (choice < nodes.size()) {
      const int node = nodes[choice];
      taken_ |= 1U << static_cast<unsigned>(node);
      // A node of the gate is one of a place, which is its number here.
      ASSERT_EQ(steps_.on_ready(static_cast<std::size_t>(node)), node);
      ++waiting_;
    } else {
      const auto ended = std::next(running_.begin(), static_cast<long>(choice - nodes.size()));
      const int node = *ended;
      running_.erase(ended);
      done_ |= 1U << static_cast<unsigned>(node);
      now_ += 1e-3;
      steps_.on_finished(node, now_);
    }
    std::vector<Launch> launches;
    steps_.decide(now_, &launches);
    for (const Launch& launch : launches) {
      running_.insert(launch.node);
      --waiting_;
    }
  }
  bool is_complete() const { return done_ == (1U << graph_.size()) - 1; }
  bool is_stuck() const { return waiting_ > 0 && running_.empty(); }

 private:
  std::vector<int> takeable() const {
    std::vector<int> nodes;
    const bool is_free = waiting_ + static_cast<int>(running_.size()) < threads_;
    for (std::size_t i = 0; is_free && i < graph_.size(); ++i) {
      const bool is_new = (taken_ >> i & 1U) == 0;
      if (is_new && (graph_[i] & ~done_) == 0) nodes.push_back(static_cast<int>(i));
    }
    return nodes;
  }

  const Graph& graph_;
  StepAdmission& steps_;
  int threads_;
  int waiting_ = 0;
  std::set<int> running_;
  unsigned taken_ = 0, done_ = 0;
  double now_ = 0;
};

// All orders, each from the start and with nothing remembered: an odometer of choices. Returns how
// many there were.
int play_all(const Graph& graph, const AdmissionProblem& problem, int threads) {
  std::vector<std::size_t> choices;
  int orders = 0;
  while (true) {
    const auto steps = StepAdmission::make(problem);
    PlayedStep step(graph, *steps, threads);
    std::vector<std::size_t> possible;
    for (std::size_t i = 0; step.possible() > 0; ++i) {
      if (i == choices.size()) choices.push_back(0);
      possible.push_back(step.possible());
      step.play(choices[i]);
      EXPECT_FALSE(step.is_stuck());
      if (step.is_stuck()) return orders;
    }
    EXPECT_TRUE(step.is_complete());
    ++orders;
    choices.resize(possible.size());
    while (!choices.empty() && choices.back() + 1 == possible[choices.size() - 1]) {
      choices.pop_back();
    }
    if (choices.empty()) return orders;
    ++choices.back();
  }
}

// The gate never holds the last runnable op.
TEST(StepAdmission, NeverHoldsLastRunnableOp) {
  int orders = 0;
  for (const AdmissionRule rule :
       {AdmissionRule::kPack, AdmissionRule::kFill, AdmissionRule::kLookAhead}) {
    AdmissionProblem problem = problem_of(4, 2);
    problem.hardware_threads = 2;
    problem.rule = rule;
    for (const Graph& graph : all_graphs(4)) {
      for (int threads = 1; threads <= 4; ++threads) orders += play_all(graph, problem, threads);
    }
  }
  EXPECT_GT(orders, 10000);
}

}  // namespace
}  // namespace optile::sched
