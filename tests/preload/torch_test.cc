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

#include "tests/preload/fake_daemon.h"

namespace optile::preload {
namespace {

using test::FakeDaemon;
using test::PlannedOp;

// torch_program.py under the shim, with both ends of its conversation.
class Program {
 public:
  explicit Program(const FakeDaemon& daemon) {
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
      execl("/usr/bin/python3", "python3", OPTILE_TEST_PROGRAM, nullptr);
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

TEST(Torch, OpsAreSeenSteeredAndPutBack) {
  FakeDaemon daemon;
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
  EXPECT_EQ(daemon.client().header.own_width, 4u);
  EXPECT_EQ(daemon.client().header.own_width_source, uint32_t{OPTILE_WIDTH_ENVIRONMENT});
}

}  // namespace
}  // namespace optile::preload
