#include "sched/leases/progress_policy.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/sched/leases/curves.h"

namespace optile::sched {
namespace {

using curves::Random;

LeaseDemand demand(ClientId id, std::vector<double> progress) {
  LeaseDemand made;
  made.id = id;
  made.progress = std::move(progress);
  return made;
}

std::vector<int> cores_of(const Allocation& allocation) {
  std::vector<int> cores;
  for (const LeaseShare& share : allocation.shares) cores.push_back(share.cores);
  return cores;
}

std::vector<int> claims_of(const Allocation& allocation) {
  std::vector<int> cores;
  for (const LeaseShare& share : allocation.shares) cores.push_back(share.claim);
  return cores;
}

// As the lease plan does: what was given is what is held next time.
Allocation allocate(const AllocationProblem& problem, const ProgressThresholds& thresholds = {}) {
  return ProgressPolicy(thresholds).allocate(problem);
}

void hold(AllocationProblem& problem, const Allocation& allocation) {
  for (LeaseDemand& one : problem.demands) {
    for (const LeaseShare& share : allocation.shares) {
      if (share.id != one.id) continue;
      one.claimed = share.claim;
      one.used = share.cores;
    }
  }
}

AllocationProblem random_problem(Random& random, int clients, int cores) {
  AllocationProblem problem;
  problem.cores = cores;
  for (int i = 1; i <= clients; ++i) {
    problem.demands.push_back(demand(static_cast<ClientId>(i), curves::any(random, cores)));
    problem.demands.back().weight = curves::uniform(random, 0.25, 4.0);
  }
  return problem;
}

TEST(ProgressPolicy, WithinOnePercentOfBruteForce) {
  for (uint64_t seed = 1; seed <= 500; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const int cores = curves::integer(random, 2, 9);
    const int clients = curves::integer(random, 1, std::min(cores, 4));
    const AllocationProblem problem = random_problem(random, clients, cores);
    const Allocation allocation = allocate(problem);
    const double best = curves::brute_force(problem.demands, cores);
    EXPECT_GE(allocation.worth, 0.99 * best);
    EXPECT_LE(allocation.worth, best + 1e-9);
    EXPECT_TRUE(allocation.exact);
  }
}

TEST(ProgressPolicy, RespectsBudgetAndLimitsForRandomInput) {
  for (uint64_t seed = 1; seed <= 500; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const int cores = curves::integer(random, 1, 24);
    AllocationProblem problem = random_problem(random, curves::integer(random, 1, 30), cores);
    int awake = 0;
    for (LeaseDemand& one : problem.demands) {
      one.idle = curves::integer(random, 0, 3) == 0;
      one.floor = curves::integer(random, 0, 6);
      one.most = curves::integer(random, 1, 30);
      one.claimed = curves::integer(random, 0, 4);
      one.used = curves::integer(random, 0, 4);
      if (curves::integer(random, 0, 4) == 0) one.progress.clear();
      if (curves::integer(random, 0, 1) == 0) one.priority = Priority::kBatch;
      if (!one.idle) ++awake;
    }
    const Allocation allocation = allocate(problem);
    double sum = 0;
    for (std::size_t i = 0; i < problem.demands.size(); ++i) {
      const LeaseShare& share = allocation.shares[i];
      const LeaseDemand& one = problem.demands[i];
      sum += allocation.turns ? share.fraction : share.cores;
      EXPECT_LE(share.cores, one.most);
      EXPECT_GE(share.cores, 0);
      if (one.idle) continue;
      if (!allocation.turns) {
        EXPECT_GE(share.cores, 1);
      }
      if (allocation.turns) {
        EXPECT_GT(share.fraction, 0);
      }
    }
    EXPECT_LE(sum, cores + 1e-9);
    EXPECT_EQ(allocation.turns, awake > cores);
  }
}

TEST(ProgressPolicy, IsIndependentOfDemandOrder) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    AllocationProblem problem = random_problem(random, 6, 16);
    const std::vector<int> first = cores_of(allocate(problem));
    std::shuffle(problem.demands.begin(), problem.demands.end(), random);
    EXPECT_EQ(cores_of(allocate(problem)), first);
  }
}

TEST(ProgressPolicy, GreaterWeightNeverGetsFewerCores) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    AllocationProblem problem = random_problem(random, curves::integer(random, 2, 6), 16);
    if (curves::integer(random, 0, 1) == 0) hold(problem, allocate(problem));
    int before = 0;
    problem.demands[0].weight = 0.1;
    const bool held = problem.demands[0].claimed > 0;
    for (int step = 0; step < 12; ++step) {
      const Allocation allocation = allocate(problem);
      EXPECT_GE(allocation.shares[0].cores, before) << step;
      before = allocation.shares[0].cores;
      if (held) hold(problem, allocation);
      problem.demands[0].weight *= 1.7;
    }
  }
}

TEST(ProgressPolicy, KeepsAllocationForUnchangedInput) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    AllocationProblem problem = random_problem(random, curves::integer(random, 1, 8), 16);
    for (LeaseDemand& one : problem.demands) {
      one.idle = curves::integer(random, 0, 3) == 0;
      if (curves::integer(random, 0, 4) == 0) one.progress.clear();
      if (curves::integer(random, 0, 2) == 0) one.priority = Priority::kBatch;
    }
    ProgressThresholds thresholds;
    thresholds.least_gain = 0;
    thresholds.moving_seconds_per_core = 0;
    hold(problem, allocate(problem, thresholds));
    for (int again = 0; again < 5; ++again) {
      const Allocation allocation = allocate(problem, thresholds);
      EXPECT_TRUE(allocation.kept) << again;
      hold(problem, allocation);
    }
  }
}

TEST(ProgressPolicy, KeepsAllocationWhenGainIsTooSmall) {
  AllocationProblem problem;
  problem.cores = 4;
  problem.demands = {demand(1, {0.5, 0.80, 0.90, 1.0}), demand(2, {0.5, 0.80, 0.90, 1.0})};
  hold(problem, allocate(problem));
  EXPECT_EQ(problem.demands[0].used, 2);
  problem.demands[0].progress = {0.5, 0.70, 1.0, 1.0};
  problem.demands[1].progress = {0.71, 1.0, 1.0, 1.0};  // 3 + 1 gains 0.01
  EXPECT_TRUE(allocate(problem).kept);
  problem.demands[1].progress = {0.9, 1.0, 1.0, 1.0};  // 3 + 1 gains 0.2
  EXPECT_EQ(cores_of(allocate(problem)), (std::vector<int>{3, 1}));
  ProgressThresholds thresholds;
  thresholds.moving_seconds_per_core = 0.2;  // and moving costs more than that
  EXPECT_TRUE(allocate(problem, thresholds).kept);
}

// What one client gains is not drowned by the progress of many others.
TEST(ProgressPolicy, GrantsCoreToOneGainingClientAmongMany) {
  AllocationProblem problem;
  problem.cores = 64;
  for (ClientId id = 1; id <= 32; ++id) problem.demands.push_back(demand(id, {0.9, 1.0}));
  hold(problem, allocate(problem));
  ASSERT_EQ(problem.demands[0].used, 2);
  problem.demands[0].progress = {0.3, 0.6, 1.0};
  const std::vector<int> cores = cores_of(allocate(problem));
  EXPECT_EQ(cores[0], 3);
  EXPECT_EQ(std::count(cores.begin(), cores.end(), 1), 1);
}

TEST(ProgressPolicy, SplitsMeasuredPairsOptimally) {
  // A convolutional network that scales beside a recurrent one that does not.
  AllocationProblem problem;
  problem.cores = 4;
  problem.demands = {demand(1, {0.35, 0.62, 0.84, 1.0}), demand(2, {1.0, 0.9, 0.7, 0.5})};
  EXPECT_EQ(cores_of(allocate(problem)), (std::vector<int>{3, 1}));
  problem.demands[1].progress = problem.demands[0].progress;
  EXPECT_EQ(cores_of(allocate(problem)), (std::vector<int>{2, 2}));
}

TEST(ProgressPolicy, BatchGetsCoresNormalClientsGainNothingFrom) {
  AllocationProblem problem;
  problem.cores = 8;
  problem.demands = {demand(1, {0.3, 0.6, 0.9, 1.0, 1.0, 1.0, 1.0, 1.0}),
                     demand(2, {0.13, 0.25, 0.38, 0.5, 0.63, 0.75, 0.88, 1.0})};
  problem.demands[1].priority = Priority::kBatch;
  problem.demands[1].weight = 100;
  EXPECT_EQ(cores_of(allocate(problem)), (std::vector<int>{4, 4}));
  problem.demands[0].progress = {0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 1.0};
  EXPECT_EQ(cores_of(allocate(problem)), (std::vector<int>{7, 1}));
}

TEST(ProgressPolicy, BatchTakesUselessCoresHeldByNormalClients) {
  AllocationProblem problem;
  problem.cores = 8;
  const std::vector<double> linear = {0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 1.0};
  problem.demands = {demand(1, {0.5, 1.0}), demand(2, linear)};
  problem.demands[1].priority = Priority::kBatch;
  problem.demands[0].claimed = problem.demands[0].used = 6;
  problem.demands[1].claimed = problem.demands[1].used = 2;
  EXPECT_EQ(cores_of(allocate(problem)), (std::vector<int>{2, 6}));
}

// What may be taken from normal clients is counted from the best that they could have, not from
// what was left to them the last time.
TEST(ProgressPolicy, RepeatedAllocationTakesNoMoreFromNormalClients) {
  AllocationProblem problem;
  problem.cores = 64;
  std::vector<double> flattening;
  std::vector<double> linear;
  for (int cores = 1; cores <= 64; ++cores) {
    // Beyond 16 cores one more is worth less than moving it.
    flattening.push_back(0.976 * std::min(cores, 16) / 16 + 0.0005 * std::max(0, cores - 16));
    linear.push_back(cores / 64.0);
  }
  problem.demands = {demand(1, flattening), demand(2, linear)};
  problem.demands[1].priority = Priority::kBatch;
  hold(problem, allocate(problem));
  const int left = problem.demands[0].used;
  EXPECT_LT(left, 63) << "one core is the batch client's own";
  EXPECT_GE(flattening[static_cast<std::size_t>(left) - 1],
            (1 - ProgressThresholds().nothing) * flattening[62]);
  for (int again = 0; again < 20; ++again) {
    const Allocation allocation = allocate(problem);
    EXPECT_TRUE(allocation.kept) << again << ": " << allocation.shares[0].cores;
    hold(problem, allocation);
  }
}

TEST(ProgressPolicy, ClientWithoutCurveGetsFloorAndFreeCores) {
  AllocationProblem problem;
  problem.cores = 4;
  problem.demands = {demand(1, {})};
  EXPECT_EQ(cores_of(allocate(problem)), (std::vector<int>{4}));
  problem.demands.push_back(demand(2, {0.4, 0.7, 1.0, 1.0}));
  EXPECT_EQ(cores_of(allocate(problem)), (std::vector<int>{1, 3}));
}

TEST(ProgressPolicy, LendsCoresOfWaitingClientAndReturnsThem) {
  AllocationProblem problem;
  problem.cores = 4;
  const std::vector<double> curve = {0.4, 0.7, 0.9, 1.0};
  problem.demands = {demand(1, curve), demand(2, curve)};
  hold(problem, allocate(problem));
  problem.demands[1].idle = true;
  Allocation allocation = allocate(problem);
  EXPECT_EQ(cores_of(allocation), (std::vector<int>{4, 0}));
  EXPECT_EQ(claims_of(allocation), (std::vector<int>{2, 2}));
  hold(problem, allocation);
  problem.demands[1].idle = false;
  EXPECT_EQ(cores_of(allocate(problem)), (std::vector<int>{2, 2}));
}

TEST(ProgressPolicy, KeepsClaimsWhileClientsWaitAndWake) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const int cores = curves::integer(random, 2, 24);
    AllocationProblem problem = random_problem(random, curves::integer(random, 2, cores), cores);
    hold(problem, allocate(problem));
    const std::vector<int> claims = claims_of(allocate(problem));
    problem.claims_of = cores;
    for (int round = 0; round < 8; ++round) {
      LeaseDemand& one = problem.demands[random() % problem.demands.size()];  // waits, or wakes
      one.idle = !one.idle;
      const Allocation allocation = allocate(problem);
      EXPECT_EQ(claims_of(allocation), claims);
      int sum = 0;
      for (std::size_t i = 0; i < claims.size(); ++i) {
        sum += allocation.shares[i].cores;
        EXPECT_GE(allocation.shares[i].cores, problem.demands[i].idle ? 0 : claims[i]);
      }
      EXPECT_LE(sum, cores);
      hold(problem, allocation);
    }
  }
}

TEST(ProgressPolicy, RecomputesClaimsThatNoLongerHold) {
  AllocationProblem before;
  before.cores = 4;
  const std::vector<double> curve = {0.4, 0.7, 0.9, 1.0};
  before.demands = {demand(1, curve), demand(2, curve)};
  hold(before, allocate(before));
  before.claims_of = before.cores;

  AllocationProblem problem = before;
  problem.demands[0].weight = 1000;
  EXPECT_EQ(claims_of(allocate(problem)), (std::vector<int>{2, 2})) << "which nobody was told of";
  problem.claims_of = 3;
  EXPECT_EQ(claims_of(allocate(problem)), (std::vector<int>{3, 1})) << "of other cores";
  problem = before;
  problem.cores = 3;
  problem.claims_of = 3;
  EXPECT_EQ(allocate(problem).shares[0].claim + allocate(problem).shares[1].claim, 3);
  problem = before;
  problem.demands.push_back(demand(3, curve));
  EXPECT_GE(allocate(problem).shares[2].claim, 1) << "who has none";
  problem = before;
  problem.demands[0].most = 1;
  EXPECT_EQ(allocate(problem).shares[0].claim, 1) << "more than it can use";
}

TEST(ProgressPolicy, LendsNothingToClientThatBorrowsNothing) {
  AllocationProblem problem;
  problem.cores = 6;
  const std::vector<double> curve = {0.4, 0.7, 0.85, 0.95, 0.98, 1.0};
  problem.demands = {demand(1, curve), demand(2, curve), demand(3, curve)};
  problem.demands[0].borrows = Borrowing::kNothing;
  hold(problem, allocate(problem));
  ASSERT_EQ(claims_of(allocate(problem)), (std::vector<int>{2, 2, 2}));
  problem.demands[2].idle = true;
  const Allocation allocation = allocate(problem);
  EXPECT_EQ(allocation.shares[0].cores, 2);
  EXPECT_EQ(allocation.shares[1].cores, 4);
  hold(problem, allocation);
  problem.demands[1].borrows = Borrowing::kNothing;
  EXPECT_EQ(allocate(problem).shares[1].cores, 2) << "it gives back what it has";
}

TEST(ProgressPolicy, LendsNothingWhereCurveShowsNoGain) {
  AllocationProblem problem;
  problem.cores = 4;
  problem.demands = {demand(1, {0.6, 1.0}), demand(2, {0.4, 1.0})};
  hold(problem, allocate(problem));
  problem.demands[1].idle = true;
  EXPECT_EQ(cores_of(allocate(problem)), (std::vector<int>{2, 2}));
}

// A curve that was measured beside others may be wrong.
TEST(ProgressPolicy, LendsEverythingToOnlyActiveClientDespiteFlatCurve) {
  AllocationProblem problem;
  problem.cores = 4;
  const std::vector<double> flat = {0.999, 0.999, 1.0, 1.0};
  problem.demands = {demand(1, flat), demand(2, {0.3, 0.6, 0.8, 1.0})};
  hold(problem, allocate(problem));
  const std::vector<int> before = cores_of(allocate(problem));
  problem.demands[0].borrows = Borrowing::kAll;
  EXPECT_EQ(cores_of(allocate(problem)), before) << "nobody waits";
  problem.demands[1].idle = true;
  const Allocation lent = allocate(problem);
  EXPECT_EQ(cores_of(lent), (std::vector<int>{4, 0}));
  EXPECT_EQ(claims_of(lent), before);
  hold(problem, lent);
  problem.demands[1].idle = false;
  EXPECT_EQ(cores_of(allocate(problem)), before);

  problem.demands = {demand(1, flat), demand(2, flat), demand(3, {0.5, 1.0})};
  for (LeaseDemand& one : problem.demands) one.borrows = Borrowing::kAll;
  hold(problem, allocate(problem));
  problem.demands[2].idle = true;
  EXPECT_EQ(cores_of(allocate(problem)), claims_of(allocate(problem))) << "two work: by curves";
}

TEST(ProgressPolicy, MoreClientsThanCoresGetTimeSharesByWeight) {
  AllocationProblem problem;
  problem.cores = 2;
  for (ClientId id = 1; id <= 4; ++id) problem.demands.push_back(demand(id, {1.0}));
  problem.demands[0].weight = 2.0;
  const Allocation allocation = allocate(problem);
  ASSERT_TRUE(allocation.turns);
  EXPECT_DOUBLE_EQ(allocation.shares[0].fraction, 0.8);
  EXPECT_DOUBLE_EQ(allocation.shares[1].fraction, 0.4);
}

TEST(ProgressPolicy, ToleratesInvalidWeightsAndCurves) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  AllocationProblem problem;
  problem.cores = 4;
  problem.demands = {demand(1, {nan, infinity, -3.0, 0.5}), demand(2, {0.5, 1.0}), demand(3, {})};
  problem.demands[0].weight = nan;
  problem.demands[1].weight = -1;
  problem.demands[2].floor = -5;
  problem.demands[2].most = -5;
  const Allocation allocation = allocate(problem);
  EXPECT_EQ(cores_of(allocation), (std::vector<int>{1, 2, 1}));
  problem.cores = 0;
  EXPECT_TRUE(allocate(problem).turns);
  EXPECT_TRUE(allocate({}).shares.empty());
}

// 64 clients on 384 cores: two or three passes over the rising parts of the curves and a little
// dynamic programming. The plain dynamic program over all of it takes 64 × 384² / 2 = 4.7 million
// steps.
TEST(ProgressPolicy, NeedsFewOperationsFor64ClientsOn384Cores) {
  uint64_t most = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    AllocationProblem problem = random_problem(random, 64, 384);
    for (LeaseDemand& one : problem.demands) {
      if (seed % 2 == 0) one.progress = curves::smooth(random, 384);
    }
    Allocation allocation = allocate(problem);
    EXPECT_TRUE(allocation.exact);
    most = std::max(most, allocation.operations);
    hold(problem, allocation);
    problem.demands[5].progress = curves::any(random, 384);
    allocation = allocate(problem);
    most = std::max(most, allocation.operations);
  }
  RecordProperty("most_operations", std::to_string(most));
  EXPECT_LT(most, 100'000u);
  EXPECT_GT(most, 64u * 64u);
}

}  // namespace
}  // namespace optile::sched
