#include "bindings/preload/core/step_admissions.h"

#include "bindings/preload/runtimes/own_library.h"
#include "bindings/preload/shared_memory/attachment.h"
#include "bindings/preload/support/progress_lock.h"

namespace optile::preload {
namespace {

// Of everything below. Its holder runs our own code only, so it is waited for.
ProgressLock lock;
class Locked {
 public:
  Locked() {
    while (!lock.acquire()) {
    }
  }
  ~Locked() { lock.release(); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;
};

constexpr uint32_t kMostPlaces = OPTILE_PLAN_SLOTS / 2;
constexpr uint16_t kNoPlace = UINT16_MAX;

AdmissionGate gate;
bool tried = false;
const optile_admission_api* api = nullptr;

// What the gate's problems were made from. Another daemon counts its pages anew.
const Attachment* page_of = nullptr;
uint64_t generation = 0;
optile_plan_menu places[kMostPlaces];
uint16_t place_of_slot[OPTILE_PLAN_SLOTS];

uint64_t step_begin = 0;
double seconds_per_tick = 0;

void load_library() {
  tried = true;
  api = own_api<optile_admission_api>(OPTILE_ADMISSION_LIBRARY, OPTILE_ADMISSION_SYMBOL,
                                      OPTILE_ADMISSION_API_VERSION, "ops are not run side by side");
}

optile_plan_menu copy_of(const optile_plan_menu& shared) {
  optile_plan_menu menu = {};
  menu.per_step = optile_load32(&shared.per_step);
  if (menu.per_step == 0) return menu;
  menu.op = optile_load32(&shared.op);
  for (uint32_t i = 0; i < OPTILE_MENU_WIDTHS; ++i) {
    menu.width[i] = __atomic_load_n(&shared.width[i], __ATOMIC_ACQUIRE);
    __atomic_load(&shared.seconds[i], &menu.seconds[i], __ATOMIC_ACQUIRE);
  }
  return menu;
}

// Of the plan page; false where that changed meanwhile.
bool read_menus(const PlanView& plan, optile_admission_problem* problem) {
  const optile_plan_page& page = *plan.page;
  problem->cores = __atomic_load_n(&page.admitting_cores, __ATOMIC_ACQUIRE);
  problem->hardware_threads = __atomic_load_n(&page.hardware_threads, __ATOMIC_ACQUIRE);
  uint32_t count = 0;
  for (uint32_t slot = 0; slot < OPTILE_PLAN_SLOTS; ++slot) {
    place_of_slot[slot] = kNoPlace;
    if (count == kMostPlaces || optile_load64(&page.slots[slot].key) == 0) continue;
    places[count] = copy_of(page.menus[slot]);
    if (places[count].per_step != 0) place_of_slot[slot] = static_cast<uint16_t>(count++);
  }
  problem->places = places;
  problem->place_count = count;
  return optile_load64(&page.generation) == plan.generation;
}

bool make_problem(const Attachment& attached, const PlanView& plan, uint32_t flow) {
  if (!tried) load_library();
  if (api == nullptr) return false;
  if (page_of != &attached || generation != plan.generation) gate.close();
  if (gate.select(flow)) return gate.has_problem();
  optile_admission_problem problem = {};
  problem.flow = flow;
  if (!read_menus(plan, &problem)) return false;
  page_of = &attached;
  generation = plan.generation;
  return gate.open_for(api, problem);
}

double seconds_at(uint64_t now) {
  return now > step_begin ? static_cast<double>(now - step_begin) * seconds_per_tick : 0;
}

}  // namespace

bool begin_admitted_step(const PlanView& plan, uint32_t flow, uint64_t now) {
  const Locked locked;
  const Attachment* attached = attachment();
  const uint64_t rate =
      attached == nullptr ? 0 : optile_load64(&attached->client->header.ticks_per_second);
  if (rate == 0 || !make_problem(*attached, plan, flow)) {
    gate.release_all();
    return false;
  }
  step_begin = now;
  seconds_per_tick = 1.0 / static_cast<double>(rate);
  gate.begin_step();
  return true;
}

void begin_step_without_gate() {
  const Locked locked;
  gate.release_all();
}

void enter_gate(AdmittedOp* op, const PlanView& plan, uint64_t key, uint64_t context,
                uint64_t now) {
  if (!plan.valid) return;
  const Decision decision = look_up(plan, key, context, -1);
  const Locked locked;
  if (!decision.found || plan.generation != generation || place_of_slot[decision.slot] == kNoPlace)
    return;
  gate.enter(op, place_of_slot[decision.slot], seconds_at(now));
}

void leave_gate(const AdmittedOp& op, uint64_t now) {
  if (op.node == OPTILE_NO_NODE) return;
  const Locked locked;
  gate.leave(op, seconds_at(now));
}

bool wait_for_admission(AdmittedOp* op) {
  if (gate.wait(op)) return true;
  const Locked locked;
  // Of several whose patience ends together one opens it.
  if (!op->waits()) return true;
  gate.release_all();
  return false;
}

}  // namespace optile::preload
