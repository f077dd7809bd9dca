#include "daemon/process/relatives.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <future>
#include <map>
#include <optional>
#include <string>
#include <thread>

#include "base/text_file.h"
#include "tests/daemon/fixtures/temporary_directory.h"

namespace optile::daemon {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

namespace fs = std::filesystem;

// A process that waits, of the run `id`.
class Waiting {
 public:
  explicit Waiting(const std::string& id) {
    std::string run = "OPTILE_RUN_ID=" + id;
    std::string name = "sleep";
    std::string duration = "600";
    char* arguments[] = {name.data(), duration.data(), nullptr};
    char* variables[] = {run.data(), nullptr};
    if (posix_spawn(&pid_, "/bin/sleep", nullptr, nullptr, arguments, variables) != 0) pid_ = 0;
    // It is started before the kernel has laid out its new memory.
    while (pid_ > 0 && !shows_environment()) std::this_thread::yield();
  }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;
  ~Waiting() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  int pid() const { return pid_; }

 private:
  bool shows_environment() const {
    const std::string path = "/proc/" + std::to_string(pid_) + "/environ";
    return !base::read_text_file(path).value_or("gone").empty();
  }

  pid_t pid_ = 0;
};

TEST(Relatives, FindsProcessStartedByAnotherThread) {
  const Waiting client("one-run");
  std::promise<int> started;
  std::promise<void> done;
  // The kernel lists a child with the thread that started it, while that thread lives.
  std::thread other([&] {
    const Waiting sibling("one-run");
    started.set_value(sibling.pid());
    done.get_future().wait();
  });
  const int sibling = started.get_future().get();
  const Waiting stranger("another-run");
  const std::vector<int> found = RunProcesses("").find({client.pid()});
  done.set_value();
  other.join();
  EXPECT_THAT(found, Contains(sibling));
  EXPECT_THAT(found, Not(Contains(stranger.pid())));
  EXPECT_THAT(found, Not(Contains(client.pid())));
}

// A tree of processes in a folder, each of one thread.
class RunProcessesTest : public ::testing::Test {
 protected:
  // `environment`: words with a blank after each.
  void start(int pid, int parent, std::string environment, uint64_t environment_start = 0) {
    parent_[pid] = parent;
    std::replace(environment.begin(), environment.end(), ' ', '\0');
    write(pid, "environ", environment);
    // All fields up to the place of the environment.
    std::string stat = std::to_string(pid) + " (worker) S " + std::to_string(parent);
    for (int place = 5; place < 50; ++place) stat += place == 22 ? " 99" : " 0";
    write(pid, "stat", stat + " " + std::to_string(environment_start) + " 0 0\n");
    write_children();
  }
  void end(int pid) {
    parent_.erase(pid);
    fs::remove_all(folder(pid));
    for (auto& [child, parent] : parent_) parent = parent == pid ? 1 : parent;
    write_children();
  }
  std::vector<int> find(const std::vector<int>& clients,
                        std::optional<uint64_t> forks = std::nullopt) {
    return processes_.find(clients, forks);
  }

 private:
  fs::path folder(int pid) const {
    return fs::path(directory_ / "root") / "proc" / std::to_string(pid);
  }
  void write(int pid, const std::string& name, const std::string& text) const {
    const fs::path file = folder(pid) / name;
    fs::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << text;
  }
  void write_children() const {
    std::map<int, std::string> children;
    for (const auto& [pid, parent] : parent_) {
      children[pid];
      children[parent] += std::to_string(pid) + " ";
    }
    for (const auto& [pid, list] : children) {
      if (pid > 0) write(pid, "task/" + std::to_string(pid) + "/children", list);
    }
  }

  TemporaryDirectory directory_;
  std::map<int, int> parent_;
  RunProcesses processes_{directory_ / "root"};
};

// Ray's: a program starts daemons, one of these starts the workers, which attach.
TEST_F(RunProcessesTest, FindsWholeTreeOfRun) {
  start(1, 0, "A=1 ");
  start(10, 1, "A=1 ");                     // a shell
  start(11, 10, "A=1 OPTILE_RUN_ID=one ");  // the program
  start(12, 11, "A=1 OPTILE_RUN_ID=one ");  // gcs_server
  start(13, 11, "A=1 OPTILE_RUN_ID=one ");  // raylet
  start(14, 13, "A=1 OPTILE_RUN_ID=one ");  // a worker that attached
  start(15, 13, "A=1 OPTILE_RUN_ID=one ");  // and one that has not
  start(16, 12, "A=1 OPTILE_RUN_ID=one ");
  start(17, 16, "A=1 OPTILE_RUN_ID=other ");
  start(18, 10, "A=1 OPTILE_RUN_ID=other ");
  start(19, 12, "B=1 ");
  EXPECT_THAT(find({14}), ElementsAre(11, 12, 13, 15, 16));
  EXPECT_THAT(find({11, 14}), ElementsAre(12, 13, 15, 16));
  EXPECT_THAT(find({18}), IsEmpty());
  EXPECT_THAT(find({19}), IsEmpty());
  EXPECT_THAT(find({}), IsEmpty());
}

TEST_F(RunProcessesTest, FindsProcessesWhoseParentHasEnded) {
  start(1, 0, "A=1 ");
  start(10, 1, "A=1 ");
  start(11, 10, "OPTILE_RUN_ID=one ");
  start(12, 11, "OPTILE_RUN_ID=one ");
  start(13, 12, "OPTILE_RUN_ID=one ");
  start(14, 13, "OPTILE_RUN_ID=one ");
  start(15, 1, "OPTILE_RUN_ID=other ");
  end(12);
  EXPECT_THAT(find({11}), ElementsAre(13, 14));
}

// A title is written over the environment.
TEST_F(RunProcessesTest, ProcessWithoutEnvironmentInheritsParentRun) {
  start(1, 0, "A=1 ");
  start(11, 1, "OPTILE_RUN_ID=one ");
  start(12, 11, "");
  start(13, 12, std::string(20, ' '));
  start(14, 13, "OPTILE_RUN_ID=one ");
  start(15, 1, "");
  EXPECT_THAT(find({14}), ElementsAre(11, 12, 13));
  EXPECT_THAT(find({13}), ElementsAre(11, 12, 14)) << "a client of which nothing is shown";
}

// The launcher gives the program its environment when it executes it.
TEST_F(RunProcessesTest, EnvironmentIsReadAgainAfterExec) {
  start(1, 0, "A=1 ");
  start(11, 1, "A=1 ", 7000);
  start(12, 11, "OPTILE_RUN_ID=one ", 7000);
  EXPECT_THAT(find({12}), IsEmpty());
  start(11, 1, "A=1 OPTILE_RUN_ID=one ", 7000);
  EXPECT_THAT(find({12}), IsEmpty()) << "it was read already";
  start(11, 1, "A=1 OPTILE_RUN_ID=one ", 7032);
  EXPECT_THAT(find({12}), ElementsAre(11));
}

TEST_F(RunProcessesTest, ScansOnlyAfterNewForks) {
  start(1, 0, "A=1 ");
  start(11, 1, "OPTILE_RUN_ID=one ");
  for (int look = 0; look < 3; ++look) EXPECT_THAT(find({11}, 500), IsEmpty());
  start(12, 11, "OPTILE_RUN_ID=one ");
  EXPECT_THAT(find({11}, 500), IsEmpty()) << "nothing was read";
  EXPECT_THAT(find({11}, 501), ElementsAre(12));
  start(13, 11, "OPTILE_RUN_ID=one ");
  EXPECT_THAT(find({11}, 501), ElementsAre(12, 13)) << "it may have executed its program since";
}

TEST_F(RunProcessesTest, LimitsEnvironmentsReadPerScan) {
  start(1, 0, "A=1 ");
  start(11, 1, "OPTILE_RUN_ID=one ");
  constexpr int kChildren = 100;
  for (int child = 0; child < kChildren; ++child) start(100 + child, 11, "OPTILE_RUN_ID=one ");
  // Two environments were read on the way up.
  EXPECT_EQ(find({11}, 500).size(), RunProcesses::kMostEnvironments - 2);
  EXPECT_EQ(find({11}, 500).size(), kChildren) << "the rest, though nothing was started";
}

}  // namespace
}  // namespace optile::daemon
