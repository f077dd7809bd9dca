#include "bindings/preload/support/job_name.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

namespace optile::preload {
namespace {

// "" where it is not set: an empty name is none.
const char* word(const char* name) {
  const char* value = getenv(name);
  return value == nullptr ? "" : value;
}

bool has(const char* name) {
  return word(name)[0] != '\0';
}

const char* first_of(const char* one, const char* other) {
  return has(one) ? word(one) : word(other);
}

bool several(const char* name) {
  return strtol(word(name), nullptr, 10) > 1;
}

}  // namespace

void read_job_name(char* name, size_t size) {
  name[0] = '\0';
  if (has("OPTILE_JOB")) {
    snprintf(name, size, "%s", word("OPTILE_JOB"));
    return;
  }
  if (has("OMPI_COMM_WORLD_RANK") && several("OMPI_COMM_WORLD_SIZE")) {
    const char* job = first_of("PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid");
    if (job[0] == '\0') job = word("OMPI_MCA_orte_ess_jobid");
    snprintf(name, size, "openmpi:%s", job);
    return;
  }
  // A step of one task is a job by itself; `srun` counts steps, sbatch's own script is none.
  if (has("SLURM_PROCID") && (several("SLURM_STEP_NUM_TASKS") || several("SLURM_NTASKS"))) {
    const char* step = first_of("SLURM_STEP_ID", "SLURM_STEPID");
    snprintf(name, size, "slurm:%s.%s", first_of("SLURM_JOB_ID", "SLURM_JOBID"), step);
    return;
  }
  if (has("PMIX_RANK") && has("PMIX_NAMESPACE")) {
    snprintf(name, size, "pmix:%s", word("PMIX_NAMESPACE"));
    return;
  }
  if (has("PMI_RANK") && several("PMI_SIZE")) {
    const char* job = first_of("PMI_JOBID", "PMI_PORT");
    // Nothing names it: what one shell or batch script started counts as one.
    if (job[0] == '\0') {
      snprintf(name, size, "pmi:session-%ld", static_cast<long>(getsid(0)));
      return;
    }
    snprintf(name, size, "pmi:%s", job);
  }
}

}  // namespace optile::preload
