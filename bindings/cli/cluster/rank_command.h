// How a rank of a job is started. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bindings/cli/run/launch_environment.h"

namespace optile::cli {

struct RankPlace {
  int nodes = 1;  // the job's ranks
  int rank = 0;
  std::string master_address;  // of rank 0
  int master_port = 0;
  std::string address;       // of this rank's machine, as the others reach it
  std::string interface {};  // that has this address; "": the program finds one
  // Of the launch, in an etcd that daemons join too; "": none. Who has rank 0 owns the job by it.
  std::string claim{};
  int64_t generation = 0;    // of a job that outlives its nodes; 0: of a fixed number of nodes
  std::string lost_nodes{};  // just before, with commas between them
};

// In a program's environment: by which interface PyTorch's gloo reaches other ranks.
inline constexpr const char* kGlooInterface = "GLOO_SOCKET_IFNAME";

// PyTorch's launcher, `PYTHON -m torch.distributed.run`.
struct Torchrun {
  bool used = true;
  int max_restarts = 0;  // of all ranks, where one of them is lost
};

struct RankCommand {
  std::vector<std::string> words;
  Variables variables;
};

// A Python program by torchrun; what that launcher could not take, and every program where it is
// not to be used, as it is, with the variables that such programs read: RANK, WORLD_SIZE,
// MASTER_ADDR, MASTER_PORT.
RankCommand command_of_rank(const std::vector<std::string>& program, const RankPlace& place,
                            const Torchrun& torchrun);

// Whether torchrun takes it: PYTHON with a file, or with -m and a module.
bool is_for_torchrun(const std::vector<std::string>& program);

// What a job is called whose name nobody said: its program's file.
std::string usual_job_name(const std::vector<std::string>& program);

}  // namespace optile::cli
