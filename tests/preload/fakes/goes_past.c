/* A region that is opened past the shim, as one of an object that was opened with RTLD_DEEPBIND is;
 * and what a task of oneTBB's begins with. */
#include <omp.h>

int team_past_the_shim(void);
extern const void* table_of_tasks[4];

const void* table_of_tasks[4];

int team_past_the_shim(void) {
  int size = 0;
#pragma omp parallel
#pragma omp master
  size = omp_get_num_threads();
  return size;
}
