#include "perfmodel/machine/budget.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace optile::perfmodel {
namespace {

namespace fs = std::filesystem;

// A file system of its own with the few kernel files that a budget is read from.
class BudgetTest : public ::testing::Test {
 protected:
  BudgetTest() {
    std::string pattern = (fs::temp_directory_path() / "optile-budget-XXXXXX").string();
    root_ = mkdtemp(pattern.data());
    machine_ = make_machine_source("pack:1 l3:1 core:8 pu:2")->read().value();
    write("sys/devices/system/cpu/online", "0-15\n");
    allow("0-15");
  }
  ~BudgetTest() override { fs::remove_all(root_); }

  void write(const std::string& path, const std::string& text) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  void allow(const std::string& list) {
    write("proc/self/status", "Name:\tx\nCpus_allowed_list:\t" + list + "\nMems_allowed:\t1\n");
  }
  // What a launcher reads is the same number of cores, whatever limits.
  Budget budget() {
    for (const ProcessingUnit& unit : machine_.units) {
      write(
          "sys/devices/system/cpu/cpu" + std::to_string(unit.os_index) + "/topology/core_cpus_list",
          units_of_core(unit.core));
    }
    const Budget read = read_budget(machine_, {root_.string(), 0});
    EXPECT_EQ(read_granted_cores({root_.string(), 0}), read.cores);
    return read;
  }
  std::string units_of_core(int core) const {
    std::string list;
    for (const int unit : machine_.cores[static_cast<std::size_t>(core)].units) {
      const int number = machine_.units[static_cast<std::size_t>(unit)].os_index;
      list += (list.empty() ? "" : ",") + std::to_string(number);
    }
    return list + "\n";
  }
  // Of a process in /docker/abc that somebody holds to unit 3 and that came with others.
  Budget held(const std::vector<int>& came_with) {
    write("proc/77/status", "Cpus_allowed_list:\t3\n");
    write("proc/77/cgroup", "0::/docker/abc\n");
    return read_budget(machine_, {root_.string(), 77, came_with});
  }

  fs::path root_;
  Machine machine_;
};

TEST_F(BudgetTest, GrantsAllCoresWithoutLimits) {
  EXPECT_EQ(budget().cores, 8);
  EXPECT_EQ(budget().units.size(), 16u);
  EXPECT_EQ(budget().limited_by, "");
}

TEST_F(BudgetTest, CountsGrantedCoresWithoutTopologyFiles) {
  EXPECT_EQ(read_granted_cores({root_.string(), 0}), 16);  // no file names a sibling
  write("sys/devices/system/cpu/cpu0/topology/thread_siblings_list", "0,8\n");
  EXPECT_EQ(read_granted_cores({root_.string(), 0}), 15);
  write("sys/devices/system/cpu/smt/active", "0\n");
  EXPECT_EQ(read_granted_cores({root_.string(), 0}), 16);
}

TEST_F(BudgetTest, CpusetCountsEachCoreOnce) {
  allow("0-3,8");
  EXPECT_EQ(budget().cores, 3);  // cores 0, 1 (two units each) and 4 (one unit)
  EXPECT_EQ(budget().limited_by, "cpuset");
}

TEST_F(BudgetTest, SmallestQuotaOfAncestorsApplies) {
  write("proc/self/cgroup", "0::/pod/container\n");
  write("sys/fs/cgroup/pod/container/cpu.max", "max 100000\n");
  write("sys/fs/cgroup/pod/cpu.max", "250000 100000\n");
  EXPECT_DOUBLE_EQ(budget().quota_cores, 2.5);
  EXPECT_EQ(budget().cores, 3);
  EXPECT_EQ(budget().limited_by, "quota");
}

TEST_F(BudgetTest, ReadsCgroupV1QuotaInsideContainer) {
  // The path that /proc names does not exist below the mount there.
  write("proc/self/cgroup", "4:cpu,cpuacct:/docker/abc\n");
  write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "400000\n");
  write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(budget().cores, 4);
}

TEST_F(BudgetTest, QuotaBelowOneCoreGrantsOne) {
  write("proc/self/cgroup", "0::/\n");
  write("sys/fs/cgroup/cpu.max", "20000 100000\n");
  EXPECT_EQ(budget().cores, 1);
}

TEST_F(BudgetTest, IgnoresInvalidQuotas) {
  write("proc/self/cgroup", "0::/\n");
  for (const char* quota : {"1e300 1", "inf 1", "nan 1", "1 nan", "1 0", "-5 100000"}) {
    write("sys/fs/cgroup/cpu.max", quota);
    EXPECT_EQ(budget().cores, 8) << quota;
    EXPECT_EQ(budget().quota_cores, 0) << quota;
  }
}

// A node with 192 processing units whose pod has a limit of eight cores: nothing in the pod's own
// folders limits, and its threads may run anywhere.
TEST_F(BudgetTest, ReadsPodLimitOfEightCoresOn192PuNode) {
  machine_ = make_machine_source("pack:2 l3:4 core:12 pu:2")->read().value();
  ASSERT_EQ(machine_.units.size(), 192u);
  write("sys/devices/system/cpu/online", "0-191\n");
  allow("0-191");
  const std::string pods = "kubepods.slice/kubepods-burstable.slice";
  write("proc/self/cgroup", "0::/" + pods + "/pod1.slice/container\n");
  write("sys/fs/cgroup/" + pods + "/pod1.slice/container/cpu.max", "max 100000\n");
  write("sys/fs/cgroup/" + pods + "/pod1.slice/cpu.max", "800000 100000\n");
  write("sys/fs/cgroup/" + pods + "/cpu.max", "9600000 100000\n");
  EXPECT_EQ(budget().cores, 8);
  EXPECT_EQ(budget().units.size(), 192u);
  EXPECT_EQ(budget().limited_by, "quota");
}

TEST_F(BudgetTest, ReadsCgroupV1QuotaOfParentGroup) {
  write("proc/self/cgroup", "7:cpuset:/pod/container\n4:cpu,cpuacct:/pod/container\n");
  write("sys/fs/cgroup/cpu,cpuacct/pod/container/cpu.cfs_quota_us", "-1\n");
  write("sys/fs/cgroup/cpu,cpuacct/pod/container/cpu.cfs_period_us", "100000\n");
  write("sys/fs/cgroup/cpu,cpuacct/pod/cpu.cfs_quota_us", "250000\n");
  write("sys/fs/cgroup/cpu,cpuacct/pod/cpu.cfs_period_us", "100000\n");
  EXPECT_DOUBLE_EQ(budget().quota_cores, 2.5);
  EXPECT_EQ(budget().cores, 3);
}

TEST_F(BudgetTest, FollowsCpusetThatShrinksAndGrows) {
  write("proc/self/cgroup", "0::/pod/container\n");
  write("sys/fs/cgroup/pod/cpuset.cpus.effective", "0-15\n");
  EXPECT_EQ(budget().cpuset.size(), 16u);
  allow("0-3");
  write("sys/fs/cgroup/pod/cpuset.cpus.effective", "0-3\n");
  EXPECT_EQ(budget().cores, 2);
  EXPECT_EQ(budget().cpuset, (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(budget().limited_by, "cpuset");
  allow("0-15");
  write("sys/fs/cgroup/pod/cpuset.cpus.effective", "0-15\n");
  EXPECT_EQ(budget().cores, 8);
  EXPECT_EQ(budget().limited_by, "");
}

// A mask is not the cpuset: whoever set the mask can widen it again.
TEST_F(BudgetTest, ReadsCpusetUnderNarrowerMask) {
  allow("2-3");
  write("proc/self/cgroup", "3:cpuset:/docker/abc\n");
  write("sys/fs/cgroup/cpuset/cpuset.effective_cpus", "0-7\n");  // a container's own root
  EXPECT_EQ(budget().cpuset, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(budget().units, (std::vector<int>{2, 3}));
}

// Whoever reads it has another group, another mask and another quota.
TEST_F(BudgetTest, InitialMaskReplacesCurrentMaskOnly) {
  allow("0-1");
  write("proc/self/cgroup", "0::/system.slice/optiled.service\n");
  write("sys/fs/cgroup/system.slice/optiled.service/cpu.max", "100000 100000\n");
  write("sys/fs/cgroup/system.slice/cpuset.cpus.effective", "0-1\n");
  write("sys/fs/cgroup/docker/abc/cpu.max", "250000 100000\n");
  write("sys/fs/cgroup/docker/abc/cpuset.cpus.effective", "0-11\n");
  const Budget client = held({0, 1, 2, 3, 4, 5, 6, 7});
  EXPECT_EQ(client.units, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_DOUBLE_EQ(client.quota_cores, 2.5);
  EXPECT_EQ(client.cpuset.size(), 12u);
  EXPECT_EQ(client.cores, 3);
}

TEST_F(BudgetTest, CpusetLimitsInitialMask) {
  write("sys/fs/cgroup/docker/abc/cpuset.cpus.effective", "2-5\n");
  EXPECT_EQ(held({0, 1, 2, 3}).units, (std::vector<int>{2, 3}));
  EXPECT_EQ(held({0, 1}).units, (std::vector<int>{2, 3, 4, 5})) << "as the kernel does";
  EXPECT_EQ(held({0, 1}).limited_by, "cpuset");
}

TEST_F(BudgetTest, CpusetIsEmptyWithoutCpusetFiles) {
  write("proc/self/cgroup", "0::/user.slice\n");
  EXPECT_TRUE(budget().cpuset.empty());
}

TEST_F(BudgetTest, ExcludesOfflinePus) {
  write("sys/devices/system/cpu/online", "0-7\n");
  EXPECT_EQ(budget().cores, 4);
  EXPECT_EQ(budget().limited_by, "online");
}

TEST_F(BudgetTest, UnreadableFilesDoNotLimit) {
  fs::remove_all(root_ / "proc");
  fs::remove_all(root_ / "sys");
  EXPECT_EQ(read_budget(machine_, {root_.string(), 0}).cores, 8);
  EXPECT_GE(read_granted_cores({root_.string(), 0}), 1);
}

}  // namespace
}  // namespace optile::perfmodel
