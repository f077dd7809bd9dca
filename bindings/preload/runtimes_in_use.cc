#include "bindings/preload/runtimes_in_use.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#include "bindings/preload/host_log.h"

namespace optile::preload {
namespace {

char first_path[256] = "";
int first_state = 0;  // 0 = none yet, 1 = being written, 2 = there
const Attachment* published_to = nullptr;

// OpenMP names that loaded objects need, as they stand in the objects' own string tables.
struct Needed {
  static constexpr size_t kMax = 256;  // of all; two runtimes' whole interfaces are fewer
  const char* names[kMax];
  size_t count = 0;
};

struct DynamicTables {
  const ElfW(Sym) * symbols = nullptr;
  const char* strings = nullptr;
  const uint32_t* gnu_hash = nullptr;
  const uint32_t* hash = nullptr;
};

const ElfW(Dyn) * dynamic_section(const dl_phdr_info& object) {
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = object.dlpi_phdr[i];
    if (header.p_type != PT_DYNAMIC) continue;
    // The linker gives addresses as numbers. NOLINTNEXTLINE(performance-no-int-to-ptr)
    return reinterpret_cast<const ElfW(Dyn)*>(object.dlpi_addr + header.p_vaddr);
  }
  return nullptr;
}

DynamicTables tables_of(const dl_phdr_info& object) {
  DynamicTables tables;
  const ElfW(Dyn)* entry = dynamic_section(object);
  for (; entry != nullptr && entry->d_tag != DT_NULL; ++entry) {
    const auto address = static_cast<uintptr_t>(entry->d_un.d_ptr);
    // The linker has made these absolute, except in the kernel's own object.
    if (address < object.dlpi_addr) continue;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): as above
    const auto* table = reinterpret_cast<const void*>(address);
    if (entry->d_tag == DT_SYMTAB) tables.symbols = static_cast<const ElfW(Sym)*>(table);
    if (entry->d_tag == DT_STRTAB) tables.strings = static_cast<const char*>(table);
    if (entry->d_tag == DT_GNU_HASH) tables.gnu_hash = static_cast<const uint32_t*>(table);
    if (entry->d_tag == DT_HASH) tables.hash = static_cast<const uint32_t*>(table);
  }
  return tables;
}

// What an object needs stands before what it offers, where the GNU hash table begins; the older
// table counts all symbols.
uint32_t needed_end(const DynamicTables& tables) {
  if (tables.gnu_hash != nullptr) return tables.gnu_hash[1];
  return tables.hash != nullptr ? tables.hash[1] : 0;
}

int collect_needed(dl_phdr_info* object, size_t /*size*/, void* to) {
  auto* needed = static_cast<Needed*>(to);
  const DynamicTables tables = tables_of(*object);
  if (tables.symbols == nullptr || tables.strings == nullptr) return 0;
  const uint32_t end = needed_end(tables);
  for (uint32_t i = 1; i < end && needed->count < Needed::kMax; ++i) {
    const ElfW(Sym)& symbol = tables.symbols[i];
    // A weak need may stay unanswered.
    if (symbol.st_shndx != SHN_UNDEF || (symbol.st_info >> 4) == STB_WEAK) continue;
    const char* name = tables.strings + symbol.st_name;
    const bool openmp = strncmp(name, "GOMP_", 5) == 0 || strncmp(name, "omp_", 4) == 0;
    if (openmp) needed->names[needed->count++] = name;
  }
  return 0;
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
  const char* slash = strrchr(path, '/');
  const char* name = slash == nullptr ? path : slash + 1;
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

void note_runtime_in_use(const char* path) {
  int none = 0;
  if (path[0] == '\0') return;
  if (__atomic_compare_exchange_n(&first_state, &none, 1, false, __ATOMIC_ACQ_REL,
                                  __ATOMIC_ACQUIRE)) {
    snprintf(first_path, sizeof first_path, "%s", path);
    __atomic_store_n(&first_state, 2, __ATOMIC_RELEASE);
    if (runtime_kind(path) == OPTILE_RUNTIME_LLVM) check_stand_in(path);
  } else if (none == 2 && strncmp(first_path, path, sizeof first_path - 1) != 0) {
    add_fallback(OPTILE_FALLBACK_TWO_RUNTIMES);
  }
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
