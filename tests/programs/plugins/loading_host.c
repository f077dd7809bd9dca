/* A host with OpenMP that opens a plugin whose constructor opens regions on a thread of its own.
 *   loading_host PLUGIN */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char** argv) {
  int own = 0;
  if (argc != 2) return 2;
#pragma omp parallel num_threads(2) reduction(+ : own)
  own += 1;
  void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  const int* total = library == NULL ? NULL : (const int*)dlsym(library, "plugin_total");
  if (total == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    return 2;
  }
  printf("loaded: %d of its own, %d by the plugin's thread\n", own, *total);
  return own == 2 && *total == 3 ? 0 : 1;
}
