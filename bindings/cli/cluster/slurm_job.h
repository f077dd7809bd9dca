// The Slurm job that this process is a task of, as its environment tells it.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace optile::cli {

struct SlurmJob {
  std::string id;          // of the job and its step, "1234.0": another one at every `srun`
  std::string first_node;  // as the others reach it
  int nodes = 1;
  int node = 0;  // which one this is, from 0 on
};

inline constexpr std::size_t kMaxSlurmNodes = 10000;

// "n[01-03,7],gpu1" → n01, n02, n03, n7, gpu1. kInvalid: it is no such list, or of more than
// kMaxSlurmNodes.
base::Result<std::vector<std::string>> expand_host_list(const std::string& list);

// What `variable` is called in the environment; "" = not set.
using EnvironmentReader = std::function<std::string(const std::string& variable)>;
// The hosts of a list, by `scontrol`; none where there is none.
using HostLister = std::function<std::vector<std::string>(const std::string& list)>;

// kNotFound: this is no Slurm job; kInvalid: what of it cannot be used. Says what to do.
base::Result<SlurmJob> read_slurm_job(const EnvironmentReader& environment,
                                      const HostLister& hosts_by_scontrol);

// This process's, with `scontrol show hostnames` where that is installed.
base::Result<SlurmJob> own_slurm_job();

// Where the job's etcd answers: known to every node without asking, the same for one step of one
// job, and below the ports that the kernel hands out.
int etcd_port_of(const SlurmJob& job);

// `name` with the job's number, so that jobs do not meet; at most 63 letters.
std::string name_within(const SlurmJob& job, const std::string& name);

}  // namespace optile::cli
