// The whole path of an op, from a PyTorch program through the bridge and the shim into the memory
// that it shares with a daemon, and the plan's way back.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>

#include "tests/daemon/fixtures/temporary_directory.h"
#include "tests/preload/fakes/fake_daemon.h"

namespace optile::preload {
namespace {

using test::FakeDaemon;
using test::PlannedOp;

// A program under the shim, with both ends of its conversation.
class Program {
 public:
  explicit Program(const FakeDaemon& daemon, const char* script = OPTILE_TEST_PROGRAM,
                   const char* word = nullptr, const char* more = nullptr) {
    int to_child[2];
    int from_child[2];
    if (pipe2(to_child, O_CLOEXEC) != 0 || pipe2(from_child, O_CLOEXEC) != 0) abort();
    pid_ = fork();
    if (pid_ == 0) {
      dup2(to_child[0], STDIN_FILENO);
      dup2(from_child[1], STDOUT_FILENO);
      setenv("LD_PRELOAD", OPTILE_TEST_SHIM, 1);
      setenv("OPTILE_SOCKET", daemon.socket_path().c_str(), 1);
      setenv("OMP_NUM_THREADS", "4", 1);
      setenv("OMP_WAIT_POLICY", "passive", 1);
      execl("/usr/bin/python3", "python3", script, word, more, nullptr);
      std::_Exit(127);
    }
    close(to_child[0]);
    close(from_child[1]);
    input_ = fdopen(to_child[1], "w");
    output_ = fdopen(from_child[0], "r");
  }
  ~Program() {
    std::fclose(input_);
    std::fclose(output_);
    int status = 0;
    waitpid(pid_, &status, 0);
    EXPECT_EQ(status, 0);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  std::string read_line() {
    char line[256] = "";
    if (std::fgets(line, sizeof line, output_) == nullptr) return "";
    return line;
  }
  void go_on() {
    std::fputs("go\n", input_);
    std::fflush(input_);
  }

 private:
  pid_t pid_ = -1;
  FILE* input_ = nullptr;
  FILE* output_ = nullptr;
};

std::map<std::string, optile_op_record> ops_by_name(const FakeDaemon& daemon) {
  std::map<std::string, optile_op_record> ops;
  const uint32_t count = optile_load32(&daemon.client().header.registry_count);
  for (uint32_t i = 0; i < count; ++i) ops[daemon.client().ops[i].name] = daemon.client().ops[i];
  return ops;
}

std::vector<PlannedOp> every_op_at(const FakeDaemon& daemon, uint16_t width) {
  std::vector<PlannedOp> plan;
  const uint32_t count = optile_load32(&daemon.client().header.registry_count);
  for (uint32_t i = 0; i < count; ++i) plan.push_back({daemon.client().ops[i].key, width, {}, 0});
  return plan;
}

TEST(Torch, OpsAreRecordedSteeredAndRestored) {
  const daemon::TemporaryDirectory folder;
  FakeDaemon daemon(folder.path());
  daemon.answer_one_client();
  Program program(daemon);
  ASSERT_EQ(program.read_line(), "ready\n");
  daemon.wait_for_client();

  const std::map<std::string, optile_op_record> ops = ops_by_name(daemon);
  std::string names;
  for (const auto& [name, record] : ops) names += name + ' ';
  ASSERT_TRUE(ops.contains("aten::conv2d")) << names;
  EXPECT_NE(std::string(ops.at("aten::conv2d").shape).find("[8,4,16,16]"), std::string::npos);
  EXPECT_EQ(ops.at("aten::conv2d").flags & OPTILE_OP_BACKWARD, 0u);
  ASSERT_TRUE(ops.contains("ConvolutionBackward0"));
  EXPECT_NE(ops.at("ConvolutionBackward0").flags & OPTILE_OP_BACKWARD, 0u);
  // Inside another op, hence not an op of its own.
  EXPECT_FALSE(ops.contains("aten::mkldnn_convolution"));
  // Looked through: what it calls is outermost.
  EXPECT_FALSE(ops.contains("aten::lstm"));
  EXPECT_TRUE(ops.contains("aten::sigmoid_") || ops.contains("aten::sigmoid"));

  for (const optile_event& event : daemon.take_events()) {
    EXPECT_TRUE(event.width == 4 || event.width == 0) << event.width;
  }
  daemon.publish(every_op_at(daemon, 2));
  program.go_on();
  EXPECT_EQ(program.read_line(), "threads 4 surprises 0\n");
  std::set<uint32_t> narrow;
  std::set<uint32_t> wide;
  for (const optile_event& event : daemon.take_events()) {
    if (event.kind != OPTILE_EVENT_OP) continue;
    (event.width == 2 ? narrow : wide).insert(event.op_id);
  }
  EXPECT_TRUE(wide.empty()) << wide.size() << " ops, the first " << *wide.begin();
  EXPECT_GT(narrow.size(), 10u);
  EXPECT_EQ(daemon.client().header.default_width, 4u);
  EXPECT_EQ(daemon.client().header.default_width_source, uint32_t{OPTILE_WIDTH_ENVIRONMENT});
}

TEST(Torch, CompiledKernelRegionsAreSteeredOps) {
  const daemon::TemporaryDirectory folder;
  FakeDaemon daemon(folder.path());
  daemon.answer_one_client();
  Program program(daemon, OPTILE_TEST_KERNELS, OPTILE_TEST_FAKE_KERNEL);
  // What it sized for four threads before its region does for two as well.
  ASSERT_EQ(program.read_line(), "ready, teams 4 3 4\n");
  daemon.wait_for_client();
  daemon.take_events();
  daemon.publish(every_op_at(daemon, 2));
  program.go_on();
  EXPECT_EQ(program.read_line(), "teams 2 3 4, 0 wrong, 0 surprises\n");

  std::set<uint64_t> keys;
  int narrow = 0;
  int left_alone = 0;
  for (const optile_event& event : daemon.take_events()) {
    const optile_op_record& op = daemon.client().ops[event.op_id];
    if (event.kind != OPTILE_EVENT_OP || op.name != std::string("inductor kernel")) continue;
    EXPECT_NE(std::string(op.shape).find(".main.so+0x"), std::string::npos) << op.shape;
    EXPECT_EQ(op.flags, 0u);
    keys.insert(op.key);
    const bool steerable = (event.flags & OPTILE_EVENT_STEERABLE) != 0;
    EXPECT_EQ(event.width, steerable ? 2 : 0);
    ++(steerable ? narrow : left_alone);
  }
  EXPECT_EQ(keys.size(), 2u) << "two regions in one place, and none where Inductor has no files";
  EXPECT_EQ(narrow, 12);
  EXPECT_EQ(left_alone, 12) << "the clause's";
}

// One execution of an op.
struct Execution {
  uint64_t begin = 0;
  uint64_t end = 0;
  int width = 0;
};

// What every thread ran since its ring was read last.
std::vector<std::vector<Execution>> executions_by_thread(const FakeDaemon& daemon,
                                                         const std::vector<uint64_t>& from) {
  std::vector<std::vector<Execution>> all;
  for (uint32_t slot = 0; slot < OPTILE_MAX_THREADS; ++slot) {
    const optile_thread_slot& thread = daemon.client().threads[slot];
    const uint64_t head = optile_load64(&thread.head);
    if (head == from[slot]) continue;
    all.emplace_back();
    for (uint64_t i = from[slot]; i < head; ++i) {
      const optile_event& event = thread.ring[i % OPTILE_RING_EVENTS];
      if (event.kind != OPTILE_EVENT_OP) continue;
      all.back().push_back({event.begin_ticks, event.begin_ticks + event.ticks, event.width});
    }
  }
  return all;
}

// Wherever an op begins: what was in force on all threads, and what of it were teams.
void add_up(const std::vector<std::vector<Execution>>& threads, int* most, int* most_in_teams) {
  for (const auto& mine : threads) {
    for (const Execution& op : mine) {
      int sum = 0;
      int teams = 0;
      for (const auto& other : threads) {
        const auto next =
            std::upper_bound(other.begin(), other.end(), op.begin,
                             [](uint64_t when, const Execution& one) { return when < one.begin; });
        if (next == other.begin() || std::prev(next)->end <= op.begin) continue;
        sum += std::prev(next)->width;
        if (std::prev(next)->width > 1) teams += std::prev(next)->width;
      }
      *most = std::max(*most, sum);
      *most_in_teams = std::max(*most_in_teams, teams);
    }
  }
}

TEST(Torch, OpsOfSeveralThreadsShareCores) {
  const daemon::TemporaryDirectory folder;
  FakeDaemon daemon(folder.path());
  daemon.answer_one_client();
  Program program(daemon, OPTILE_TEST_ISSUERS, "--wait");
  ASSERT_EQ(program.read_line(), "ready\n");
  daemon.wait_for_client();
  daemon.publish({});
  daemon.share(4);
  std::vector<uint64_t> heads;
  for (const optile_thread_slot& thread : daemon.client().threads) heads.push_back(thread.head);
  daemon.take_events();
  program.go_on();
  EXPECT_EQ(program.read_line(), "issuers: 3 threads, 0 wrong, 0 surprises\n");

  const auto threads = executions_by_thread(daemon, heads);
  ASSERT_EQ(threads.size(), 3u);
  int most = 0;
  int most_in_teams = 0;
  add_up(threads, &most, &most_in_teams);
  EXPECT_LE(most_in_teams, 4) << "more than one thread is taken only where it is free";
  EXPECT_LE(most, 4 + 2) << "and beyond that are floors";
  EXPECT_EQ(daemon.client().header.most_in_ops, 3u);
  EXPECT_GT(daemon.client().header.narrowed_ops, 0u);
}

TEST(Torch, OpsOfAlternatingThreadsKeepTheirWidths) {
  const daemon::TemporaryDirectory folder;
  FakeDaemon daemon(folder.path());
  daemon.answer_one_client();
  Program program(daemon, OPTILE_TEST_ISSUERS, "--wait", "--turns");
  ASSERT_EQ(program.read_line(), "ready\n");
  daemon.wait_for_client();
  daemon.publish({});
  daemon.share(4);
  daemon.take_events();
  program.go_on();
  EXPECT_EQ(program.read_line(), "issuers: 3 threads, 0 wrong, 0 surprises\n");
  for (const optile_event& event : daemon.take_events()) EXPECT_EQ(event.width, 4);
  EXPECT_EQ(daemon.client().header.narrowed_ops, 0u);
  EXPECT_EQ(daemon.client().header.issuing_threads, 3u);
}

}  // namespace
}  // namespace optile::preload
