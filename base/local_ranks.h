// Ranks of a parallel job, as the program that starts them tells each of them. Pure, any thread.
#pragma once

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

namespace optile::base {

// Where the number of ranks on the same machine stands: torchrun, Open MPI, MPICH and Intel's MPI,
// MVAPICH, Slurm (as "4" or "4(x2),3" for all machines of the step).
inline constexpr const char* kLocalRanks[] = {"LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE",
                                              "MPI_LOCALNRANKS", "MV2_COMM_WORLD_LOCAL_SIZE",
                                              "SLURM_STEP_TASKS_PER_NODE"};

// `value_of(name)`: a variable, or null. 1 where nobody says that there are several.
template <typename ValueOf>
uint32_t local_ranks(ValueOf value_of) {
  for (const char* name : kLocalRanks) {
    const char* text = value_of(name);
    const unsigned long ranks = text == nullptr ? 0 : strtoul(text, nullptr, 10);
    if (ranks > 1 && ranks <= UINT16_MAX) return static_cast<uint32_t>(ranks);
  }
  return 1;
}

// torchrun gives its ranks one thread each where nobody has set a number. That is a default, and
// no word about this program.
template <typename ValueOf>
bool is_default_of_torchrun(const char* width, ValueOf value_of) {
  const char* ranks = value_of("LOCAL_WORLD_SIZE");
  return width != nullptr && strcmp(width, "1") == 0 &&
         value_of("TORCHELASTIC_RUN_ID") != nullptr && ranks != nullptr &&
         strtoul(ranks, nullptr, 10) > 1;
}

}  // namespace optile::base
