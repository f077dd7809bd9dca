#include "bindings/preload/runtimes/runtimes_in_use.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "bindings/preload/runtimes/object_imports.h"
#include "bindings/preload/runtimes/runtime_resolver.h"
#include "bindings/preload/support/host_log.h"

namespace optile::preload {
namespace {

char first_path[256] = "";
int first_state = 0;  // 0 = none yet, 1 = being written, 2 = there
int checked = 0;      // whether a runtime that stands in for another one suits
const Attachment* published_to = nullptr;

// OpenMP names that loaded objects need, as they stand in the objects' own string tables.
struct Needed {
  static constexpr size_t kMax = 256;  // of all; two runtimes' whole interfaces are fewer
  const char* names[kMax];
  size_t count = 0;
};

bool take_need(const char* name, bool weak, void* to) {
  auto* needed = static_cast<Needed*>(to);
  const bool openmp = strncmp(name, "GOMP_", 5) == 0 || strncmp(name, "omp_", 4) == 0;
  // A weak need may stay unanswered.
  if (openmp && !weak) needed->names[needed->count++] = name;
  return needed->count == Needed::kMax;
}

int collect_needed(dl_phdr_info* object, size_t /*size*/, void* to) {
  visit_needs(*object, take_need, to);
  return static_cast<Needed*>(to)->count == Needed::kMax ? 1 : 0;
}

void check_stand_in(const char* path) {
  const char* missing = missing_in_runtime(path);
  if (missing == nullptr) return;
  add_fallback(OPTILE_FALLBACK_RUNTIME_UNSUITABLE);
  char text[400];
  snprintf(text, sizeof text, "%.120s lacks %.100s: run it with --openmp keep", path, missing);
  log_line("the OpenMP runtime does not suit this program", text);
}

}  // namespace

uint32_t runtime_kind(const char* path) {
  const char* name = file_name(path);
  if (strncmp(name, "libgomp", 7) == 0) return OPTILE_RUNTIME_LIBGOMP;
  if (strncmp(name, "libomp", 6) == 0 || strncmp(name, "libiomp", 7) == 0) {
    return OPTILE_RUNTIME_LLVM;
  }
  return OPTILE_RUNTIME_UNKNOWN;
}

const char* missing_in_runtime(const char* path) {
  void* runtime = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
  if (runtime == nullptr) return nullptr;
  Needed needed;
  dl_iterate_phdr(collect_needed, &needed);
  const char* missing = nullptr;
  for (size_t i = 0; i < needed.count && missing == nullptr; ++i) {
    if (dlsym(runtime, needed.names[i]) == nullptr) missing = needed.names[i];
  }
  dlclose(runtime);
  return missing;
}

bool is_llvm_name(const char* symbol) {
  return strncmp(symbol, "__kmpc_", 7) == 0;
}

void note_runtime_in_use(const char* path, bool by_its_own_names) {
  int none = 0;
  if (path[0] == '\0') return;
  if (__atomic_compare_exchange_n(&first_state, &none, 1, false, __ATOMIC_ACQ_REL,
                                  __ATOMIC_ACQUIRE)) {
    snprintf(first_path, sizeof first_path, "%s", path);
    __atomic_store_n(&first_state, 2, __ATOMIC_RELEASE);
  } else if (none == 2 && strncmp(first_path, path, sizeof first_path - 1) != 0) {
    add_fallback(OPTILE_FALLBACK_TWO_RUNTIMES);
    return;
  }
  if (by_its_own_names || runtime_kind(path) != OPTILE_RUNTIME_LLVM) return;
  if (__atomic_exchange_n(&checked, 1, __ATOMIC_RELAXED) == 0) check_stand_in(path);
}

void publish_runtime_in_use(const Attachment& attached) {
  if (__atomic_load_n(&published_to, __ATOMIC_RELAXED) == &attached) return;
  if (__atomic_load_n(&first_state, __ATOMIC_ACQUIRE) != 2) return;
  optile_client_header& header = attached.client->header;
  __atomic_store_n(&published_to, &attached, __ATOMIC_RELAXED);
  if (optile_load32(&header.runtime) != OPTILE_RUNTIME_UNKNOWN) return;
  memcpy(header.runtime_path, first_path, sizeof header.runtime_path);
  optile_store32(&header.runtime, runtime_kind(first_path));
}

}  // namespace optile::preload
