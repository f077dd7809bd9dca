/* A plugin whose constructor starts a thread that does the host's work, and waits for it: all the
 * while the dynamic linker's lock is held by the thread that loads the plugin. */
#include <pthread.h>

extern long (*host_work(void))(void);

__attribute__((visibility("default"))) long waiting_plugin_sum = 0;

static void* work(void* unused) {
  waiting_plugin_sum = host_work()();
  return unused;
}

__attribute__((constructor)) static void start(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, work, NULL) == 0) pthread_join(thread, NULL);
}
