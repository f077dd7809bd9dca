#include "bindings/preload/probes/tbb/tbb_tasks.h"

#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "bindings/preload/probes/tbb/tbb_functions.h"
#include "bindings/preload/runtimes/loaded_object.h"
#include "bindings/preload/support/environment.h"
#include "bindings/preload/support/per_address.h"

namespace optile::preload {
namespace {

// oneTBB's own class templates, as they stand in mangled names; the first that fits.
struct Algorithm {
  const char* part;
  const char* name;
};
constexpr Algorithm kAlgorithms[] = {
    {"d19start_forINS1_16quick_sort_range", "parallel_sort"},
    {"d19start_forI", "parallel_for"},
    {"d112start_reduceI", "parallel_reduce"},
    {"d126start_deterministic_reduceI", "parallel_deterministic_reduce"},
    {"d110start_scanI", "parallel_scan"},
    {"d19final_sumI", "parallel_scan"},
    {"d18sum_nodeI", "parallel_scan"},
    {"function_invokerI", "parallel_invoke"},
    {"invoke_subroot_taskI", "parallel_invoke"},
    {"for_each_", "parallel_for_each"},
    {"block_handling_taskI", "parallel_for_each"},
    {"function_stack_taskI", "task_group"},
    {"function_taskI", "task_group"},
};

PerAddress<TbbTask, 1024> types;   // by what objects of a type have in common: their table
PerAddress<TbbTask, 1024> places;  // by the address behind the call

bool in_an_object(const void* address, ObjectPlace* where) {
  if (address != nullptr) *where = place_of(address);
  return address != nullptr && where->path[0] != '\0';
}

// The type's name as the compiler wrote it down; null in objects that are built without.
const char* type_name(const void* const* table) {
  ObjectPlace where;
  const void* type = table[-1];
  if (!in_an_object(type, &where)) return nullptr;
  const void* name = static_cast<const void* const*>(type)[1];
  return in_an_object(name, &where) ? static_cast<const char*>(name) : nullptr;
}

TbbTask ask(const void* address) {
  const auto* table = static_cast<const void* const*>(address);
  TbbTask task = {OPTILE_PROBE_TBB, "tasks", nullptr, false};
  ObjectPlace where;
  if (!in_an_object(table, &where)) return task;
  const char* file = file_name(where.path);
  const char* type = type_name(table);
  uint64_t key = base::hash_bytes(file, strlen(file));
  if (type != nullptr) {
    key = base::hash_bytes(type, strlen(type), key);
    task.name = tbb_algorithm(type);
  } else {
    key = base::hash_word(where.offset, key);
  }
  key ^= OPTILE_PROBE_TBB;
  task.key = key == 0 ? 1 : key;
  // Behind the two destructors.
  if (in_an_object(table[2], &where)) task.code = table[2];
  const char* objects = environment().region_objects;
  task.may_tune = objects[0] == '\0' || names_object(objects, file);
  return task;
}

TbbTask ask_place(const void* caller, const char* name) {
  TbbTask place = {OPTILE_PROBE_TBB, name, nullptr, false};
  ObjectPlace where;
  if (!in_an_object(caller, &where)) return place;
  const char* file = file_name(where.path);
  uint64_t key = base::hash_bytes(file, strlen(file));
  key = base::hash_bytes(name, strlen(name), key);
  key = base::hash_word(where.offset, key) ^ OPTILE_PROBE_TBB;
  place.key = key == 0 ? 1 : key;
  place.code = caller;
  return place;
}

}  // namespace

const char* tbb_algorithm(const char* mangled) {
  for (const Algorithm& algorithm : kAlgorithms) {
    if (strstr(mangled, algorithm.part) != nullptr) return algorithm.name;
  }
  return "tasks";
}

TbbTask tbb_task(const void* task) {
  return types.get(table_of(task), ask);
}

TbbTask tbb_wait(const void* caller) {
  return places.get(caller, [](const void* place) { return ask_place(place, "oneTBB wait"); });
}

TbbTask tbb_pipeline(const void* caller) {
  return places.get(caller,
                    [](const void* place) { return ask_place(place, "parallel_pipeline"); });
}

void put_into_arena(TbbTask* task, int size) {
  if (size == 0) return;
  task->arena = size;
  const uint64_t key = base::hash_word(static_cast<uint64_t>(size), task->key);
  task->key = key == 0 ? 1 : key;
}

void describe_tbb_task(const void* source, char name[OPTILE_NAME_BYTES],
                       char shape[OPTILE_SHAPE_BYTES]) {
  const auto& task = *static_cast<const TbbTask*>(source);
  ObjectPlace where;
  snprintf(name, OPTILE_NAME_BYTES, "%s", task.name);
  shape[0] = '\0';
  if (!in_an_object(task.code, &where)) return;
  char arena[32] = "";
  if (task.arena != 0) snprintf(arena, sizeof arena, ", arena of %d", task.arena);
  snprintf(shape, OPTILE_SHAPE_BYTES, "%.60s+0x%lx%s", file_name(where.path),
           static_cast<unsigned long>(where.offset), arena);
}

}  // namespace optile::preload
