/* A host without OpenMP that opens a plugin with regions, and then one whose constructor waits for
 * a thread that opens the first one's regions.
 *   waiting_host PLUGIN_WITH_REGIONS WAITING_PLUGIN */
#include <dlfcn.h>
#include <stdio.h>

long (*host_work(void))(void);

static long (*work)(void);

long (*host_work(void))(void) {
  return work;
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  void* first = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (first != NULL) *(void**)&work = dlsym(first, "plugin_sum");
  if (work == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    return 2;
  }
  const long own = work();
  void* second = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
  const long* sum = second == NULL ? NULL : (const long*)dlsym(second, "waiting_plugin_sum");
  if (sum == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    return 2;
  }
  printf("%ld here, %ld on the plugin's thread\n", own, *sum);
  return own == *sum ? 0 : 1;
}
