#include "daemon/load/co_runner_load.h"

#include <gtest/gtest.h>

namespace optile::daemon {
namespace {

using std::chrono::milliseconds;

constexpr uint64_t kTicksPerSecond = 100;

// Two processing units whose counts move on as the test says.
class CoRunnerLoadTest : public testing::Test {
 protected:
  CoRunnerLoadTest() {
    for (const int unit : {0, 1}) counts_.units[unit] = {1000, 0, 1000};
  }
  // Both units together; the processes' part of it.
  void pass_second(double busy, const std::map<int, double>& processes, double stolen = 0) {
    for (auto& [unit, ticks] : counts_.units) {
      ticks.busy += static_cast<uint64_t>(busy / 2 * kTicksPerSecond);
      ticks.stolen += static_cast<uint64_t>(stolen / 2 * kTicksPerSecond);
      ticks.idle += static_cast<uint64_t>((2 - busy - stolen) / 2 * kTicksPerSecond);
    }
    for (const auto& [pid, cores] : processes) {
      LoadReading::Process& process = counts_.processes[pid];
      process.start_ticks = 1;
      process.busy_ticks += static_cast<uint64_t>(cores * kTicksPerSecond);
    }
    now_ += milliseconds(1000);
  }
  void look(const std::vector<CoRunnerLoadWatch::Party>& parties) { watch_.look(now_, parties); }
  CoRunnerLoadWatch::Party party(int pid, const std::string& run, CoRunnerLoad& load) {
    counts_.processes[pid].start_ticks = 1;
    return {pid, run, {0, 1}, &load};
  }

  LoadReading counts_;
  milliseconds now_{0};
  CoRunnerLoadWatch watch_{[this](const std::vector<int>&) { return counts_; }};
};

TEST_F(CoRunnerLoadTest, IsBusyTimeOfOtherRuns) {
  CoRunnerLoad first, rank, other;
  const std::vector parties = {party(7, "a", first), party(8, "a", rank), party(9, "b", other)};
  look(parties);
  pass_second(1.5, {{7, 0.5}, {8, 0.25}, {9, 0.25}});  // a half by processes that are not attached
  look(parties);
  EXPECT_NEAR(first.cores(), 0.75, 1e-9);
  EXPECT_NEAR(rank.cores(), 0.75, 1e-9) << "ranks of a run are not others to each other";
  EXPECT_NEAR(other.cores(), 1.25, 1e-9);
  EXPECT_NE(other.text(2).find(" 1.2 of 2 cores"), std::string::npos) << other.text(2);
}

TEST_F(CoRunnerLoadTest, ProcessThatAttachedTwiceIsCountedOnce) {
  CoRunnerLoad first, second;
  const std::vector parties = {party(7, "a", first), party(7, "a", second)};
  look(parties);
  pass_second(1.5, {{7, 0.5}});
  look(parties);
  EXPECT_NEAR(first.cores(), 1, 1e-9);
  EXPECT_NEAR(second.cores(), 1, 1e-9);
}

TEST_F(CoRunnerLoadTest, StolenTimeCountsAsOthers) {
  CoRunnerLoad load;
  const std::vector parties = {party(7, "a", load)};
  look(parties);
  pass_second(1, {{7, 1}}, 0.5);
  look(parties);
  EXPECT_NEAR(load.cores(), 0.5, 1e-9);
}

TEST_F(CoRunnerLoadTest, HelpersOfRunAreNotOthers) {
  CoRunnerLoad load;
  const std::vector parties = {party(7, "a", load)};
  counts_.helpers[17] = {1, 0};
  look(parties);
  pass_second(2, {{7, 1}});
  counts_.helpers[17].busy_ticks += kTicksPerSecond;
  look(parties);
  EXPECT_NEAR(load.cores(), 0, 1e-9);
  EXPECT_EQ(load.text(2), "");
}

TEST_F(CoRunnerLoadTest, IsAverageOverLifetime) {
  CoRunnerLoad load;
  const std::vector parties = {party(7, "", load)};
  look(parties);
  pass_second(2, {{7, 1}});
  look(parties);
  for (int i = 0; i < 9; ++i) {
    pass_second(1, {{7, 1}});
    look(parties);
  }
  EXPECT_NEAR(load.cores(), 0.1, 1e-9);
  EXPECT_EQ(load.text(2), "") << "a twentieth of the cores is no notable part";
  EXPECT_NE(load.text(1), "");
}

TEST_F(CoRunnerLoadTest, IgnoresIntervalOfArrival) {
  CoRunnerLoad first, newcomer;
  std::vector parties = {party(7, "a", first)};
  look(parties);
  counts_.processes.erase(7);
  pass_second(2, {{9, 1}});
  parties = {party(9, "b", newcomer)};
  counts_.processes[9].start_ticks = 5;
  look(parties);
  EXPECT_EQ(newcomer.cores(), 0);
  EXPECT_EQ(first.cores(), 0);
}

TEST_F(CoRunnerLoadTest, ManyClientsAreReadLessOften) {
  EXPECT_TRUE(watch_.is_due(milliseconds(0), 1));
  CoRunnerLoad load;
  look({party(7, "a", load)});
  EXPECT_FALSE(watch_.is_due(milliseconds(90), 1));
  EXPECT_TRUE(watch_.is_due(milliseconds(110), 1));
  EXPECT_FALSE(watch_.is_due(milliseconds(1000), 1000));
  EXPECT_FALSE(CoRunnerLoadWatch({}).is_due(milliseconds(1000), 1));
}

}  // namespace
}  // namespace optile::daemon
