/* A plugin whose constructor starts a thread that opens regions, and waits for it: all the while
 * the dynamic linker's lock is held by the thread that loads the plugin. */
#include <pthread.h>

__attribute__((visibility("default"))) int plugin_total = 0;

static void add_one(void) {
#pragma omp parallel num_threads(1)
  {
#pragma omp atomic
    plugin_total++;
  }
}

static void* work(void* unused) {
  add_one();
#pragma omp parallel num_threads(2)
  add_one();
  return unused;
}

__attribute__((constructor)) static void start(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, work, NULL) == 0) pthread_join(thread, NULL);
}
