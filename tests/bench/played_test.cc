// What bench/played reads and reckons: the table of times, and kernels side by side.
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "bench/played/kernel_times.h"
#include "bench/played/played_machine.h"
#include "perfmodel/machine/machine.h"

namespace optile::bench {
namespace {

constexpr const char* kTable =
    "played kernels 1 knl\n"
    "0.25\tMul#shape=(float[2,3])#\t4 2.5 2\n"
    "0\tAdd#shape=()#\t1e-3\n";

TEST(KernelTimes, AreReadByKernel) {
  const auto table = parse_times(kTable);
  ASSERT_TRUE(table.ok()) << table.message();
  EXPECT_EQ(table.value().machine, "knl");
  const KernelTimes* mul = table.value().find("Mul#shape=(float[2,3])#");
  ASSERT_NE(mul, nullptr);
  EXPECT_EQ(mul->memory_share, 0.25);
  EXPECT_EQ(mul->at(2), 2.5);
  EXPECT_EQ(mul->at(7), 2);  // the widest there is
  EXPECT_EQ(mul->fastest(), 2);
  EXPECT_EQ(table.value().find("Mul#shape=(float[2,4])#"), nullptr);
}

TEST(KernelTimes, BadLinesAreNamed) {
  for (const char* line : {"1", "0.5\tMul", "0.5\tMul\t", "1.5\tMul\t1", "0.5\tMul\t1 -1",
                           "0.5\tMul\t1 x", "0.5\tMul\tinf", "0\tAdd#shape=()#\t1"}) {
    const auto table = parse_times(std::string(kTable) + line + "\n");
    ASSERT_FALSE(table.ok()) << line;
    EXPECT_NE(table.message().find("line 4"), std::string::npos) << table.message();
  }
  EXPECT_FALSE(parse_times("kernels\n").ok());
}

TEST(KernelTimes, KernelIsWhatFollowsTheNode) {
  EXPECT_EQ(kernel_of_trace("a/b:Mul#shape=(int32[1])#"), "Mul#shape=(int32[1])#");
  EXPECT_EQ(kernel_of_trace("Mul"), "Mul");
}

class PlayedMachineTest : public ::testing::Test {
 protected:
  PlayedMachineTest()
      : map_(
            sched::make_core_map(perfmodel::make_machine_source("l2:2 core:2 pu:2")->read().value())
                .value()),
        machine_(map_) {}

  const sched::CoreMap map_;
  PlayedMachine machine_;
  const KernelTimes computing_{0, {8, 4, 3, 2}};
  const KernelTimes waiting_{1, {8, 4, 3, 2}};
};

TEST_F(PlayedMachineTest, KernelTakesItsTimeAtItsWidth) {
  const int narrow = machine_.begin(computing_, 1, 10);
  EXPECT_DOUBLE_EQ(machine_.next_end(), 18);
  machine_.advance(17.9);
  EXPECT_TRUE(machine_.is_running(narrow));
  machine_.advance(18);
  EXPECT_FALSE(machine_.is_running(narrow));
  const int wide = machine_.begin(computing_, 4, 20);
  EXPECT_DOUBLE_EQ(machine_.next_end(), 22);
  machine_.advance(30);
  EXPECT_FALSE(machine_.is_running(wide));
  EXPECT_EQ(machine_.next_end(), std::numeric_limits<double>::infinity());
  EXPECT_DOUBLE_EQ(machine_.thread_seconds(), 8 + 4 * 2);
  EXPECT_EQ(machine_.corunning_mean(), 1);
}

TEST_F(PlayedMachineTest, KernelsOnCoresOfTheirOwnDoNotDisturb) {
  machine_.begin(computing_, 2, 0);
  machine_.begin(computing_, 2, 0);
  EXPECT_DOUBLE_EQ(machine_.next_end(), 4);
}

TEST_F(PlayedMachineTest, KernelsThatShareCoresAreSlowerUntilOneEnds) {
  const int first = machine_.begin(computing_, 4, 0);
  const int second = machine_.begin(computing_, 4, 1);
  const double end = machine_.next_end();  // the first has one second left, and takes longer
  EXPECT_DOUBLE_EQ(end, 1 + 2 / perfmodel::Interference().two_threads_gain);
  machine_.advance(end);
  EXPECT_FALSE(machine_.is_running(first));
  EXPECT_TRUE(machine_.is_running(second));
  EXPECT_DOUBLE_EQ(machine_.next_end(), end + 1);  // alone again, with the half left
  EXPECT_GT(machine_.corunning_mean(), 1);
}

TEST_F(PlayedMachineTest, KernelsThatWaitForMemoryDivideIt) {
  machine_.begin(waiting_, 2, 0);
  EXPECT_DOUBLE_EQ(machine_.next_end(), 4);
  machine_.begin(waiting_, 2, 0);
  EXPECT_GT(machine_.next_end(), 4.5);
}

TEST_F(PlayedMachineTest, MoreThreadsThanCoresCrowd) {
  machine_.begin(computing_, 8, 0);
  EXPECT_GT(machine_.next_end(), 3);
}

TEST_F(PlayedMachineTest, TimeThatPassedAtOnceIsThatOfEachPart) {
  machine_.begin(computing_, 4, 0);
  const int second = machine_.begin(computing_, 4, 1);
  machine_.advance(100);
  EXPECT_FALSE(machine_.is_running(second));
  EXPECT_DOUBLE_EQ(machine_.thread_seconds(),
                   4 * (1 + 1) + 8 * (2 / perfmodel::Interference().two_threads_gain));
}

}  // namespace
}  // namespace optile::bench
