/* As much of LLVM's OpenMP as its own entry points are: a region is run by one thread, which has
 * the number that this copy is built with. */
#include <stdarg.h>

/* NOLINTBEGIN(bugprone-reserved-identifier): these are LLVM's names */
typedef void (*Task)(int*, int*, ...);
void __kmpc_fork_call(void* where, int count, Task task, ...);
void __kmpc_push_num_threads(void* where, int thread, int threads);
void __kmpc_serialized_parallel(void* where, int thread);
int FAKE_NAME(void);

static int pushed;

/* So that somebody who is linked with it needs it. */
int FAKE_NAME(void) {
  return FAKE_THREAD;
}

void __kmpc_fork_call(void* where, int count, Task task, ...) {
  (void)where;
  int thread = FAKE_THREAD + pushed;
  int bound = 0;
  pushed = 0;
  va_list arguments;
  va_start(arguments, task);
  void* first = count > 0 ? va_arg(arguments, void*) : 0;
  va_end(arguments);
  task(&thread, &bound, first);
}

void __kmpc_push_num_threads(void* where, int thread, int threads) {
  (void)where, (void)thread;
  pushed = threads;
}

void __kmpc_serialized_parallel(void* where, int thread) {
  (void)where, (void)thread;
  pushed = 0;
}
/* NOLINTEND(bugprone-reserved-identifier) */

/* And of the standard what steering asks for. */
int omp_get_max_threads(void);
void omp_set_num_threads(int threads);
int omp_in_parallel(void);
int omp_get_thread_num(void);

static int count = FAKE_THREAD;

int omp_get_max_threads(void) {
  return count;
}

void omp_set_num_threads(int threads) {
  count = threads;
}

int omp_in_parallel(void) {
  return 0;
}

int omp_get_thread_num(void) {
  return 0;
}
