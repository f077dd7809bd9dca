/* A host that opens a plugin, calls it, closes it, and opens another one under the same name, as
 * those do that compile code while they run. The second has to answer, with data of its own.
 *   reloading_host PLUGIN PLUGIN local|global   the two differ in their answers: 20 and 30 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kRounds = 20 };

static void put_in_place(const char* plugin, const char* link) {
  unlink(link);
  if (symlink(plugin, link) != 0) {
    perror(link);
    exit(2);
  }
}

static long call(const char* path, int scope, const char* name) {
  void* library = dlopen(path, RTLD_NOW | scope);
  void* symbol = library == NULL ? NULL : dlsym(library, name);
  long (*function)(void);
  if (symbol == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    exit(2);
  }
  memcpy(&function, &symbol, sizeof symbol);
  const long result = function();
  dlclose(library);
  return result;
}

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  char folder[] = "/tmp/optile-reloading-XXXXXX";
  if (mkdtemp(folder) == NULL) return 2;
  char path[sizeof folder + 16];
  snprintf(path, sizeof path, "%s/plugin.so", folder);
  const int scope = strcmp(argv[3], "global") == 0 ? RTLD_GLOBAL : RTLD_LOCAL;
  /* Its threads outlive the plugins: the runtime has to stay. */
  if (dlopen("libgomp.so.1", RTLD_NOW | RTLD_LOCAL) == NULL) return 2;
  long wrong = 0;
  for (int round = 0; round < kRounds; round++) {
    put_in_place(argv[1 + round % 2], path);
    if (call(path, scope, "plugin_answer") != (round % 2 == 0 ? 20 : 30)) wrong++;
  }
  unlink(path);
  rmdir(folder);
  printf("reloaded: %d rounds, %ld wrong answers\n", kRounds, wrong);
  return wrong == 0 ? 0 : 1;
}
