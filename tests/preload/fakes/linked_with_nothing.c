/* Regions as clang makes them, in a library that is linked with no OpenMP: whoever loads it is. */

/* NOLINTBEGIN(bugprone-reserved-identifier): these are LLVM's names */
typedef void (*Task)(int*, int*, ...);
extern void __kmpc_fork_call(void* where, int count, Task task, ...);
extern void __kmpc_push_num_threads(void* where, int thread, int threads);
/* NOLINTEND(bugprone-reserved-identifier) */
int thread_of_a_region(int threads);

static int here[6];

static void note(int* thread, int* bound, int* seen) {
  (void)bound;
  *seen = *thread;
}

int thread_of_a_region(int threads) {
  int seen = -1;
  if (threads > 0) __kmpc_push_num_threads(here, 0, threads);
  __kmpc_fork_call(here, 1, (Task)(void (*)(void))note, &seen);
  return seen;
}
