/* A host that is hard on whatever lives in it: timer signals interrupt it all the time, a
 * profiler's at 10 kHz among them, whose handler reads the thread count; every descriptor above
 * standard error is closed under its guests, new ones take their numbers, and threads that open
 * regions are cancelled. Its own descriptors must stay as they are. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

enum { kRounds = 300, kCount = 500, kDescriptors = 64 };
static const long kExpected = (long)kCount * (kCount - 1) / 2;
static volatile sig_atomic_t g_ticks;
static volatile int g_seen_threads;

static void on_tick(int signal_number) {
  (void)signal_number;
  g_ticks = g_ticks + 1;
  g_seen_threads = omp_get_max_threads();
}

static void start_ticks(suseconds_t microseconds) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = on_tick;
  action.sa_flags = SA_RESTART;
  sigaction(SIGALRM, &action, NULL);
  sigaction(SIGPROF, &action, NULL);
  const struct itimerval interval = {{0, microseconds}, {0, microseconds}};
  setitimer(ITIMER_REAL, &interval, NULL);
  const struct itimerval profiling = {{0, microseconds / 2}, {0, microseconds / 2}};
  setitimer(ITIMER_PROF, &profiling, NULL);
}

static long region_sum(void) {
  long sum = 0;
#pragma omp parallel for reduction(+ : sum)
  for (int i = 0; i < kCount; i++) sum += i;
  return sum;
}

static void* cancelled_master(void* argument) {
  (void)argument;
  for (;;) {
    region_sum();
    pthread_testcancel();
  }
  return NULL;
}

static int cancel_a_master(void) {
  pthread_t thread;
  void* result = NULL;
  if (pthread_create(&thread, NULL, cancelled_master, NULL) != 0) return 1;
  pthread_cancel(thread);
  pthread_join(thread, &result);
  return result == PTHREAD_CANCELED ? 0 : 1;
}

int main(void) {
  long wrong = 0;
  start_ticks(200);
  for (int round = 0; round < kRounds; round++) wrong += region_sum() != kExpected;
  close_range(3, ~0u, 0);
  int descriptors[kDescriptors];
  for (int i = 0; i < kDescriptors; i++) {
    descriptors[i] = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (descriptors[i] != 3 + i) wrong++;
  }
  for (int round = 0; round < kRounds; round++) wrong += region_sum() != kExpected;
  for (int i = 0; i < 10; i++) wrong += cancel_a_master();
  for (int i = 0; i < kDescriptors; i++) wrong += fcntl(descriptors[i], F_GETFD) != FD_CLOEXEC;
  start_ticks(0);
  wrong += g_ticks == 0;
  printf("hostile host: %d regions, %ld surprises\n", 2 * kRounds, wrong);
  return wrong == 0 ? 0 : 1;
}
