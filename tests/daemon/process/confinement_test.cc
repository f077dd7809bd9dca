// Masks of a real process, across a daemon that was killed.
#include "daemon/process/confinement.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include <vector>

namespace optile::daemon {
namespace {

std::vector<int> mask_of(int pid) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  EXPECT_EQ(sched_getaffinity(pid, sizeof mask, &mask), 0);
  std::vector<int> units;
  for (int unit = 0; unit < CPU_SETSIZE; ++unit) {
    if (CPU_ISSET(static_cast<std::size_t>(unit), &mask)) units.push_back(unit);
  }
  return units;
}

class ConfinementTest : public testing::Test {
 protected:
  void SetUp() override {
    all_ = mask_of(0);
    if (all_.size() < 2) GTEST_SKIP() << "one processing unit: nothing to be confined from";
    char folder[] = "/tmp/optile-confinement-XXXXXX";
    ASSERT_NE(mkdtemp(folder), nullptr);
    folder_ = folder;
    child_ = fork();
    if (child_ == 0) {
      for (;;) pause();
    }
    log_ = std::make_unique<Log>(folder_ + "/log", false);
  }
  void TearDown() override {
    if (child_ > 0) {
      kill(child_, SIGKILL);
      waitpid(child_, nullptr, 0);
    }
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
  }
  std::string file() const { return folder_ + "/leases"; }
  void bind(const std::vector<int>& units) const {
    cpu_set_t mask;
    CPU_ZERO(&mask);
    for (const int unit : units) CPU_SET(static_cast<std::size_t>(unit), &mask);
    ASSERT_EQ(sched_setaffinity(child_, sizeof mask, &mask), 0);
  }

  std::vector<int> all_;
  std::string folder_;
  pid_t child_ = -1;
  std::unique_ptr<Log> log_;
};

TEST_F(ConfinementTest, ConfinesProcessAndRestoresMaskOnRelease) {
  Confinement confinement(file(), *log_);
  confinement.confine(1, child_, {all_.front()});
  EXPECT_EQ(mask_of(child_), std::vector<int>{all_.front()});
  EXPECT_TRUE(std::filesystem::exists(file()));
  confinement.release(1);
  EXPECT_EQ(mask_of(child_), all_);
  EXPECT_FALSE(std::filesystem::exists(file()));
}

TEST_F(ConfinementTest, ReportsMasksBeforeSettingThem) {
  ThreadMasks::Kernel kernel = ThreadMasks::system_kernel();
  std::vector<std::vector<int>> told;
  kernel.set = [&, set = kernel.set](int tid, const UnitSet& units) {
    // What the program came with is no lease, and told once no thread is held any more.
    if (os_indices(units) != all_) {
      EXPECT_FALSE(told.empty());
      EXPECT_EQ(told.empty() ? std::vector<int>() : told.back(), os_indices(units));
    }
    return set(tid, units);
  };
  Confinement confinement(file(), *log_, {}, kernel);
  confinement.report_masks([&](uint64_t client, const std::vector<int>& units) {
    EXPECT_EQ(client, 1u);
    if (units.empty()) {
      EXPECT_EQ(mask_of(child_), all_);
    }
    told.push_back(units);
  });
  confinement.confine(1, child_, {all_.front()});
  confinement.confine(1, child_, {all_.back()});
  confinement.confine(1, child_, {});
  const std::vector<std::vector<int>> expected = {{all_.front()}, {all_.back()}, {}};
  EXPECT_EQ(told, expected);
  confinement.confine(1, child_, {all_.back() + 1});  // it did not come with that
  EXPECT_EQ(told.back(), std::vector<int>());
}

// fault: F50
TEST_F(ConfinementTest, LeavesFileOfAnotherDaemonUnchanged) {
  bool ours = true;
  Confinement confinement(file(), *log_, {}, ThreadMasks::system_kernel(), [&] { return ours; });
  confinement.confine(1, child_, {all_.front()});
  std::ofstream(file()) << "another's";
  ours = false;
  confinement.confine(1, child_, {all_.back()});
  EXPECT_EQ(mask_of(child_), std::vector<int>{all_.back()});
  confinement.release(1);
  EXPECT_EQ(mask_of(child_), all_) << "it is to be held there";
  std::ifstream stream(file());
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(stream), {}), "another's");
}

// As while a runtime in the program looks at the machine, unit by unit.
TEST_F(ConfinementTest, IgnoresTransientMaskAtFirstConfine) {
  Confinement confinement(file(), *log_);
  confinement.came_with(child_, all_);
  bind({all_.front()});
  confinement.confine(1, child_, {all_.back()});
  bind(all_);  // the look is over
  confinement.confine(1, child_, {all_.back()});
  EXPECT_EQ(mask_of(child_), std::vector<int>{all_.back()});
  confinement.release(1);
  EXPECT_EQ(mask_of(child_), all_);
}

// One that is in a bound region when its mask is given back puts the old one back when it leaves.
TEST_F(ConfinementTest, ReleasesAgainAfterBoundRegionRestoresOldMask) {
  const std::vector<int> first = {all_.front()};
  Confinement confinement(file(), *log_);
  confinement.confine(1, child_, first);
  confinement.confine(1, child_, {});
  ASSERT_EQ(mask_of(child_), all_);
  bind(first);
  confinement.confine(1, child_, {});
  EXPECT_EQ(mask_of(child_), all_);
  bind(first);
  confinement.confine(1, child_, {all_.back()});
  EXPECT_EQ(mask_of(child_), std::vector<int>{all_.back()}) << "it is no wish of the program";
  confinement.confine(1, child_, {});
  for (int i = 0; i < Confinement::kRepeats; ++i) confinement.confine(1, child_, {});
  bind(first);
  confinement.confine(1, child_, {});
  EXPECT_EQ(mask_of(child_), first) << "by now it is";
}

TEST_F(ConfinementTest, DeferredConfinementsShareOneWrite) {
  std::vector<std::function<void()>> later;
  Confinement confinement(file(), *log_,
                          [&](std::function<void()> call) { later.push_back(std::move(call)); });
  confinement.confine(1, child_, {all_.front()});
  confinement.confine(2, getppid(), {});
  confinement.confine(1, child_, {all_.back()});
  EXPECT_FALSE(std::filesystem::exists(file()));
  EXPECT_EQ(mask_of(child_), all_);
  ASSERT_EQ(later.size(), 1u);
  later[0]();
  EXPECT_TRUE(std::filesystem::exists(file()));
  EXPECT_EQ(mask_of(child_), std::vector<int>{all_.back()}) << "the last wish counts";
  confinement.confine(1, child_, {all_.front()});
  confinement.release(1);
  EXPECT_EQ(mask_of(child_), all_) << "what comes next may read it";
  EXPECT_EQ(later.size(), 2u);
  confinement.flush();
  EXPECT_FALSE(std::filesystem::exists(file()));
  EXPECT_EQ(mask_of(child_), all_);
}

// A daemon may be killed after each of its steps.
// fault: F1
TEST_F(ConfinementTest, WritesMaskToFileBeforeSet) {
  ThreadMasks::Kernel kernel = ThreadMasks::system_kernel();
  const auto set = kernel.set;
  int wish = 0;
  std::set<int> set_for;
  kernel.set = [&](int tid, const UnitSet& units) {
    set_for.insert(wish);
    Confinement next(file(), *log_);
    EXPECT_EQ(next.original_of(child_), all_);
    std::ifstream stream(file());
    const nlohmann::json one = nlohmann::json::parse(stream).at(0);
    EXPECT_EQ(one.at("units"), os_indices(units));
    if (wish > 1) {
      EXPECT_EQ(one.at("before").at(0), std::vector<int>{all_.front()});
    }
    return set(tid, units);
  };
  Confinement confinement(file(), *log_, {}, kernel);
  wish = 1;
  confinement.confine(1, child_, {all_.front()});
  wish = 2;
  confinement.confine(1, child_, {all_.back()});
  EXPECT_EQ(set_for, (std::set<int>{1, 2}));
}

// It had written down another mask and was killed before it set that.
// fault: F1
TEST_F(ConfinementTest, RecognisesMaskFromInterruptedChange) {
  {
    Confinement killed(file(), *log_);
    killed.confine(1, child_, {all_.front()});
  }
  std::ifstream stream(file());
  nlohmann::json left = nlohmann::json::parse(stream);
  left.at(0)["before"] = {left.at(0).at("units")};
  left.at(0)["units"] = {all_.back()};
  std::ofstream(file()) << left.dump();
  Confinement next(file(), *log_);
  next.confine(7, child_, {all_.back()});
  EXPECT_EQ(mask_of(child_), std::vector<int>{all_.back()});
  next.release(7);
  EXPECT_EQ(mask_of(child_), all_);
}

TEST_F(ConfinementTest, ReportsProcessesHeldByPreviousDaemon) {
  {
    Confinement killed(file(), *log_);
    killed.confine(1, child_, {all_.front()});
    EXPECT_TRUE(killed.held_before().empty()) << "by an earlier one";
  }
  Confinement next(file(), *log_);
  ASSERT_EQ(next.held_before().size(), 1u);
  EXPECT_EQ(next.held_before()[0].pid, child_);
  EXPECT_EQ(next.held_before()[0].units, std::vector<int>{all_.front()});
  // As if it had been killed when the next mask was written down and not set yet.
  std::ifstream stream(file());
  nlohmann::json left = nlohmann::json::parse(stream);
  left.at(0)["before"] = {left.at(0).at("units")};
  left.at(0)["units"] = {all_.back()};
  std::ofstream(file()) << left.dump();
  Confinement third(file(), *log_);
  ASSERT_EQ(third.held_before().size(), 1u);
  EXPECT_EQ(third.held_before()[0].units, std::vector<int>{all_.front()});
  third.confine(7, child_, {});
  EXPECT_TRUE(third.held_before().empty());
}

// Of a client that is not held yet, too.
TEST_F(ConfinementTest, MaskChangedByCpusetIsNotUserBinding) {
  Confinement confinement(file(), *log_);
  confinement.came_with(child_, all_);
  cpu_set_t left;
  CPU_ZERO(&left);
  CPU_SET(static_cast<std::size_t>(all_.back()), &left);
  ASSERT_EQ(sched_setaffinity(child_, sizeof left, &left), 0);  // as its cpuset would
  confinement.note_cpuset(1, {all_.back()});
  confinement.confine(1, child_, {all_.front()});
  EXPECT_EQ(mask_of(child_), std::vector<int>{all_.front()});
  confinement.release(1);
  EXPECT_EQ(mask_of(child_), all_);
}

// Two daemons are killed before the program has come back.
// fault: F1
TEST_F(ConfinementTest, KeepsRecordsOfProcessesNotYetReattached) {
  {
    Confinement killed(file(), *log_);
    killed.confine(1, child_, {all_.front()});
  }
  const pid_t another = fork();
  if (another == 0) {
    for (;;) pause();
  }
  {
    Confinement killed(file(), *log_);
    killed.confine(1, another, {all_.back()});
  }
  EXPECT_EQ(Confinement(file(), *log_).original_of(child_), all_);
  kill(another, SIGKILL);
  waitpid(another, nullptr, 0);
  EXPECT_EQ(Confinement(file(), *log_).original_of(another), std::nullopt) << "nobody's any more";
}

TEST_F(ConfinementTest, NextDaemonKnowsOriginalMaskOfHeldProcess) {
  {
    Confinement killed(file(), *log_);
    killed.confine(1, child_, {all_.front()});
  }
  Confinement next(file(), *log_);
  EXPECT_EQ(next.original_of(child_), all_);
  EXPECT_EQ(next.original_of(getpid()), std::nullopt);
  next.confine(7, child_, {all_.back()});
  EXPECT_EQ(mask_of(child_), std::vector<int>{all_.back()}) << "a mask of ours, not the program's";
  next.confine(7, child_, {});
  EXPECT_EQ(mask_of(child_), all_);
  EXPECT_EQ(next.original_of(child_), std::nullopt);
}

TEST_F(ConfinementTest, NextDaemonRestoresMaskOfSoleProcess) {
  {
    Confinement killed(file(), *log_);
    killed.confine(1, child_, {all_.front()});
  }
  Confinement next(file(), *log_);
  next.confine(7, child_, {});
  EXPECT_EQ(mask_of(child_), all_);
}

TEST_F(ConfinementTest, IgnoresMalformedFile) {
  std::ofstream(file()) << R"([{"pid": 1, "start_ticks": "soon"}])";
  EXPECT_EQ(Confinement(file(), *log_).original_of(1), std::nullopt);
  std::ofstream(file()) << "no JSON";
  EXPECT_EQ(Confinement(file(), *log_).original_of(1), std::nullopt);
}

}  // namespace
}  // namespace optile::daemon
