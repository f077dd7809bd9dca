// Whole clusters in played time, whatever befalls them. A seed that failed is run again, alone, by
// OPTILE_SIMULATION_SEED=N with --gtest_filter; OPTILE_SIMULATION_SEEDS=N runs as many of each.
#include "tests/daemon/cluster/simulated_cluster.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "tests/daemon/cluster/cluster_disturbances.h"
#include "tests/daemon/cluster/cluster_invariants.h"
#include "tests/sanitized.h"

namespace optile::daemon {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

struct SimulatedRun {
  int nodes = 20;
  uint64_t seed = 1;
  SimulatedTime disturbed{0};
  ClusterDisturbances::Settings disturbances;
};

struct RunOutcome {
  std::size_t happened = 0;
  ClusterInvariants::Counts counts;
};

// Left in peace, until no launch is left that could start.
std::string settle(SimulatedCluster& cluster, ClusterInvariants& invariants) {
  constexpr seconds kLook{2};
  constexpr int kLooks = 250;
  if (!cluster.run(kSettlesWithin)) return cluster.wrong();
  for (int i = 0; i < kLooks; ++i) {
    const std::string wrong = invariants.check_settled();
    if (!wrong.empty() || invariants.is_quiet()) return wrong;
    if (!cluster.run(kLook)) return cluster.wrong();
  }
  return "launches neither start nor end";
}

RunOutcome simulate(const SimulatedRun& run) {
  SimulatedCluster cluster(run.nodes, run.seed);
  ClusterInvariants invariants(cluster);
  ClusterDisturbances disturbances(cluster, invariants, run.disturbances);
  cluster.watch([&] {
    std::string wrong = invariants.check();
    disturbances.look();
    return wrong;
  });
  disturbances.begin();
  std::string wrong;
  if (cluster.run(run.disturbed)) {
    disturbances.end();
    wrong = settle(cluster, invariants);
  } else {
    wrong = cluster.wrong();
  }
  EXPECT_EQ(wrong, "") << "seed " << run.seed << ", happening " << cluster.world().time.happened()
                       << "\n"
                       << cluster.history();
  return {cluster.world().time.happened(), invariants.counts()};
}

// The one that is asked for, or so many from 1 on.
std::vector<uint64_t> seeds(uint64_t count) {
  if (const char* wanted = std::getenv("OPTILE_SIMULATION_SEED")) {
    return {std::strtoull(wanted, nullptr, 10)};
  }
  if (const char* wanted = std::getenv("OPTILE_SIMULATION_SEEDS")) {
    count = std::strtoull(wanted, nullptr, 10);
  }
  std::vector<uint64_t> all;
  for (uint64_t seed = 1; seed <= count; ++seed) all.push_back(seed);
  return all;
}

class ClusterUnder : public testing::TestWithParam<Disturbance> {};

// fault: F52, F53, F54
TEST_P(ClusterUnder, EachDisturbance) {
  std::size_t happened = 0;
  for (const uint64_t seed : seeds(test::kSanitized ? 2 : 20)) {
    SimulatedRun run;
    run.nodes = 3;
    run.seed = seed;
    run.disturbed = minutes(1);
    run.disturbances.kinds = {GetParam()};
    // Who said another number is refused, but by one who is dead.
    if (GetParam() == Disturbance::kOtherNodes) {
      run.disturbances.kinds.push_back(Disturbance::kLaunchKilled);
    }
    run.disturbances.jobs = 1;
    run.disturbances.most_ranks = 3;
    happened += simulate(run).happened;
    if (HasFailure()) return;
  }
  std::printf("%zu happenings\n", happened);
}

INSTANTIATE_TEST_SUITE_P(Disturbances, ClusterUnder, testing::ValuesIn(all_disturbances()),
                         [](const auto& one) { return name_of(one.param); });

// fault: F52, F53, F54
TEST(SimulatedCluster, TwentyNodesUnderAllDisturbances) {
  std::size_t happened = 0;
  for (const uint64_t seed : seeds(test::kSanitized ? 1 : 2)) {
    SimulatedRun run;
    run.seed = seed;
    run.disturbed = test::kSanitized ? minutes(5) : minutes(30);
    run.disturbances.kinds = all_disturbances();
    const RunOutcome outcome = simulate(run);
    if (HasFailure()) return;
    happened += outcome.happened;
    std::printf(
        "seed %lu: %zu happenings, %ld leaders, %zu jobs, %zu launches, %zu plans, %zu published, "
        "%zu refused, %zu dead\n",
        static_cast<unsigned long>(seed), outcome.happened,
        static_cast<long>(outcome.counts.leaders), outcome.counts.begun, outcome.counts.started,
        outcome.counts.plans, outcome.counts.published, outcome.counts.refused,
        outcome.counts.dead);
  }
  std::printf("%zu happenings\n", happened);
}

struct Load {
  double requests = 0;  // a second
  double transactions = 0;
};

Load measure(SimulatedCluster& cluster, seconds time) {
  const RequestCounts before = cluster.service().counts();
  EXPECT_TRUE(cluster.run(time)) << cluster.wrong();
  const RequestCounts after = cluster.service().counts();
  Load load;
  for (std::size_t kind = 0; kind < after.size(); ++kind) {
    const double a_second =
        static_cast<double>(after[kind] - before[kind]) / static_cast<double>(time.count());
    load.requests += a_second;
    if (kind == static_cast<std::size_t>(RequestKind::kCommit)) load.transactions = a_second;
  }
  return load;
}

struct JobLoad {
  Load alone;                      // nodes without a job
  Load waiting;                    // all ranks but one are there
  SimulatedTime begins_within{0};  // of the last rank's launch, on all nodes
  Load running;
};

SimulatedTime time_until_begun(SimulatedCluster& cluster, const ClusterInvariants& invariants,
                               int ranks) {
  constexpr milliseconds kLook{50};
  const SimulatedTime from = cluster.now();
  while (invariants.counts().started < static_cast<std::size_t>(ranks)) {
    if (!cluster.run(kLook) || cluster.now() - from > minutes(1)) break;
  }
  EXPECT_EQ(cluster.wrong(), "");
  return cluster.now() - from;
}

JobLoad measure_job(int nodes, int ranks) {
  const seconds time(std::clamp(3000 / nodes, 10, 60));
  SimulatedCluster cluster(nodes, 1);
  ClusterInvariants invariants(cluster);
  cluster.watch([&] { return invariants.check(); });
  for (const auto& node : cluster.nodes()) node->machine.link.late = 0;
  EXPECT_TRUE(cluster.run(kSettlesWithin)) << cluster.wrong();
  const auto launch = [&](int rank) {
    cluster.launch(*cluster.nodes()[static_cast<std::size_t>(rank)], "train", ranks, hours(1));
  };
  JobLoad load;
  load.alone = measure(cluster, time);
  for (int rank = 0; rank + 1 < ranks; ++rank) launch(rank);
  EXPECT_TRUE(cluster.run(seconds(30))) << cluster.wrong();
  load.waiting = measure(cluster, time);
  launch(ranks - 1);
  load.begins_within = time_until_begun(cluster, invariants, ranks);
  load.running = measure(cluster, time);
  EXPECT_EQ(invariants.check_settled(), "");
  EXPECT_EQ(invariants.counts().started, static_cast<std::size_t>(ranks));
  EXPECT_EQ(invariants.counts().leaders, 1);
  for (const auto& [name, one] : {std::pair("without a job", load.alone),
                                  std::pair("while it waits for a rank", load.waiting),
                                  std::pair("while it runs", load.running)}) {
    std::printf("%d nodes %s: %.1f requests a second, %.2f transactions\n", nodes, name,
                one.requests, one.transactions);
  }
  std::printf("%d ranks begin within %.2f s\n", ranks,
              std::chrono::duration<double>(load.begins_within).count());
  return load;
}

TEST(SimulatedCluster, JobOfTwentyNodesAsksLittle) {
  const JobLoad load = measure_job(20, 20);
  EXPECT_LE(load.alone.requests, 26);
  EXPECT_EQ(load.alone.transactions, 0);
  EXPECT_LE(load.running.requests - load.alone.requests, 10);
  EXPECT_LE(load.running.transactions, 1);
  EXPECT_LE(load.waiting.requests - load.alone.requests, 10);
  EXPECT_LE(load.begins_within, seconds(9));
}

// Of few ranks each one looks once a second.
TEST(SimulatedCluster, JobOfThreeNodesBeginsSoon) {
  EXPECT_LE(measure_job(3, 2).begins_within, milliseconds(2500));
  EXPECT_LE(measure_job(3, 3).begins_within, milliseconds(2500));
}

// As many as OPTILE_SIMULATION_NODES says.
TEST(SimulatedCluster, NodesAskNoMoreWhereThereAreMany) {
  const char* wanted = std::getenv("OPTILE_SIMULATION_NODES");
  const int nodes = wanted == nullptr ? (test::kSanitized ? 30 : 40) : std::atoi(wanted);
  const JobLoad load = measure_job(nodes, std::min(nodes, kMaxRanks));
  EXPECT_LE(load.alone.requests, 1.3 * nodes);
  EXPECT_LE(load.running.transactions, 1);
}

}  // namespace
}  // namespace optile::daemon
