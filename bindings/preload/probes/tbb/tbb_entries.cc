// oneTBB's entry points that a program calls from what its compiler made of oneTBB's headers,
// interposed: the one of the algorithms, and those by which other work is given or waited for.
// Their names, with the types of their arguments, are the same since 2021.1. An exception that
// leaves a task passes through here and past what would end the op; the end of its group tells.
#include <stddef.h>
#include <stdint.h>

#include "bindings/preload/probes/tbb/tbb_copy.h"
#include "bindings/preload/probes/tbb/tbb_functions.h"
#include "bindings/preload/probes/tbb/tbb_scope.h"

namespace {

using optile::preload::note_given_tbb_task;
using optile::preload::note_other_tbb_work;
using optile::preload::table_of;
using optile::preload::TbbFunction;

// The function that code around `inside` means. Not null: whoever has oneTBB's objects was linked
// with it.
template <typename Function>
Function* real_of(Function* /*ours*/, TbbFunction function, const void* inside) {
  return reinterpret_cast<Function*>(optile::preload::tbb_function(function, inside));
}

}  // namespace

namespace tbb::detail {

namespace d1 {
class task;
class task_arena_base;
class task_group_context;
class wait_context;
class filter_node;
}  // namespace d1

namespace r1 {
class arena;

void execute_and_wait(d1::task& task, d1::task_group_context& context, d1::wait_context& wait,
                      d1::task_group_context& waits_for);
void wait(d1::wait_context& wait, d1::task_group_context& context);
void enqueue(d1::task& task, d1::task_arena_base* arena);
void enqueue(d1::task& task, d1::task_group_context& context, d1::task_arena_base* arena);
void spawn(d1::task& task, d1::task_group_context& context);
void spawn(d1::task& task, d1::task_group_context& context, unsigned short slot);
void submit(d1::task& task, d1::task_group_context& context, arena* where, uintptr_t critical);
void parallel_pipeline(d1::task_group_context& context, size_t tokens,
                       const d1::filter_node& filters);
void destroy(d1::task_group_context& context);
size_t global_control_active_value(int parameter);

void execute_and_wait(d1::task& task, d1::task_group_context& context, d1::wait_context& wait,
                      d1::task_group_context& waits_for) {
  const void* caller = __builtin_return_address(0);
  auto* const real = real_of(&execute_and_wait, TbbFunction::kExecuteAndWait, table_of(&task));
  if (real == nullptr) return;
  const optile::preload::TbbScope scope(&task, &waits_for, caller,
                                        reinterpret_cast<const void*>(real));
  real(task, context, wait, waits_for);
}

// Tasks wait, too: what they wait for belongs to what they belong to.
void wait(d1::wait_context& wait, d1::task_group_context& context) {
  auto* const real = real_of(
      static_cast<void (*)(d1::wait_context&, d1::task_group_context&)>(&tbb::detail::r1::wait),
      TbbFunction::kWait, __builtin_return_address(0));
  if (real == nullptr) return;
  if (!optile::preload::inside_tbb_task()) note_other_tbb_work();
  const optile::preload::TbbScope scope(optile::preload::tbb_wait, &context,
                                        __builtin_return_address(0),
                                        reinterpret_cast<const void*>(real));
  real(wait, context);
}

void enqueue(d1::task& task, d1::task_arena_base* arena) {
  auto* const real = real_of(static_cast<void (*)(d1::task&, d1::task_arena_base*)>(&enqueue),
                             TbbFunction::kEnqueue, table_of(&task));
  if (real == nullptr) return;
  note_other_tbb_work();
  real(task, arena);
}

void enqueue(d1::task& task, d1::task_group_context& context, d1::task_arena_base* arena) {
  using Enqueue = void (*)(d1::task&, d1::task_group_context&, d1::task_arena_base*);
  auto* const real =
      real_of(static_cast<Enqueue>(&enqueue), TbbFunction::kEnqueueInContext, table_of(&task));
  if (real == nullptr) return;
  note_other_tbb_work();
  real(task, context, arena);
}

// Algorithms do so, too, in their tasks, and for every piece.
void spawn(d1::task& task, d1::task_group_context& context) {
  auto* const real = real_of(static_cast<void (*)(d1::task&, d1::task_group_context&)>(&spawn),
                             TbbFunction::kSpawn, table_of(&task));
  if (real == nullptr) return;
  note_given_tbb_task(&task, reinterpret_cast<const void*>(real));
  real(task, context);
}

void spawn(d1::task& task, d1::task_group_context& context, unsigned short slot) {
  using Spawn = void (*)(d1::task&, d1::task_group_context&, unsigned short);
  auto* const real =
      real_of(static_cast<Spawn>(&spawn), TbbFunction::kSpawnToSlot, table_of(&task));
  if (real == nullptr) return;
  note_given_tbb_task(&task, reinterpret_cast<const void*>(real));
  real(task, context, slot);
}

void submit(d1::task& task, d1::task_group_context& context, arena* where, uintptr_t critical) {
  auto* const real = real_of(&submit, TbbFunction::kSubmit, table_of(&task));
  if (real == nullptr) return;
  note_other_tbb_work();
  real(task, context, where, critical);
}

void parallel_pipeline(d1::task_group_context& context, size_t tokens,
                       const d1::filter_node& filters) {
  auto* const real =
      real_of(&parallel_pipeline, TbbFunction::kParallelPipeline, __builtin_return_address(0));
  if (real == nullptr) return;
  note_other_tbb_work();
  const optile::preload::TbbScope scope(optile::preload::tbb_pipeline, &context,
                                        __builtin_return_address(0),
                                        reinterpret_cast<const void*>(real));
  real(context, tokens, filters);
}

void destroy(d1::task_group_context& context) {
  auto* const real = real_of(&destroy, TbbFunction::kDestroyContext, __builtin_return_address(0));
  if (real == nullptr) return;
  optile::preload::tbb_context_ends(&context);
  real(context);
}

// What a program reads here it may size something by.
size_t global_control_active_value(int parameter) {
  auto* const real =
      real_of(&global_control_active_value, TbbFunction::kActiveValue, __builtin_return_address(0));
  if (real == nullptr) return 0;
  return optile::preload::value_without_ours(parameter, real(parameter));
}

}  // namespace r1

}  // namespace tbb::detail
