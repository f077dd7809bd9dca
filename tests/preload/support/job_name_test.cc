#include "bindings/preload/support/job_name.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <string>

namespace optile::preload {
namespace {

constexpr const char* kWords[] = {"OPTILE_JOB",
                                  "OMPI_COMM_WORLD_RANK",
                                  "OMPI_COMM_WORLD_SIZE",
                                  "PMIX_NAMESPACE",
                                  "PMIX_RANK",
                                  "OMPI_MCA_ess_base_jobid",
                                  "OMPI_MCA_orte_ess_jobid",
                                  "SLURM_PROCID",
                                  "SLURM_NTASKS",
                                  "SLURM_STEP_NUM_TASKS",
                                  "SLURM_JOB_ID",
                                  "SLURM_JOBID",
                                  "SLURM_STEP_ID",
                                  "SLURM_STEPID",
                                  "PMI_RANK",
                                  "PMI_SIZE",
                                  "PMI_JOBID",
                                  "PMI_PORT"};

std::string job_of(const std::map<std::string, std::string>& environment) {
  for (const char* name : kWords) unsetenv(name);
  for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
  char job[48];
  read_job_name(job, sizeof job);
  for (const auto& [name, value] : environment) unsetenv(name.c_str());
  return job;
}

TEST(JobName, IsEmptyForSingleProcess) {
  EXPECT_EQ(job_of({}), "");
  EXPECT_EQ(job_of({{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "1"}}), "");
  EXPECT_EQ(job_of({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "1"}, {"SLURM_JOB_ID", "7"}}), "");
}

TEST(JobName, UserVariableTakesPrecedence) {
  EXPECT_EQ(
      job_of(
          {{"OPTILE_JOB", "mine"}, {"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "2"}}),
      "mine");
}

TEST(JobName, ReadsOpenMpiJob) {
  EXPECT_EQ(job_of({{"OMPI_COMM_WORLD_RANK", "1"},
                    {"OMPI_COMM_WORLD_SIZE", "4"},
                    {"PMIX_NAMESPACE", "3054895105"},
                    {"PMIX_RANK", "1"}}),
            "openmpi:3054895105");
  EXPECT_EQ(job_of({{"OMPI_COMM_WORLD_RANK", "1"},
                    {"OMPI_COMM_WORLD_SIZE", "4"},
                    {"OMPI_MCA_ess_base_jobid", "99"}}),
            "openmpi:99");
}

TEST(JobName, ReadsSlurmJobAndStep) {
  EXPECT_EQ(job_of({{"SLURM_PROCID", "3"},
                    {"SLURM_STEP_NUM_TASKS", "8"},
                    {"SLURM_JOB_ID", "4242"},
                    {"SLURM_STEP_ID", "1"}}),
            "slurm:4242.1");
  EXPECT_EQ(job_of({{"SLURM_PROCID", "3"},
                    {"SLURM_NTASKS", "8"},
                    {"SLURM_JOBID", "4242"},
                    {"SLURM_STEPID", "0"}}),
            "slurm:4242.0");
}

TEST(JobName, ReadsPmiAndPmixJobs) {
  EXPECT_EQ(job_of({{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}, {"PMI_PORT", "node:4000"}}),
            "pmi:node:4000");
  EXPECT_EQ(job_of({{"PMIX_RANK", "0"}, {"PMIX_NAMESPACE", "prte.5"}}), "pmix:prte.5");
  EXPECT_EQ(job_of({{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}}).rfind("pmi:session-", 0), 0u);
}

TEST(JobName, TruncatesLongName) {
  EXPECT_EQ(job_of({{"OPTILE_JOB", std::string(100, 'x')}}), std::string(47, 'x'));
}

}  // namespace
}  // namespace optile::preload
