/* A host without OpenMP that opens two plugins RTLD_LOCAL, as interpreters do, and calls them in
 * turn. With two OpenMP copies each keeps its own thread count.
 * With PLUGIN_HOST_DEEP set, what they need is looked for in their own libraries first.
 *   plugin_host PLUGIN PLUGIN COPIES   COPIES: how many OpenMP copies the two plugins bring */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kRounds = 200 };
static const long kExpected = 1000L * 999 / 2;

typedef struct plugin {
  long (*sum)(void);
  int (*width)(void);
  void (*set_width)(int);
} plugin;

static void* symbol_of(void* library, const char* name) {
  void* symbol = dlsym(library, name);
  if (symbol == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    exit(2);
  }
  return symbol;
}

static plugin open_plugin(const char* path) {
  const int deep = getenv("PLUGIN_HOST_DEEP") != NULL ? RTLD_DEEPBIND : 0;
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL | deep);
  if (library == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    exit(2);
  }
  plugin opened;
  void* symbols[3] = {symbol_of(library, "plugin_sum"), symbol_of(library, "plugin_width"),
                      symbol_of(library, "plugin_set_width")};
  memcpy(&opened.sum, &symbols[0], sizeof symbols[0]);
  memcpy(&opened.width, &symbols[1], sizeof symbols[1]);
  memcpy(&opened.set_width, &symbols[2], sizeof symbols[2]);
  return opened;
}

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const plugin first = open_plugin(argv[1]);
  const plugin second = open_plugin(argv[2]);
  const int copies = atoi(argv[3]);
  long wrong_sums = 0;
  long wrong_widths = 0;
  first.set_width(2);
  second.set_width(1); /* the last word, where both share a copy */
  for (int round = 0; round < kRounds; round++) {
    if (first.sum() != kExpected) wrong_sums++;
    if (second.sum() != kExpected) wrong_sums++;
    if (first.width() != (copies == 2 ? 2 : 1)) wrong_widths++;
    if (second.width() != 1) wrong_widths++;
  }
  printf("plugins: %d rounds, %ld wrong sums, %ld wrong widths\n", kRounds, wrong_sums,
         wrong_widths);
  return wrong_sums == 0 && wrong_widths == 0 ? 0 : 1;
}
