// Which job this process is a part of, as the launcher of parallel jobs says it in the environment.
// Called once, by the shim's constructor; libc only.
#pragma once

#include <stddef.h>

namespace optile::preload {

// OPTILE_JOB, else what Open MPI, Slurm or another PMI launcher calls the job, where it has several
// ranks; "" for a process of its own. Always ends with a zero; longer names are cut.
void read_job_name(char* name, size_t size);

}  // namespace optile::preload
