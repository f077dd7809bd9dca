// How a rank of a job is started. Pure.
#pragma once

#include <string>
#include <vector>

#include "bindings/cli/run/launch_environment.h"

namespace optile::cli {

struct RankPlace {
  int nodes = 1;  // the job's ranks
  int rank = 0;
  std::string master_address;  // of rank 0
  int master_port = 0;
};

struct RankCommand {
  std::vector<std::string> words;
  Variables variables;
};

// A Python program by PyTorch's launcher, `PYTHON -m torch.distributed.run`; anything else, a
// Python program whose words that launcher could not take, and with `torchrun` false every one, as
// it is, with the variables that such programs read: RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT.
RankCommand command_of_rank(const std::vector<std::string>& program, const RankPlace& place,
                            bool torchrun);

// What a job is called whose name nobody said: its program's file.
std::string usual_job_name(const std::vector<std::string>& program);

}  // namespace optile::cli
