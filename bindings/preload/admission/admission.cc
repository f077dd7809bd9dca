#include <algorithm>
#include <memory>
#include <new>
#include <vector>

#include "bindings/preload/core/admission_api.h"
#include "sched/strategies/step_admission.h"

namespace optile::admission {
namespace {

using sched::StepAdmission;

struct Handle {
  std::unique_ptr<StepAdmission> steps;
  std::vector<sched::Launch> launches;  // decided, and not yet handed over
  std::size_t handed_over = 0;
  bool failed = false;  // memory ran out: everything passes from here on
};

sched::AdmissionRule rule_of(uint32_t flow) {
  if (flow == OPTILE_FLOW_AHEAD) return sched::AdmissionRule::kLookAhead;
  return flow == OPTILE_FLOW_FILLED ? sched::AdmissionRule::kFill : sched::AdmissionRule::kPack;
}

sched::AdmissionProblem problem_of(const optile_admission_problem& raw) {
  sched::AdmissionProblem problem;
  problem.cores = static_cast<int>(raw.cores);
  problem.hardware_threads = static_cast<int>(raw.hardware_threads);
  problem.rule = rule_of(raw.flow);
  for (uint32_t i = 0; i < raw.place_count; ++i) {
    const optile_plan_menu& from = raw.places[i];
    sched::AdmittedPlace place;
    place.op = static_cast<int>(from.op);
    place.per_step = static_cast<int>(std::min(from.per_step, UINT32_C(1) << 16));
    for (uint32_t w = 0; w < OPTILE_MENU_WIDTHS && from.width[w] != 0; ++w) {
      place.widths.push_back({from.width[w], static_cast<double>(from.seconds[w])});
    }
    problem.places.push_back(std::move(place));
  }
  return problem;
}

Handle& handle_of(void* handle) {
  return *static_cast<Handle*>(handle);
}

// Calls what may allocate; false where that failed, now or before.
template <typename Call>
bool attempt(Handle& handle, const Call& call) {
  if (handle.failed) return false;
  try {
    call();
  } catch (const std::bad_alloc&) {
    handle.failed = true;
  }
  return !handle.failed;
}

void* open(const optile_admission_problem* raw) {
  try {
    auto handle = std::make_unique<Handle>();
    handle->steps = StepAdmission::make(problem_of(*raw));
    return handle->steps == nullptr ? nullptr : handle.release();
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

void close(void* handle) {
  delete static_cast<Handle*>(handle);
}

void begin_step(void* opened) {
  Handle& handle = handle_of(opened);
  handle.launches.clear();
  handle.handed_over = 0;
  attempt(handle, [&] { handle.steps->begin_step(); });
}

uint32_t ready(void* opened, uint32_t place) {
  Handle& handle = handle_of(opened);
  std::optional<int> node;
  const bool had = attempt(handle, [&] { node = handle.steps->on_ready(place); });
  return had && node ? static_cast<uint32_t>(*node) : OPTILE_NO_NODE;
}

void finished(void* opened, uint32_t node, double seconds) {
  Handle& handle = handle_of(opened);
  attempt(handle, [&] { handle.steps->on_finished(static_cast<int>(node), seconds); });
}

uint32_t decide(void* opened, double seconds, optile_admitted_op* admitted, uint32_t most) {
  Handle& handle = handle_of(opened);
  if (handle.handed_over == handle.launches.size()) {
    handle.launches.clear();
    handle.handed_over = 0;
    attempt(handle, [&] { handle.steps->decide(seconds, &handle.launches); });
  }
  uint32_t count = 0;
  while (count < most && handle.handed_over < handle.launches.size()) {
    const sched::Launch& launch = handle.launches[handle.handed_over++];
    admitted[count++] = {static_cast<uint32_t>(launch.node),
                         static_cast<uint32_t>(launch.which.width)};
  }
  return count;
}

}  // namespace
}  // namespace optile::admission

extern "C" const optile_admission_api* optile_admission() {
  namespace admission = optile::admission;
  static const optile_admission_api api = {OPTILE_ADMISSION_API_VERSION,
                                           sizeof(optile_admission_api),
                                           admission::open,
                                           admission::close,
                                           admission::begin_step,
                                           admission::ready,
                                           admission::finished,
                                           admission::decide};
  return &api;
}
