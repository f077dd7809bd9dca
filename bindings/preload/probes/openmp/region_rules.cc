#include "bindings/preload/probes/openmp/region_rules.h"

#include <link.h>
#include <string.h>

#include "bindings/preload/actuators/default_width_source.h"
#include "bindings/preload/runtimes/object_imports.h"
#include "bindings/preload/runtimes/runtime_resolver.h"
#include "bindings/preload/runtimes/runtimes_in_use.h"
#include "bindings/preload/runtimes/team_data.h"
#include "bindings/preload/support/environment.h"

namespace optile::preload {
namespace {

uint32_t nested = 0;
// What the latest look at all objects said, and how many had come and gone by then; 0 = no look.
uint64_t looked_at = 0;
uint32_t others = 0;
// Objects that the program began with: those have found us, or will. Behind them in the list lie
// what was opened since, and whoever opens may say that what an object needs is looked for beside
// it first.
int at_start = 0;
bool awaited = false;  // somebody is not bound yet, as far as the latest look said

// Fortran's names end in an underscore; gfortran's for whole numbers of eight bytes in "_8_".
bool is_name(const char* symbol, const char* name) {
  const size_t length = strlen(name);
  return strncmp(symbol, name, length) == 0 &&
         (symbol[length] == '\0' || strcmp(symbol + length, "_") == 0 ||
          strcmp(symbol + length, "_8_") == 0);
}

bool take_reason(const char* symbol, bool /*weak*/, void* to) {
  auto* reasons = static_cast<uint32_t*>(to);
  // Newer ways to say a number of threads, of which only the first is followed.
  if (strncmp(symbol, "__kmpc_push_num_threads_", 24) == 0) *reasons |= OPTILE_REGION_CLAUSE;
  if (strncmp(symbol, "omp_", 4) != 0) return false;
  if (is_name(symbol, "omp_get_max_threads")) *reasons |= OPTILE_REGION_ASKS;
  if (is_name(symbol, "omp_set_num_threads")) *reasons |= OPTILE_REGION_SETS;
  return false;
}

struct Wanted {
  const void* address;
  uint32_t reasons;
};

int look_at_one(dl_phdr_info* object, size_t /*size*/, void* to) {
  auto* wanted = static_cast<Wanted*>(to);
  if (!holds_address(*object, wanted->address)) return 0;
  visit_needs(*object, take_reason, &wanted->reasons);
  if (keeps_data_per_thread(*object)) wanted->reasons |= OPTILE_REGION_PER_THREAD;
  return 1;
}

int find_ourselves(dl_phdr_info* object, size_t /*size*/, void* to) {
  if (!holds_address(*object, reinterpret_cast<const void*>(&find_ourselves))) return 0;
  *static_cast<dl_phdr_info*>(to) = *object;
  return 1;
}

// A walk over all objects.
struct Look {
  dl_phdr_info ours = {};
  const dl_phdr_info* object = nullptr;
  int number = 0;  // of the object
  bool asked = false;
  uint32_t asks = 0;
  bool unseen = false;   // a function that opens regions is bound to somebody else
  bool unbound = false;  // or not yet
};

bool needs_to_open(const char* name, bool /*weak*/, void* /*context*/) {
  return opens_a_region(name);
}

bool take_binding(const char* name, uintptr_t bound, void* to) {
  auto* look = static_cast<Look*>(to);
  if (!opens_a_region(name)) return false;
  // NOLINTNEXTLINE(performance-no-int-to-ptr): compared only
  const auto* address = reinterpret_cast<const void*>(bound);
  if (holds_address(look->ours, address)) return false;
  if (!holds_address(*look->object, address)) {
    look->unseen = true;
  } else if (look->number >= __atomic_load_n(&at_start, __ATOMIC_RELAXED)) {
    look->unbound = true;
  }
  return false;
}

int look_at_all(dl_phdr_info* object, size_t /*size*/, void* to) {
  auto* look = static_cast<Look*>(to);
  look->object = object;
  // The runtimes themselves have these functions.
  if (runtime_kind(object->dlpi_name) == OPTILE_RUNTIME_UNKNOWN) {
    if (look->asked) visit_needs(*object, take_reason, &look->asks);
    if (visit_needs(*object, needs_to_open, nullptr)) visit_bindings(*object, take_binding, look);
  }
  ++look->number;
  return 0;
}

int count_one(dl_phdr_info* /*object*/, size_t /*size*/, void* to) {
  ++*static_cast<int*>(to);
  return 0;
}

__attribute__((constructor)) void count_at_start() {
  int count = 0;
  dl_iterate_phdr(count_one, &count);
  __atomic_store_n(&at_start, count, __ATOMIC_RELAXED);
}

uint32_t look_around() {
  Look look;
  look.asked = environment().region_objects[0] == '\0';
  dl_iterate_phdr(find_ourselves, &look.ours);
  dl_iterate_phdr(look_at_all, &look);
  __atomic_store_n(&awaited, look.unbound, __ATOMIC_RELAXED);
  return ((look.asks & (OPTILE_REGION_ASKS | OPTILE_REGION_SETS)) != 0
              ? uint32_t{OPTILE_REGION_OTHERS}
              : 0U) |
         (look.unseen || look.unbound ? uint32_t{OPTILE_REGION_UNSEEN} : 0U);
}

int count_objects(dl_phdr_info* object, size_t /*size*/, void* to) {
  *static_cast<uint64_t*>(to) = object->dlpi_adds + object->dlpi_subs;
  return 1;
}

}  // namespace

bool opens_a_region(const char* symbol) {
  if (strncmp(symbol, "__kmpc_fork_", 12) == 0) return true;
  return strncmp(symbol, "GOMP_parallel", 13) == 0 && strcmp(symbol, "GOMP_parallel_end") != 0;
}

uint32_t reasons_of_object(const void* function) {
  const char* path = object_of(function);
  const char* listed = environment().region_objects;
  if (listed[0] != '\0')
    return names_object(listed, path) ? 0U : uint32_t{OPTILE_REGION_NOT_LISTED};
  Wanted wanted = {function, 0};
  dl_iterate_phdr(look_at_one, &wanted);
  return wanted.reasons | (presizes_its_teams(path) ? uint32_t{OPTILE_REGION_PRESIZES} : 0U);
}

uint32_t reasons_of_process() {
  if (!regions_are_tuned()) return OPTILE_REGION_NOT_ASKED;
  uint32_t reasons = 0;
  const uint32_t source = default_width_source();
  if (source == OPTILE_WIDTH_ENVIRONMENT) reasons |= OPTILE_REGION_ENVIRONMENT;
  if (source == OPTILE_WIDTH_PROGRAM) reasons |= OPTILE_REGION_PROGRAM;
  if (__atomic_load_n(&nested, __ATOMIC_RELAXED) != 0) reasons |= OPTILE_REGION_NESTED;
  const bool listed = environment().region_objects[0] != '\0';
  if (!listed && team_keeps_data()) reasons |= OPTILE_REGION_PER_THREAD;
  return reasons | __atomic_load_n(&others, __ATOMIC_RELAXED);
}

uint32_t reasons_looked_for() {
  if (regions_are_tuned()) {
    uint64_t changes = 0;
    dl_iterate_phdr(count_objects, &changes);
    if (changes != __atomic_load_n(&looked_at, __ATOMIC_RELAXED)) {
      __atomic_store_n(&others, look_around(), __ATOMIC_RELAXED);
      __atomic_store_n(&looked_at, changes, __ATOMIC_RELAXED);
    }
  }
  return reasons_of_process();
}

void note_new_region() {
  if (__atomic_load_n(&awaited, __ATOMIC_RELAXED)) {
    __atomic_store_n(&looked_at, 0, __ATOMIC_RELAXED);
  }
}

void note_nested_region() {
  if (__atomic_load_n(&nested, __ATOMIC_RELAXED) == 0) {
    __atomic_store_n(&nested, 1, __ATOMIC_RELAXED);
  }
}

}  // namespace optile::preload
