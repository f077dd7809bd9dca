#include "bindings/cli/cluster/cluster_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bindings/cli/cluster/rank_command.h"
#include "tests/cli/fixtures/golden.h"

namespace optile::cli {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Words = std::vector<std::string>;

TEST(ClusterTable, MatchesGoldenFile) {
  Golden golden("cluster");
  golden.add("in no cluster", cluster_table({{"state", "none"}}));
  Json answer = Json::parse(R"({
    "state": "member", "user": "train", "name": "node0", "leader": "node1", "epoch": 3,
    "etcd": {"endpoint": "http://node0:2379", "reachable": true},
    "nodes": [
      {"name": "node0", "address": "10.0.0.1", "cores": 8, "memory_bytes": 33500000000,
       "gflop_per_second": 15.23, "interface": "eth0", "leader": false, "seen_seconds": 1.24,
       "links": [{"node": "a-longer-name", "latency_seconds": 0.000061,
                  "bytes_per_second": 117000000}]},
      {"name": "a-longer-name", "address": "10.0.0.2", "cores": 192, "memory_bytes": 1e12,
       "gflop_per_second": null, "interface": "", "links": [], "leader": true,
       "seen_seconds": 1.24}],
    "messages": []})");
  golden.add("a member", cluster_table(answer));
  answer["state"] = "unreachable";
  answer["etcd"]["reachable"] = false;
  answer["nodes"][1]["seen_seconds"] = 61.0;
  answer["messages"] = {"etcd does not answer at http://node0:2379: Connection refused"};
  golden.add("etcd gone", cluster_table(answer));
  golden.check();
}

TEST(RankCommand, PythonProgramGoesToTorchRun) {
  const RankPlace place = {4, 2, "10.0.0.1", 2000, "10.0.0.3"};
  const RankCommand script =
      command_of_rank({"/usr/bin/python3.11", "-u", "-W", "ignore", "t.py", "-m", "x"}, place, {});
  EXPECT_THAT(
      script.words,
      ElementsAre("/usr/bin/python3.11", "-u", "-W", "ignore", "-m", "torch.distributed.run",
                  "--nnodes", "4", "--nproc-per-node", "1", "--node-rank", "2", "--master-addr",
                  "10.0.0.1", "--master-port", "2000", "t.py", "-m", "x"));
  EXPECT_THAT(script.variables, IsEmpty());
  const RankCommand module = command_of_rank({"python", "-m", "pkg.train", "x"}, place, {});
  EXPECT_EQ(module.words[2], "torch.distributed.run");
  EXPECT_THAT(Words(module.words.end() - 3, module.words.end()),
              ElementsAre("-m", "pkg.train", "x"));
}

TEST(RankCommand, RanksThatMayRestartMeetWithoutGivenPlaces) {
  const RankCommand command =
      command_of_rank({"python", "t.py"}, {4, 2, "10.0.0.1", 2000, "10.0.0.3"}, {true, 5});
  EXPECT_THAT(command.words,
              ElementsAre("python", "-m", "torch.distributed.run", "--nnodes", "4",
                          "--nproc-per-node", "1", "--rdzv-backend", "c10d", "--rdzv-endpoint",
                          "10.0.0.1:2000", "--rdzv-id", "2000", "--rdzv-conf", "is_host=0",
                          "--local-addr", "10.0.0.3", "--max-restarts", "5", "t.py"));
  EXPECT_EQ(command.variables, (Variables{{"TORCH_DISABLE_SHARE_RDZV_TCP_STORE", "1"}}));
}

TEST(RankCommand, AnythingElseIsStartedAsItIs) {
  const RankPlace place = {4, 2, "10.0.0.1", 2000, "10.0.0.3"};
  for (const Words& program : {Words{"./train", "x"}, Words{"python3", "-c", "pass"},
                               Words{"python3"}, Words{"pythonic", "t.py"}}) {
    const RankCommand command = command_of_rank(program, place, {});
    EXPECT_EQ(command.words, program);
    EXPECT_FALSE(is_for_torchrun(program));
    EXPECT_EQ(command.variables, (Variables{{"RANK", "2"},
                                            {"WORLD_SIZE", "4"},
                                            {"MASTER_ADDR", "10.0.0.1"},
                                            {"MASTER_PORT", "2000"}}));
  }
  const Words script = {"python3", "t.py"};
  EXPECT_EQ(command_of_rank(script, place, {false}).words, script);
}

TEST(RankCommand, NamesTheInterfaceThatOthersReach) {
  const RankPlace place = {4, 2, "10.0.0.1", 2000, "10.0.0.3", "eth0"};
  for (const Words& program : {Words{"./train"}, Words{"python3", "t.py"}}) {
    EXPECT_EQ(command_of_rank(program, place, {}).variables.at("GLOO_SOCKET_IFNAME"), "eth0");
  }
}

TEST(RankCommand, JobIsCalledAsItsProgram) {
  EXPECT_EQ(usual_job_name({"python3", "-u", "a b/my train.py", "x"}), "my-train.py");
  EXPECT_EQ(usual_job_name({"python3", "-m", "pkg.train"}), "pkg.train");
  EXPECT_EQ(usual_job_name({"/opt/bin/solver", "x"}), "solver");
  EXPECT_EQ(usual_job_name({"python3", "-c", "pass"}), "python3");
  EXPECT_EQ(usual_job_name({"/"}), "job");
}

}  // namespace
}  // namespace optile::cli
