#include "bindings/preload/core/executor_issuer.h"

#include "bindings/preload/actuators/width_actuator.h"
#include "bindings/preload/core/event_writer.h"
#include "bindings/preload/core/op_boundary.h"
#include "bindings/preload/core/op_registry.h"
#include "bindings/preload/core/step_admissions.h"
#include "bindings/preload/core/width_decision.h"
#include "bindings/preload/shared_memory/attachment.h"
#include "bindings/preload/shared_memory/plan_reader.h"
#include "bindings/preload/support/environment.h"
#include "bindings/preload/support/host_log.h"
#include "bindings/preload/support/progress_lock.h"
#include "bindings/preload/support/shim_clock.h"

namespace optile::preload {

uint32_t executor_flow_now = 0;

namespace {

// Of the steps whose ops nobody asks for, two in so many are listened to.
constexpr uint32_t kListenedOf = 32;

// Of the issuer, and of everything below it here that is no atomic word. Held through a serial op.
ProgressLock turn;
IssuingThread* issuer = nullptr;
uint32_t openings = 0;
uint32_t steps = 0;
uint32_t width_cap = 0;
uint64_t small_ticks = 0;
// Of the step that runs: its admitted ops are told of.
uint32_t listening = 0;

// How many are open, which is right without the lock too, and since when one at least was, where
// ops run side by side.
uint32_t open_ops = 0;
uint64_t busy_since = 0;

// On a thread that computes an op of the executor: what its code calls is a part of it.
thread_local bool inside_op = false;

void set_flow(ExecutorFlow flow) {
  __atomic_store_n(&executor_flow_now, static_cast<uint32_t>(flow), __ATOMIC_RELAXED);
}

bool is_left_alone() {
  return __atomic_load_n(&openings, __ATOMIC_RELAXED) >= kMostOpenings;
}

// Something waited in vain.
void count_opening() {
  if (__atomic_add_fetch(&openings, 1, __ATOMIC_RELAXED) != kMostOpenings) return;
  set_flow(ExecutorFlow::kUnheard);
  log_line("the ops of this program are left alone: one of them waited for another for too long");
}

bool take_turn() {
  if (is_left_alone()) return false;
  if (turn.acquire()) return true;
  count_opening();
  return false;
}

// Where ops pass side by side nobody keeps it longer than a note takes.
bool take_short_turn() {
  if (is_left_alone()) return false;
  if (turn.acquire_soon()) return true;
  count_opening();
  return false;
}

// To the ops of the step that begins. Whole steps are compared as they run where nobody listens.
bool listens_to_ops(const PlanView& plan) {
  if ((plan.flags & OPTILE_PAGE_RECORD_ALL) != 0) return true;
  return issuer->step_column < 0 && steps % kListenedOf < 2;
}

// Of the step that begins.
ExecutorFlow choose_flow(const PlanView& plan, const FlowView& view, bool listens, uint64_t now) {
  const bool may_wait = may_steer() && !is_fixed_by_user();
  if (may_wait && view.flow == OPTILE_FLOW_SERIAL) {
    begin_step_without_gate();
    return ExecutorFlow::kSerial;
  }
  const bool admits = view.flow == OPTILE_FLOW_PACKED || view.flow == OPTILE_FLOW_FILLED ||
                      view.flow == OPTILE_FLOW_AHEAD;
  if (may_wait && admits && !environment().as_untuned &&
      begin_admitted_step(plan, view.flow, now)) {
    return ExecutorFlow::kAdmitted;
  }
  begin_step_without_gate();
  return listens ? ExecutorFlow::kConcurrent : ExecutorFlow::kUnheard;
}

// The widest that an op may be which is not told of.
uint32_t smaller_cap(uint32_t one, uint32_t other) {
  return one == 0 || (other != 0 && other < one) ? other : one;
}

// Of the step that ends.
void count_small_ops() {
  const uint64_t spent = __atomic_exchange_n(&small_ticks, 0, __ATOMIC_RELAXED);
  if (issuer->step_begin == 0) return;
  const uint64_t most = ticks() - issuer->step_begin;
  issuer->observed = issuer->observed + spent < most ? issuer->observed + spent : most;
}

}  // namespace

bool executor_has_steps() {
  return __atomic_load_n(&steps, __ATOMIC_RELAXED) != 0;
}

uint32_t executor_width_cap() {
  return __atomic_load_n(&width_cap, __ATOMIC_RELAXED);
}

void begin_executor_step() {
  if (environment().off || is_forked_child() || inside_op || !take_turn()) return;
  if (issuer == nullptr) issuer = claim_shared_issuer();
  if (issuer != nullptr) {
    IssuingThread* before = issue_as(issuer);
    count_small_ops();
    declared_step();
    __atomic_store_n(&steps, steps + 1, __ATOMIC_RELAXED);
    const Attachment* attached = attachment();
    ExecutorFlow flow = ExecutorFlow::kUnheard;
    bool listens = false;
    bool timed = false;
    if (attached != nullptr) {
      const PlanView plan = current_plan(*attached);
      const FlowView view = flow_in(plan, issuer->step_column);
      listens = listens_to_ops(plan);
      flow = choose_flow(plan, view, listens, ticks());
      timed = (plan.flags & OPTILE_PAGE_MAY_PAUSE_SAMPLING) == 0;
      const uint32_t cap = environment().as_untuned ? 0 : smaller_cap(cap_of(plan), view.cap);
      __atomic_store_n(&width_cap, may_steer() && !is_fixed_by_user() ? cap : 0, __ATOMIC_RELAXED);
    } else {
      __atomic_store_n(&width_cap, 0, __ATOMIC_RELAXED);
    }
    // An op that runs alone is told of in any case.
    issuer->step_unheard = !listens && flow != ExecutorFlow::kSerial;
    // Without a beginning no time is told.
    if (flow == ExecutorFlow::kUnheard && !timed) issuer->step_begin = 0;
    __atomic_store_n(&listening, listens ? 1 : 0, __ATOMIC_RELAXED);
    set_flow(flow);
    issue_as(before);
  }
  turn.release();
}

void count_small_op(uint64_t ticks) {
  // What passes beside an op takes no time of the step's own.
  if (__atomic_load_n(&open_ops, __ATOMIC_RELAXED) != 0) return;
  __atomic_fetch_add(&small_ticks, ticks, __ATOMIC_RELAXED);
}

ExecutorOp::ExecutorOp(const optile_op_identity& identity, uint64_t instance, ExecutorFlow flow) {
  if (flow == ExecutorFlow::kUnheard || inside_op || is_forked_child()) return;
  if (flow == ExecutorFlow::kSerial) {
    begin_serial(identity, instance);
  } else {
    instance_ = instance;
    steerable_ = (identity.flags & OPTILE_OP_FIXED) == 0;
    if (flow == ExecutorFlow::kAdmitted) {
      begin_admitted(identity);
    } else {
      begin_concurrent(identity);
    }
  }
  inside_op = flow_ != ExecutorFlow::kUnheard;
}

ExecutorOp::~ExecutorOp() {
  end();
}

void ExecutorOp::end() {
  const ExecutorFlow flow = flow_;
  flow_ = ExecutorFlow::kUnheard;
  if (flow == ExecutorFlow::kUnheard) return;
  inside_op = false;
  if (flow == ExecutorFlow::kSerial) {
    end_serial();
  } else {
    end_concurrent();
  }
}

void ExecutorOp::begin_serial(const optile_op_identity& identity, uint64_t instance) {
  if (!take_turn()) return;
  if (issuer == nullptr) issuer = claim_shared_issuer();
  if (issuer == nullptr) {
    turn.release();
    return;
  }
  flow_ = ExecutorFlow::kSerial;
  __atomic_fetch_add(&open_ops, 1, __ATOMIC_RELAXED);
  before_ = issue_as(issuer);
  if (instance != 0) issuer->context = instance;
  op_begin(&identity, &open_);
}

void ExecutorOp::end_serial() {
  op_end(&open_);
  issue_as(before_);
  __atomic_fetch_sub(&open_ops, 1, __ATOMIC_RELAXED);
  turn.release();
}

void ExecutorOp::begin_concurrent(const optile_op_identity& identity) {
  id_ = op_id_of(identity);
  if (id_ == kNoOp || !take_short_turn()) return;
  begin_ = ticks();
  open();
  turn.release();
  flow_ = ExecutorFlow::kConcurrent;
}

// Under the lock.
void ExecutorOp::open() {
  beside_others_ = __atomic_fetch_add(&open_ops, 1, __ATOMIC_RELAXED) > 0;
  if (!beside_others_) busy_since = begin_;
  is_counted_ = true;
}

void ExecutorOp::begin_admitted(const optile_op_identity& identity) {
  const Attachment* attached = attachment();
  id_ = op_id_of(identity);
  if (id_ == kNoOp || attached == nullptr || is_left_alone()) return;
  flow_ = ExecutorFlow::kAdmitted;
  enter_gate(&admitted_, current_plan(*attached), identity.key, instance_, ticks());
  if (admitted_.waits() && !wait_for_admission(&admitted_)) count_opening();
  if (__atomic_load_n(&listening, __ATOMIC_RELAXED) != 0 && take_short_turn()) {
    begin_ = ticks();
    open();
    turn.release();
  }
  if (admitted_.width != 0) knob_before_ = set_knob_here(static_cast<int>(admitted_.width));
}

void ExecutorOp::end_concurrent() {
  const uint64_t now = ticks();
  if (admitted_.width != 0) set_knob_here(knob_before_);
  leave_gate(admitted_, now);
  if (!is_counted_) return;
  const bool has_turn = take_short_turn();
  if (__atomic_fetch_sub(&open_ops, 1, __ATOMIC_RELAXED) > 1) beside_others_ = true;
  if (!has_turn) return;
  const Attachment* attached = attachment();
  if (attached != nullptr && issuer != nullptr) tell_concurrent(*attached, now);
  busy_since = now;  // what was busy until now is counted
  turn.release();
}

void ExecutorOp::tell_concurrent(const Attachment& attached, uint64_t now) const {
  // A step that began meanwhile has its own part of this.
  const uint64_t from = busy_since > issuer->step_begin ? busy_since : issuer->step_begin;
  if (issuer->step_begin != 0 && now > from) {
    issuer->observed += now - from;
    if (steerable_) issuer->steerable += now - from;
  }
  const PlanView plan = current_plan(attached);
  optile_event event = {};
  event.begin_ticks = begin_;
  event.ticks = now - begin_;
  event.context = instance_;
  event.op_id = id_;
  event.generation_low = static_cast<uint32_t>(plan.generation);
  event.kind = OPTILE_EVENT_OP;
  event.width = static_cast<uint16_t>(admitted_.width);
  if (admitted_.width == 0) event.flags |= OPTILE_EVENT_DEFAULT_WIDTH;
  if (beside_others_) event.flags |= OPTILE_EVENT_OVERLAPPED;
  if (steerable_) event.flags |= OPTILE_EVENT_STEERABLE;
  ++issuer->ops;
  optile_client_header& header = attached.client->header;
  optile_store64(&header.progress, header.progress + 1);
  write_op(attached, *issuer, event, (plan.flags & OPTILE_PAGE_RECORD_ALL) != 0);
}

}  // namespace optile::preload
