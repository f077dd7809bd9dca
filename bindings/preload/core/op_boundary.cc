#include "bindings/preload/core/op_boundary.h"

#include "bindings/preload/actuators/default_width_source.h"
#include "bindings/preload/actuators/team_binding.h"
#include "bindings/preload/actuators/wait_policy.h"
#include "bindings/preload/actuators/width_actuator.h"
#include "bindings/preload/core/circuit_breaker.h"
#include "bindings/preload/core/event_writer.h"
#include "bindings/preload/core/op_counters.h"
#include "bindings/preload/core/op_registry.h"
#include "bindings/preload/core/sampling_pause.h"
#include "bindings/preload/core/width_decision.h"
#include "bindings/preload/runtimes/runtimes_in_use.h"
#include "bindings/preload/shared_memory/attachment.h"
#include "bindings/preload/shared_memory/liveness_futex.h"
#include "bindings/preload/shared_memory/plan_reader.h"
#include "bindings/preload/support/environment.h"
#include "bindings/preload/support/shim_clock.h"

namespace optile::preload {
namespace {

// Words of optile_open_op, which lives in the probe.
struct OpenOp {
  uint64_t state;  // OpenState
  uint64_t begin;
  uint64_t context;
  uint32_t op_id;
  uint32_t generation_low;
  uint16_t flags;
  uint16_t record;
  int16_t column;
  uint8_t binding;
  uint8_t region;  // of the program's own: its width was set before it began, if at all
  uint64_t key;
  uint32_t judged;  // circuit_breaker.h; 0 = this execution says nothing of its entry
  uint32_t reserved2;
};
static_assert(sizeof(OpenOp) <= sizeof(optile_open_op), "an open op fits its storage");

enum OpenState : uint64_t { kIgnored = 0, kOutermost = 1, kNested = 2, kComposite = 3 };

// Of a thread: what lies further off is no frame of its.
constexpr uintptr_t kDeepestStack = uintptr_t{8} << 20;

uint64_t declared_steps = 0;

// Composites are looked through; what passes between the ops inside them is the framework's, and
// observed as well.
void begin_composite(IssuingThread& thread, const optile_op_identity& identity, OpenOp* op) {
  op->state = kComposite;
  op->flags = (identity.flags & OPTILE_OP_IN_ROW) != 0;
  if ((identity.flags & OPTILE_OP_READS_COUNT) != 0) note_count_is_read();
  if (thread.composites++ > 0) return;
  const uint64_t now = ticks();
  if (op->flags != 0 && thread.row_end != 0) thread.observed += now - thread.row_end;
  thread.row_end = 0;
  thread.composite_begin = now;
  thread.observed_before_composite = thread.observed;
}

void count_composite(IssuingThread& thread, uint64_t now) {
  thread.observed = thread.observed_before_composite + (now - thread.composite_begin);
}

void end_composite(IssuingThread& thread, const OpenOp& op) {
  if (thread.composites == 0 || --thread.composites > 0) return;
  const uint64_t now = ticks();
  count_composite(thread, now);
  thread.row_end = op.flags != 0 ? now : 0;
}

// A step ends and the next one begins on this thread.
void cross_step(IssuingThread& thread, const Attachment& attached, const PlanView& plan,
                uint64_t now) {
  if (thread.composites > 0) count_composite(thread, now);
  thread.composite_begin = now;
  thread.row_end = 0;
  thread.observed_before_composite = 0;
  if (thread.step_begin != 0) {
    StepTotals totals;
    totals.begin = thread.step_begin;
    totals.ticks = now - thread.step_begin;
    totals.mixed = thread.step_generation != plan.generation;
    totals.generation = thread.step_generation;
    totals.column = thread.step_column;
    totals.unheard = thread.step_unheard;
    write_step(attached, thread, totals);
  }
  advance_schedule(plan);
  thread.step_column = schedule_column(plan);
  adopt_binding(plan, thread.step_column, thread.master);
  thread.step_begin = pause_sampling_from_step(thread, attached, plan, now) ? 0 : now;
  thread.step_generation = plan.generation;
  thread.step_unheard = false;
  thread.observed = 0;
  thread.overlapped = 0;
  thread.steerable = 0;
  thread.ops = 0;
  thread.width_changes = 0;
  optile_client_header& header = attached.client->header;
  const uint32_t step = __atomic_add_fetch(&header.steps, 1, __ATOMIC_RELAXED);
  optile_store64(&header.adopted_generation, plan.generation);
  adopt_counting(attached, plan, step);
}

void begin_nested(IssuingThread& thread, const optile_op_identity& identity, OpenOp* op) {
  op->state = kNested;
  op->op_id = kNoOp;
  if ((identity.flags & OPTILE_OP_NESTED) == 0 || thread.nested_open >= kMaxNested) return;
  const uint32_t id = op_id_of(identity);
  if (id == kNoOp) return;
  op->op_id = id;
  thread.nested[thread.nested_open++] = {id, ticks(), 0};
}

void end_nested(IssuingThread& thread, const OpenOp& op) {
  if (op.op_id == kNoOp || thread.nested_open == 0) return;
  const NestedOp nested = thread.nested[--thread.nested_open];
  const uint64_t spent = ticks() - nested.begin;
  if (thread.nested_open > 0) thread.nested[thread.nested_open - 1].children += spent;
  const Attachment* attached = attachment();
  if (attached != nullptr)
    add_nested_time(*attached, thread, nested.op_id, spent - nested.children);
}

// A page that arrived inside the step has a schedule of its own, which has not begun.
int column_of(const PlanView& plan, const IssuingThread& thread) {
  const bool scheduled = thread.step_begin != 0 && thread.step_generation == plan.generation;
  return scheduled ? thread.step_column : -1;
}

// Everything about the op that the plan decides.
WantedWidth consult_plan(const PlanView& plan, IssuingThread& thread, OpenOp* op) {
  const int column = column_of(plan, thread);
  const Decision decision = look_up(plan, op->key, op->context, column);
  op->column = static_cast<int16_t>(column);
  op->judged = 0;
  op->generation_low = static_cast<uint32_t>(plan.generation);
  op->record =
      (plan.flags & OPTILE_PAGE_RECORD_ALL) != 0 || (decision.flags & OPTILE_ENTRY_RECORD) != 0;
  // The first execution of everything is at the program's default width, whatever lease or budget
  // say: what is sized then is sized for the widest team it will ever meet. On every thread anew,
  // since buffers may be the thread's.
  if (meets_first(thread, op->op_id) || op->region != 0) return {};
  return decide_width(plan, decision, thread, column, &op->judged);
}

// The steps of one thread are followed: those of others that run the same ops would mix with them.
bool follows_steps_of(const IssuingThread& thread, const Attachment& attached) {
  if (!several_threads_issue()) return true;
  const uint64_t main_issuer = optile_load64(&attached.plan->main_issuer);
  return main_issuer == 0 || main_issuer == uint64_t{thread.slot} + 1;
}

// The op ends: whether other threads were inside ops meanwhile.
bool end_overlap(IssuingThread& thread, uint64_t now) {
  if (!several_threads_issue()) return false;
  // A second thread came while this op was the only one that there had ever been.
  return thread.part.held == 0 || leave_op(thread.slot, &thread.part, now);
}

void publish_issuing_threads(const Attachment& attached, const IssuingThread& thread) {
  if (!several_threads_issue()) return;
  optile_client_header& header = attached.client->header;
  const uint32_t threads = issuing_threads_so_far();
  if (optile_load32(&header.issuing_threads) != threads) {
    optile_store32(&header.issuing_threads, threads);
  }
  if (optile_load32(&header.most_in_ops) < most_in_ops()) {
    optile_store32(&header.most_in_ops, most_in_ops());
  }
  if (thread.narrowed) __atomic_fetch_add(&header.narrowed_ops, 1, __ATOMIC_RELAXED);
}

bool marks_step(const PlanView& plan, uint64_t key, uint64_t context) {
  return plan.valid && plan.marker_key != 0 && plan.marker_key == key &&
         (plan.marker_context == 0 || plan.marker_context == context) &&
         __atomic_load_n(&declared_steps, __ATOMIC_RELAXED) == 0;
}

// Whether the width of a region is tuned, where that is news.
void tell_tuning(const PresetWidth& preset, uint32_t op_id) {
  if (preset.tuning == 0) return;
  if (preset.told != nullptr) {
    if (optile_load64(preset.told) == preset.tuning) return;
    optile_store64(preset.told, preset.tuning);
  }
  note_tuning(op_id, preset.tuning);
}

// The program's own region, at the width that was set for it, or that nobody touches.
void begin_region(IssuingThread& thread, const Attachment& attached, OpenOp* op, uint64_t now) {
  publish_runtime_in_use(attached);
  note_own_region();
  const PresetWidth& preset = thread.preset;
  leave_width(thread, now);
  thread.effective_width = preset.width;
  op->judged = preset.judged;
  tell_tuning(preset, op->op_id);
  if (preset.width == 0) return;
  thread.default_width = preset.own;
  publish_default_width(preset.own);
  if (preset.expected) op->flags |= OPTILE_EVENT_STEERABLE;
  if (preset.width == preset.own) {
    op->flags |= OPTILE_EVENT_DEFAULT_WIDTH;
  } else {
    show_open(attached, thread, op->key, preset.width, now);
    thread.is_shown = true;
  }
}

// Of an op that may hang like a region.
void show_narrowed(IssuingThread& thread, const Attachment& attached, uint64_t key, uint64_t now) {
  if (thread.effective_width <= 0 || thread.effective_width >= thread.default_width) return;
  show_open(attached, thread, key, thread.effective_width, now);
  thread.is_shown = true;
}

// Cheap where nothing was shown.
void end_region(IssuingThread& thread, const Attachment& attached) {
  if (!thread.is_shown) return;
  thread.is_shown = false;
  show_closed(attached, thread);
}

// Sets the op's width, where it has one here; its flags say what its event says of it.
void begin_width(IssuingThread& thread, const Attachment& attached,
                 const optile_op_identity& identity, const WantedWidth& wanted, uint64_t now,
                 OpenOp* op) {
  op->flags = 0;
  if (op->region != 0) {
    begin_region(thread, attached, op, now);
    return;
  }
  if ((identity.flags & OPTILE_OP_FIXED) != 0) {
    leave_width(thread, now);
    return;
  }
  follow_wait_cap(thread, attached, nullptr);
  apply_width(thread, wanted, now);
  if ((identity.flags & OPTILE_OP_MAY_HANG) != 0) show_narrowed(thread, attached, op->key, now);
  if (width_could_be_set(thread)) op->flags |= OPTILE_EVENT_STEERABLE;
  if (thread.effective_width == thread.default_width) op->flags |= OPTILE_EVENT_DEFAULT_WIDTH;
}

bool begin_outermost(IssuingThread& thread, const optile_op_identity& identity, OpenOp* op) {
  const uint64_t arrived = ticks();
  maintain_attachment(arrived);
  const Attachment* attached = attachment();
  if (attached == nullptr) return false;
  if (life_is_loose(attached->client)) take_over_life(attached->client);
  restore_after_sampling_pause(thread);
  op->region = (identity.flags & OPTILE_OP_REGION) != 0 ? 1 : 0;
  if (op->region == 0 && thread.withdraw != nullptr) thread.withdraw(thread);
  op->op_id = op_id_of(identity);
  if (op->op_id == kNoOp) {
    __atomic_fetch_add(&attached->client->header.unseen_ops, 1, __ATOMIC_RELAXED);
    return false;
  }
  op->key = identity.key;
  op->context = thread.context;
  const PlanView plan = current_plan(*attached);
  if (marks_step(plan, op->key, op->context)) {
    if (follows_steps_of(thread, *attached)) {
      cross_step(thread, *attached, plan, arrived);
    } else {
      thread.step_begin = 0;  // no column of a schedule is this thread's
    }
  }
  const WantedWidth wanted = consult_plan(plan, thread, op);
  begin_width(thread, *attached, identity, wanted, arrived, op);
  if (is_first_touch(op->op_id, static_cast<uint32_t>(thread.effective_width))) {
    op->flags |= OPTILE_EVENT_FIRST_TOUCH;
  }
  if (op->column >= 0) op->flags |= OPTILE_EVENT_SCHEDULED;
  if (thread.effective_width != thread.previous_width) ++thread.width_changes;
  thread.previous_width = thread.effective_width;
  op->binding = static_cast<uint8_t>(binding_in_force());
  if (thread.composites == 0) thread.row_end = 0;
  thread.times_regions = op->record != 0;
  thread.region_ticks = 0;
  thread.region_threads = 0;
  thread.region_depth = 0;  // one that was left by a jump has not ended
  thread.regions = 0;
  thread.context = optile_next_context(thread.context, op->key);
  optile_client_header& header = attached->client->header;
  optile_store64(&header.progress, header.progress + 1);
  op->state = kOutermost;
  if (counters_in_use()) begin_counts(thread);
  op->begin = ticks();
  return true;
}

void end_outermost(IssuingThread& thread, const OpenOp& op) {
  const uint64_t now = ticks();
  const bool overlapped = end_overlap(thread, now);
  optile_event counts;
  const bool counted = thread.counts.on != 0 && end_counts(thread, &counts);
  restore_width(thread);
  on_sampling_paused(thread);
  thread.nested_open = 0;
  const Attachment* attached = attachment();
  if (attached == nullptr) return;
  end_region(thread, *attached);
  optile_event event = {};
  event.begin_ticks = op.begin;
  event.ticks = now - op.begin;
  event.context = op.context;
  event.region_ticks = thread.region_ticks;
  event.op_id = op.op_id;
  event.generation_low = op.generation_low;
  event.width = static_cast<uint16_t>(thread.effective_width);
  event.flags = op.flags;
  if (overlapped) event.flags |= OPTILE_EVENT_OVERLAPPED;
  event.regions = thread.regions;
  event.kind = OPTILE_EVENT_OP;
  event.column = op.column >= 0 ? static_cast<uint8_t>(op.column) : 0;
  event.binding = op.binding;
  thread.observed += event.ticks;
  if ((op.flags & OPTILE_EVENT_STEERABLE) != 0) thread.steerable += event.ticks;
  if (overlapped) thread.overlapped += event.ticks;
  ++thread.ops;
  publish_issuing_threads(*attached, thread);
  // Workers that read or close counters make an op slower, and so do other threads' ops: that is no
  // fault of its width.
  const bool is_meaningful = !counters_in_use() && !overlapped && !thread.narrowed;
  if (is_meaningful) judged_execution(*attached, op.judged, event.ticks, op.generation_low);
  counts.op_id = event.op_id;
  counts.generation_low = event.generation_low;
  write_op(*attached, thread, event, op.record != 0, counted ? &counts : nullptr);
}

}  // namespace

uint32_t width_of_next(IssuingThread& thread, uint64_t key, uint64_t context, uint32_t* judged) {
  *judged = 0;
  const Attachment* attached = attachment();
  if (attached == nullptr || !may_steer() || is_fixed_by_user() || !may_show_open(thread)) return 0;
  const PlanView plan = current_plan(*attached);
  int column = column_of(plan, thread);
  if (marks_step(plan, key, context)) {
    column = follows_steps_of(thread, *attached) ? next_schedule_column(plan) : -1;
  }
  const Decision decision = look_up(plan, key, context, column);
  const WantedWidth wanted = decide_width(plan, decision, thread, column, judged);
  return wanted.cap != 0 && (wanted.width == 0 || wanted.cap < wanted.width) ? wanted.cap
                                                                             : wanted.width;
}

int at_depth_0() {
  const IssuingThread* thread = known_issuing_thread();
  if (thread != nullptr && thread->depth > 0) return 0;
  // While nobody listens an op costs no more than this; trying again is due now and then.
  if (attachment() == nullptr) maintain_attachment(ticks());
  return attachment() != nullptr && !inside_region() ? 1 : 0;
}

int nested_wanted() {
  const Attachment* attached = attachment();
  return attached != nullptr && (current_plan(*attached).flags & OPTILE_PAGE_RECORD_NESTED) != 0;
}

void op_begin(const optile_op_identity* identity, optile_open_op* open) {
  auto* op = reinterpret_cast<OpenOp*>(open);
  op->state = kIgnored;
  if (environment().off || is_forked_child() || inside_region()) return;
  IssuingThread* thread = issuing_thread();
  if (thread == nullptr) return;
  if (thread->depth > 0) {
    begin_nested(*thread, *identity, op);
    ++thread->depth;
  } else if ((identity->flags & OPTILE_OP_COMPOSITE) != 0) {
    begin_composite(*thread, *identity, op);
  } else if (begin_outermost(*thread, *identity, op)) {
    thread->depth = 1;
  }
}

void op_end(optile_open_op* open) {
  const auto* op = reinterpret_cast<const OpenOp*>(open);
  IssuingThread* thread = known_issuing_thread();
  if (op->state == kIgnored || thread == nullptr) return;
  if (op->state == kComposite) {
    end_composite(*thread, *op);
    return;
  }
  if (thread->depth == 0) return;
  if (op->state == kNested) {
    end_nested(*thread, *op);
    --thread->depth;
    return;
  }
  if (is_forked_child()) {
    // Begun before the fork, ended in the child: put the width back, tell nobody.
    restore_width(*thread);
  } else {
    end_outermost(*thread, *op);
  }
  thread->depth = 0;
}

void close_what_was_left(IssuingThread& thread, const void* storage, const void* frame) {
  const auto open = reinterpret_cast<uintptr_t>(thread.outermost);
  const auto here = reinterpret_cast<uintptr_t>(frame);
  if (thread.depth == 0 || open == 0) return;
  if (thread.outermost != storage && (open >= here || here - open > kDeepestStack)) return;
  end_overlap(thread, ticks());
  restore_width(thread);
  const Attachment* attached = attachment();
  if (attached != nullptr) end_region(thread, *attached);
  thread.counts.on = 0;
  thread.nested_open = 0;
  thread.region_depth = 0;
  thread.outermost = nullptr;
  thread.awaits_runtime = false;
  thread.waits_for = nullptr;
  thread.depth = 0;
}

void declared_step() {
  if (environment().off || is_forked_child()) return;
  __atomic_fetch_add(&declared_steps, 1, __ATOMIC_RELAXED);
  const uint64_t now = ticks();
  maintain_attachment(now);
  const Attachment* attached = attachment();
  IssuingThread* thread = issuing_thread();
  if (attached == nullptr || thread == nullptr) return;
  __atomic_fetch_add(&attached->client->header.annotations, 1, __ATOMIC_RELAXED);
  cross_step(*thread, *attached, current_plan(*attached), now);
}

const optile_probe_api* probe_api() {
  static const optile_probe_api api = {OPTILE_PROBE_API_VERSION,
                                       sizeof(optile_probe_api),
                                       at_depth_0,
                                       nested_wanted,
                                       op_begin,
                                       op_end,
                                       declared_step,
                                       offer_sampling_pause,
                                       landmark};
  return &api;
}

}  // namespace optile::preload
