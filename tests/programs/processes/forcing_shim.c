/* A preload library that does what a tuner must not do, so that the programs beside it can show
 * that they would notice. FORCING_SHIM says what:
 *   shrink       every region gets one thread, whatever its library reckoned with
 *   halve        every region gets half of them
 *   widen        the program is told one thread, its regions get four
 *   one_pointer  the first OpenMP copy found serves every caller's regions
 *   none         nothing
 * Built for the tests alone. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

typedef void (*parallel_fn)(void (*)(void*), void*, unsigned, unsigned);
typedef int (*max_threads_fn)(void);

__attribute__((visibility("default"))) void GOMP_parallel(void (*body)(void*), void* data,
                                                          unsigned threads, unsigned flags);
__attribute__((visibility("default"))) int omp_get_max_threads(void);

static int asked_to(const char* what) {
  const char* value = getenv("FORCING_SHIM");
  return value != NULL && strcmp(value, what) == 0;
}

/* From the copies that are in the process already: plugins opened RTLD_LOCAL are out of the reach
 * of RTLD_NEXT. `function` is a pointer to a function pointer. */
static void find_real(const char* name, void* function) {
  static const char* const kCopies[] = {"libgomp.so.1", "libgomp.so.9"};
  void* symbol = dlsym(RTLD_NEXT, name);
  for (int i = 0; symbol == NULL && i < 2; i++) {
    void* library = dlopen(kCopies[i], RTLD_LAZY | RTLD_NOLOAD);
    if (library != NULL) symbol = dlsym(library, name);
  }
  if (symbol == NULL) abort();
  memcpy(function, &symbol, sizeof symbol);
}

void GOMP_parallel(void (*body)(void*), void* data, unsigned threads, unsigned flags) {
  parallel_fn real;
  find_real("GOMP_parallel", &real);
  if (asked_to("shrink")) threads = 1;
  if (asked_to("halve")) threads = (threads != 0 ? threads : (unsigned)omp_get_max_threads()) / 2;
  if (asked_to("widen")) threads = 4;
  real(body, data, threads, flags);
}

int omp_get_max_threads(void) {
  if (asked_to("widen")) return 1;
  max_threads_fn real;
  find_real("omp_get_max_threads", &real);
  return real();
}
