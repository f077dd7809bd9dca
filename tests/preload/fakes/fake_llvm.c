#include "tests/preload/fakes/fake_llvm.h"

static int block_time = 200;

int kmp_get_blocktime(void);
void kmp_set_blocktime(int milliseconds);

int kmp_get_blocktime(void) {
  return block_time;
}

void kmp_set_blocktime(int milliseconds) {
  block_time = milliseconds;
}

int fake_block_time(void) {
  return block_time;
}

void set_fake_block_time(int milliseconds) {
  block_time = milliseconds;
}

/* NOLINTBEGIN(bugprone-reserved-identifier): these are LLVM's names */
typedef void (*Task)(int*, int*, ...);
void __kmpc_fork_call(void* where, int count, Task task, ...);
void __kmpc_fork_call_if(void* where, int count, Task task, int condition, void* argument);
void __kmpc_fork_teams(void* where, int count, Task task, ...);
void __kmpc_push_num_threads(void* where, int thread, int threads);
void __kmpc_serialized_parallel(void* where, int thread);

static void run_alone(Task task) {
  int thread = 0;
  int bound = 0;
  task(&thread, &bound);
}

void __kmpc_fork_call(void* where, int count, Task task, ...) {
  (void)where, (void)count;
  run_alone(task);
}

void __kmpc_fork_call_if(void* where, int count, Task task, int condition, void* argument) {
  (void)where, (void)count, (void)condition, (void)argument;
  run_alone(task);
}

void __kmpc_fork_teams(void* where, int count, Task task, ...) {
  (void)where, (void)count;
  run_alone(task);
}

void __kmpc_push_num_threads(void* where, int thread, int threads) {
  (void)where, (void)thread, (void)threads;
}

void __kmpc_serialized_parallel(void* where, int thread) {
  (void)where, (void)thread;
}
/* NOLINTEND(bugprone-reserved-identifier) */
