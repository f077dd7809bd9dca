#include "daemon/load/external_load.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>

#include "tests/daemon/fixtures/temporary_directory.h"

namespace optile::daemon {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;

constexpr uint64_t kTicksPerSecond = 100;

// A machine whose counts move on as the test says.
struct Counts {
  LoadReading reading;

  explicit Counts(int units) {
    for (int unit = 0; unit < units; ++unit) reading.units[unit] = {1000, 10, 1000};
  }
  // One second, a unit's busy share each.
  Counts& pass(const std::vector<double>& busy, double stolen = 0) {
    for (std::size_t unit = 0; unit < busy.size(); ++unit) {
      UnitTicks& ticks = reading.units.at(static_cast<int>(unit));
      const auto used = static_cast<uint64_t>(busy[unit] * kTicksPerSecond);
      const auto gone = static_cast<uint64_t>(stolen * kTicksPerSecond);
      ticks.busy += used;
      ticks.stolen += gone;
      ticks.idle += kTicksPerSecond - used - gone;
    }
    return *this;
  }
  Counts& client(int pid, double cores) { return use(reading.processes, pid, cores); }
  Counts& relative(int pid, double cores) { return use(reading.relatives, pid, cores); }

 private:
  Counts& use(std::map<int, LoadReading::Process>& processes, int pid, double cores) {
    LoadReading::Process& process = processes[pid];
    process.start_ticks = static_cast<uint64_t>(pid);
    process.busy_ticks += static_cast<uint64_t>(cores * kTicksPerSecond);
    return *this;
  }
};

TEST(ExternalLoad, IsBusyTimeMinusClientTime) {
  Counts counts(4);
  counts.client(7, 3).client(8, 5);
  const LoadReading before = counts.reading;
  counts.pass({1, 1, 0.5, 0.25}).client(7, 1).client(8, 0.5);
  const auto load = external_load_between(before, counts.reading, {0, 1, 2, 3}, {0, 1, 2, 3});
  ASSERT_TRUE(load.has_value());
  EXPECT_NEAR(load->cores, 1.25, 1e-9);
  EXPECT_TRUE(load->by_unit.empty());
}

TEST(ExternalLoad, IsGivenPerUnitWhereNoClientRuns) {
  Counts counts(4);
  counts.client(7, 0);
  const LoadReading before = counts.reading;
  counts.pass({1, 1, 0.75, 0}).client(7, 1.5);
  const auto load = external_load_between(before, counts.reading, {0, 1, 2, 3}, {0, 1});
  ASSERT_TRUE(load.has_value());
  EXPECT_EQ(load->by_unit, (std::map<int, double>{{2, 0.75}, {3, 0.0}}));
  EXPECT_NEAR(load->cores, 1.25, 1e-9);
}

TEST(ExternalLoad, CountsOnlyUnitsOfBudget) {
  Counts counts(4);
  const LoadReading before = counts.reading;
  counts.pass({1, 1, 1, 0});
  EXPECT_NEAR(external_load_between(before, counts.reading, {2, 3}, {})->cores, 1, 1e-9);
}

// Its masks came during the second, or were lifted; and a launcher has none.
TEST(ExternalLoad, ExcludesWorkOfOwnRunOnUnitsNoClientMayUse) {
  Counts counts(2);
  counts.client(7, 3).relative(8, 2);
  const LoadReading before = counts.reading;
  counts.pass({1, 1}).client(7, 1.5).relative(8, 0.5);
  const auto load = external_load_between(before, counts.reading, {0, 1}, {0});
  ASSERT_TRUE(load.has_value());
  EXPECT_NEAR(load->cores, 0, 1e-9);
}

// A second rank that loads its libraries while the first is attached already.
TEST(ExternalLoad, ExcludesRelativesBeforeAndAfterTheyAttach) {
  Counts counts(2);
  counts.client(7, 3).relative(8, 2);
  LoadReading before = counts.reading;
  counts.pass({1, 1}).client(7, 1).relative(8, 1);
  EXPECT_NEAR(external_load_between(before, counts.reading, {0, 1}, {0, 1})->cores, 0, 1e-9);
  // It attaches.
  before = counts.reading;
  counts.reading.processes[8] = counts.reading.relatives.at(8);
  counts.reading.relatives.clear();
  counts.pass({1, 1}).client(7, 1).client(8, 1);
  const auto load = external_load_between(before, counts.reading, {0, 1}, {0, 1});
  ASSERT_TRUE(load.has_value());
  EXPECT_NEAR(load->cores, 0, 1e-9);
}

TEST(ExternalLoad, HandlesRelativesThatAppearAndDisappear) {
  Counts counts(2);
  counts.client(7, 3).relative(8, 2);
  LoadReading before = counts.reading;
  before.at_ticks = 50;
  counts.reading.relatives.clear();
  counts.relative(60, 0.25).relative(9, 4);  // 60 was started since, nobody had looked at 9
  counts.pass({1, 1}).client(7, 1);
  const auto load = external_load_between(before, counts.reading, {0, 1}, {0, 1});
  ASSERT_TRUE(load.has_value());
  EXPECT_NEAR(load->cores, 0.75, 1e-9);
}

TEST(ExternalLoad, ReportsStolenTimeSeparately) {
  Counts counts(2);
  const LoadReading before = counts.reading;
  counts.pass({0.5, 0.5}, 0.25);
  const auto load = external_load_between(before, counts.reading, {0, 1}, {});
  EXPECT_NEAR(load->cores, 1, 1e-9);
  EXPECT_NEAR(load->stolen, 0.5, 1e-9);
}

// fault: F5
TEST(ExternalLoad, IsUnknownForInconsistentReadings) {
  Counts counts(2);
  counts.client(7, 1);
  counts.reading.at_ticks = 1000;
  const LoadReading before = counts.reading;
  EXPECT_FALSE(external_load_between(before, before, {0, 1}, {}).has_value());  // no time passed
  Counts later = counts;
  later.pass({1, 1}).client(8, 1);
  EXPECT_FALSE(external_load_between(before, later.reading, {0, 1}, {}).has_value());  // one came
  EXPECT_FALSE(external_load_between(later.reading, before, {0, 1}, {}).has_value());
  Counts reused = counts;
  reused.pass({1, 1});
  reused.reading.processes[7].start_ticks = 99;
  EXPECT_FALSE(external_load_between(before, reused.reading, {0, 1}, {}).has_value());
  Counts backwards = counts;
  backwards.pass({1, 1}).client(7, 0);
  backwards.reading.units[1].busy = 3;
  EXPECT_FALSE(external_load_between(before, backwards.reading, {0, 1}, {}).has_value());
  EXPECT_FALSE(external_load_between({}, {}, {0, 1}, {}).has_value());
}

TEST(ExternalLoad, ExcludesClientStartedBetweenReadings) {
  Counts counts(2);
  counts.client(7, 1);
  counts.reading.at_ticks = 10;
  const LoadReading before = counts.reading;
  counts.pass({1, 0.5}).client(7, 0.25).client(8, 1);
  counts.reading.processes[8].start_ticks = 10;
  EXPECT_NEAR(external_load_between(before, counts.reading, {0, 1}, {0, 1})->cores, 0.25, 1e-9);
}

TEST(ExternalLoad, IsNeverNegative) {
  Counts counts(2);
  counts.client(7, 0);
  const LoadReading before = counts.reading;
  counts.pass({1, 0.5}).client(7, 1.75);  // counted at different moments
  EXPECT_GE(external_load_between(before, counts.reading, {0, 1}, {0, 1})->cores, 0);
}

TEST(ExternalCores, FollowsSteadyLoad) {
  ExternalCores cores;
  ExternalLoad load;
  load.cores = 2;
  for (int i = 0; i < 20; ++i) cores.feed(load, seconds(1));
  EXPECT_EQ(cores.cores(), 2);
  load.cores = 0;
  for (int i = 0; i < 20; ++i) cores.feed(load, seconds(1));
  EXPECT_EQ(cores.cores(), 0);
}

TEST(ExternalCores, AdoptsFirstSampleOnceConfirmed) {
  for (const auto& [busy, left] : {std::pair(0.6, 0), {0.8, 1}, {1.6, 1}, {1.9, 2}}) {
    ExternalCores cores;
    ExternalLoad load;
    load.cores = busy;
    EXPECT_EQ(cores.feed(load, std::chrono::milliseconds(500)), 0) << busy;
    EXPECT_TRUE(cores.has_figure());
    EXPECT_FALSE(cores.known());
    EXPECT_EQ(cores.feed(load, std::chrono::milliseconds(500)), left) << busy;
    EXPECT_TRUE(cores.known());
  }
}

// In either of the first two figures a job's own start may be counted.
TEST(ExternalCores, AdoptsSmallerOfFirstTwoSamples) {
  for (const auto& [first, second] : {std::pair(1.6, 0.1), {0.1, 1.6}, {1.9, 0.6}}) {
    ExternalCores cores;
    ExternalLoad load;
    load.cores = first;
    cores.feed(load, seconds(1));
    load.cores = second;
    EXPECT_EQ(cores.feed(load, seconds(1)), 0) << first << " and " << second;
    EXPECT_NEAR(cores.smoothed(), std::min(first, second), 1e-9);
  }
}

TEST(ExternalCores, IgnoresShortBurst) {
  ExternalCores cores;
  ExternalLoad load;
  EXPECT_EQ(cores.feed(load, seconds(1)), 0);
  EXPECT_EQ(cores.feed(load, seconds(1)), 0);
  load.cores = 2;
  EXPECT_EQ(cores.feed(load, std::chrono::milliseconds(500)), 0);
  load.cores = 0;
  for (int i = 0; i < 20; ++i) EXPECT_EQ(cores.feed(load, seconds(1)), 0);
}

TEST(ExternalCores, StaysStableNearRoundingBoundary) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  // Around every half, where rounding would change with each figure.
  for (const double middle : {0.5, 1.5, 2.5}) {
    ExternalCores cores;
    ExternalLoad load;
    load.cores = middle;
    for (int i = 0; i < 50; ++i) cores.feed(load, seconds(1));
    int changes = 0;
    for (int i = 0; i < 1000; ++i) {
      load.cores = middle + std::uniform_real_distribution<double>(-0.19, 0.19)(random);
      const int before = cores.cores();
      changes += cores.feed(load, seconds(1)) != before;
    }
    EXPECT_LE(changes, 1) << middle;
  }
}

class LoadReadingTest : public ::testing::Test {
 protected:
  void write(const std::string& path, const std::string& text) {
    const fs::path file = fs::path(directory_ / "root") / path;
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  LoadReading read(std::vector<int> pids) { return LoadReader(directory_ / "root").read(pids); }

  TemporaryDirectory directory_;
};

TEST_F(LoadReadingTest, ReadsUnitsAndClients) {
  write("proc/stat",
        "cpu  100 0 0 0 0 0 0 0 0 0\n"
        "cpu0 12 5 3 45 7 1 4 9 2 0\n"
        "cpu2 20 0 0 70\n"
        "cpuX 1 1 1 1\n"
        "intr 12345 cpu1 1 1 1 1\n");
  write("proc/7/stat",
        "7 (a b) S 1 1 1 0 -1 4 0 0 0 0 30 12 5 5 20 0 1 0 99 0 0 0 0 0 0 0 0 0 0\n");
  write("proc/6/stat",
        "6 (nice) S 1 1 1 0 -1 4 0 0 0 0 30 12 5 5 39 19 1 0 98 0 0 0 0 0 0 0 0 0 0\n");
  write("proc/8/stat", "8 (cut off) S 1 1\n");
  const LoadReading reading = read({6, 7, 8, 9});
  ASSERT_EQ(reading.units.size(), 2u);
  EXPECT_EQ(reading.units.at(0).busy, 20u);
  EXPECT_EQ(reading.units.at(0).stolen, 9u);
  EXPECT_EQ(reading.units.at(0).idle, 57u) << "niced processes give way";
  EXPECT_EQ(reading.units.at(2).busy, 20u);
  ASSERT_EQ(reading.processes.size(), 2u);
  EXPECT_EQ(reading.processes.at(6).busy_ticks, 0u);
  EXPECT_EQ(reading.processes.at(7).busy_ticks, 42u);  // its children's are not its own
  EXPECT_EQ(reading.processes.at(7).start_ticks, 99u);
}

TEST_F(LoadReadingTest, ReadsRelativesOfClients) {
  const uint64_t now = read({}).at_ticks;
  const auto process = [&](int pid, int parent, const std::string& run, uint64_t age = 0) {
    const std::string folder = "proc/" + std::to_string(pid);
    write(folder + "/stat", std::to_string(pid) + " (rank) R " + std::to_string(parent) +
                                " 1 1 0 -1 4 0 0 0 0 30 12 5 5 20 0 1 0 " +
                                std::to_string(now - age) + " 0 0 0 0 0 0 0 0 0 0\n");
    const std::string end(1, '\0');
    write(folder + "/environ", "A=1" + end + (run.empty() ? "" : "OPTILE_RUN_ID=" + run + end));
  };
  process(5, 1, "run-1");  // starts the ranks 7 and 8; 9 is of another run, 10 of none
  process(7, 5, "run-1");
  process(8, 5, "run-1");
  process(9, 5, "run-2");
  process(10, 5, "");
  process(11, 7, "run-1");                                 // a worker of 7
  process(12, 5, "run-1", std::min<uint64_t>(now, 6000));  // has been there for a minute
  write("proc/5/task/5/children", "7 8 9 10 12 ");
  write("proc/7/task/7/children", "11 ");
  const LoadReading reading = read({7});
  EXPECT_EQ(reading.processes.size(), 1u);
  ASSERT_EQ(reading.relatives.size(), 3u);
  for (const int pid : {5, 8, 11}) EXPECT_EQ(reading.relatives.count(pid), 1u) << pid;
  EXPECT_EQ(reading.relatives.at(8).busy_ticks, 42u);
  EXPECT_TRUE(read({10}).relatives.empty()) << "it carries no run's id";
}

TEST_F(LoadReadingTest, MissingFilesGiveEmptyReading) {
  const LoadReading reading = read({7});
  EXPECT_TRUE(reading.units.empty());
  EXPECT_TRUE(reading.processes.empty());
}

TEST(LoadReading, ReadsHostUnitsAndOwnProcess) {
  const LoadReading reading = LoadReader("/").read({getpid()});
  EXPECT_FALSE(reading.units.empty());
  ASSERT_EQ(reading.processes.count(getpid()), 1u);
  EXPECT_GT(reading.processes.at(getpid()).start_ticks, 0u);
}

}  // namespace
}  // namespace optile::daemon
