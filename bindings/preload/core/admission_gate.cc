#include "bindings/preload/core/admission_gate.h"

#include <errno.h>

#include "bindings/preload/support/patience.h"

namespace optile::preload {
namespace {

// The op may be gone from its stack as soon as its state is another.
void let_go(AdmittedOp* op, uint32_t state, uint32_t width) {
  const bool sleeps = op->sleeps;
  op->width = width;
  __atomic_store_n(&op->state, state, __ATOMIC_RELEASE);
  if (sleeps) Patience::wake_one(&op->state);
}

}  // namespace

bool AdmissionGate::open_for(const optile_admission_api* api,
                             const optile_admission_problem& problem) {
  release_all();
  handle_ = nullptr;
  if (problem.flow >= kFlows) return false;
  void*& handle = handles_[problem.flow];
  if (handle != nullptr) api->close(handle);
  api_ = api;
  handle = api->open(&problem);
  opened_[problem.flow] = true;
  return select(problem.flow) && has_problem();
}

bool AdmissionGate::select(uint32_t flow) {
  if (flow >= kFlows || !opened_[flow]) return false;
  if (handle_ != handles_[flow]) release_all();
  handle_ = handles_[flow];
  return true;
}

void AdmissionGate::close() {
  release_all();
  for (uint32_t flow = 0; flow < kFlows; ++flow) {
    if (handles_[flow] != nullptr) api_->close(handles_[flow]);
    handles_[flow] = nullptr;
    opened_[flow] = false;
  }
  handle_ = nullptr;
}

void AdmissionGate::begin_step() {
  release_all();
  ++step_;
  released_ = false;
  if (handle_ != nullptr) api_->begin_step(handle_);
}

void AdmissionGate::enter(AdmittedOp* op, uint32_t place, double seconds) {
  if (handle_ == nullptr || released_) return;
  op->node = api_->ready(handle_, place);
  if (op->node == OPTILE_NO_NODE) return;
  op->step = step_;
  op->state = kWaits;
  op->next = waiting_;
  waiting_ = op;
  admit(seconds);
  op->sleeps = op->waits();
}

bool AdmissionGate::wait(AdmittedOp* op) const {
  const int kept_errno = errno;
  Patience patience(__atomic_load_n(&moves_, __ATOMIC_RELAXED));
  bool over = false;
  while (op->waits() && !over) {
    if (Patience::sleep(&op->state, kWaits)) continue;
    over = patience.ends(__atomic_load_n(&moves_, __ATOMIC_RELAXED));
  }
  errno = kept_errno;
  return !over;
}

void AdmissionGate::leave(const AdmittedOp& op, double seconds) {
  if (op.state != kAdmitted || op.step != step_ || released_ || handle_ == nullptr) return;
  __atomic_store_n(&moves_, moves_ + 1, __ATOMIC_RELAXED);
  api_->finished(handle_, op.node, seconds);
  admit(seconds);
}

void AdmissionGate::release_all() {
  released_ = true;
  while (waiting_ != nullptr) {
    AdmittedOp* const op = waiting_;
    waiting_ = op->next;
    let_go(op, kPassed, 0);
  }
}

void AdmissionGate::admit(double seconds) {
  constexpr uint32_t kAtOnce = 16;
  optile_admitted_op admitted[kAtOnce];
  uint32_t count = 0;
  do {
    count = api_->decide(handle_, seconds, admitted, kAtOnce);
    for (uint32_t i = 0; i < count; ++i) {
      AdmittedOp** link = &waiting_;
      while (*link != nullptr && (*link)->node != admitted[i].node) link = &(*link)->next;
      if (*link == nullptr) continue;
      AdmittedOp* const op = *link;
      *link = op->next;
      __atomic_store_n(&moves_, moves_ + 1, __ATOMIC_RELAXED);
      let_go(op, kAdmitted, admitted[i].width);
    }
  } while (count == kAtOnce);
}

}  // namespace optile::preload
