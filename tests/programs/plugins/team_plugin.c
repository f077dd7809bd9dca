/* A region of a plugin that is opened while the program runs; it neither asks for nor sets the
 * number of threads. */
extern int omp_get_num_threads(void);

__attribute__((visibility("default"))) int plugin_team(void);

int plugin_team(void) {
  int size = 0;
#pragma omp parallel
#pragma omp master
  size = omp_get_num_threads();
  return size;
}
