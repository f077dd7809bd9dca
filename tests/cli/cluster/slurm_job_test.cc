#include "bindings/cli/cluster/slurm_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "daemon/cluster/node_record.h"

namespace optile::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using TaskVariables = std::map<std::string, std::string>;

const TaskVariables kTask = {{"SLURM_JOB_ID", "1234"},
                             {"SLURM_STEP_ID", "0"},
                             {"SLURM_NODEID", "1"},
                             {"SLURM_LOCALID", "0"},
                             {"SLURM_NNODES", "4"},
                             {"SLURM_STEP_NUM_NODES", "2"},
                             {"SLURM_JOB_NODELIST", "n[1-4]"},
                             {"SLURM_STEP_NODELIST", "n[3-4]"}};

base::Result<SlurmJob> job_of(const TaskVariables& variables,
                              const std::vector<std::string>& hosts = {}) {
  return read_slurm_job(
      [&](const std::string& name) {
        const auto found = variables.find(name);
        return found == variables.end() ? std::string() : found->second;
      },
      [&](const std::string&) { return hosts; });
}

base::Result<SlurmJob> job_with(const std::string& name, const std::string& value) {
  TaskVariables variables = kTask;
  variables[name] = value;
  return job_of(variables);
}

TEST(HostList, IsExpandedInItsOrder) {
  EXPECT_THAT(expand_host_list("node7").value(), ElementsAre("node7"));
  EXPECT_THAT(expand_host_list("n[01-03,7],gpu1").value(),
              ElementsAre("n01", "n02", "n03", "n7", "gpu1"));
  EXPECT_THAT(
      expand_host_list("r[1-2]n[8-10]-ib.x").value(),
      ElementsAre("r1n8-ib.x", "r1n9-ib.x", "r1n10-ib.x", "r2n8-ib.x", "r2n9-ib.x", "r2n10-ib.x"));
  EXPECT_THAT(expand_host_list("n[9,098-100]").value(), ElementsAre("n9", "n098", "n099", "n100"));
}

TEST(HostList, RefusesWhatIsNone) {
  for (const char* list : {"", ",", "a,", "n[", "n[1", "n[]", "n[a]", "n[3-1]", "n[1-2-3]", "n[1-]",
                           "a b", "$(x)", "n]1[", "n[1-99999999]", "n[1-999]m[1-999]"}) {
    EXPECT_FALSE(expand_host_list(list).ok()) << list;
  }
}

TEST(SlurmJob, IsThatOfTheStep) {
  const base::Result<SlurmJob> job = job_of(kTask);
  ASSERT_TRUE(job.ok()) << job.message();
  EXPECT_EQ(job.value().id, "1234.0");
  EXPECT_EQ(job.value().nodes, 2);
  EXPECT_EQ(job.value().node, 1);
  EXPECT_EQ(job.value().first_node, "n3");
  EXPECT_EQ(job_of(kTask, {"elsewhere", "n4"}).value().first_node, "elsewhere");
}

TEST(SlurmJob, SaysWhatIsMissing) {
  EXPECT_THAT(job_of({}).message(), HasSubstr("SLURM_JOB_ID is not set. Start it by srun"));
  EXPECT_THAT(job_with("SLURM_STEP_ID", "").message(), HasSubstr("not the batch script"));
  EXPECT_THAT(job_with("SLURM_LOCALID", "1").message(), HasSubstr("--ntasks-per-node 1"));
  EXPECT_THAT(job_with("SLURM_STEP_NODELIST", "n[3-").message(), HasSubstr("are not known"));
  EXPECT_THAT(job_with("SLURM_NODEID", "2").message(), HasSubstr("node 2 of 2"));
  EXPECT_THAT(job_with("SLURM_STEP_NUM_NODES", "x").message(), HasSubstr("cannot be"));
  EXPECT_FALSE(job_with("SLURM_JOB_ID", "../x").ok());
}

TEST(SlurmJob, HasAPortAndNamesOfItsOwn) {
  const SlurmJob job = job_of(kTask).value();
  const SlurmJob next = job_with("SLURM_STEP_ID", "1").value();
  EXPECT_EQ(etcd_port_of(job), 24347);  // on every node, whatever its machine
  EXPECT_NE(etcd_port_of(job), etcd_port_of(next));
  EXPECT_EQ(name_within(job, "train.py"), "train.py-1234.0");
  const std::string longest = name_within(job, std::string(80, 'x'));
  EXPECT_TRUE(daemon::is_cluster_name(longest));
  EXPECT_THAT(longest, HasSubstr("x-1234.0"));
}

}  // namespace
}  // namespace optile::cli
