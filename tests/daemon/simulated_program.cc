#include "tests/daemon/simulated_program.h"

#include <algorithm>
#include <utility>

namespace optile::daemon {
namespace {

// As the shim does it: bindings/preload/rest.h.
constexpr uint32_t kListenedSteps = 3;  // heard in between
constexpr uint32_t kRestedSteps = 62;

}  // namespace

SimulatedProgram::SimulatedProgram(ClientRegions regions, std::vector<Op> setup,
                                   std::vector<Op> step, int own_width, uint64_t* clock_ns)
    : regions_(std::move(regions)),
      setup_(std::move(setup)),
      step_(std::move(step)),
      own_width_(own_width),
      clock_ns_(clock_ns) {
  regions_.begin(*clock_ns, own_width);
}

void SimulatedProgram::run_step() {
  for (const Op& op : std::exchange(setup_, {})) run_op(op);
  for (const Op& op : step_) run_op(op);
}

void SimulatedProgram::adopt() {
  const uint64_t newest = optile_load64(&regions_.plan().generation);
  if (newest == generation_) return;
  generation_ = newest;
  page_ = &regions_.plan().pages[newest & 1];
  next_column_ = 0;
  column_ = -1;
  optile_store64(&regions_.client().header.adopted_generation, newest);
}

const optile_plan_entry* SimulatedProgram::find(uint64_t key, uint64_t context) const {
  uint32_t slot = optile_plan_slot(key, context);
  for (uint32_t i = 0; i < OPTILE_PLAN_SLOTS; ++i, slot = (slot + 1) % OPTILE_PLAN_SLOTS) {
    if (page_->slots[slot].key == 0) return nullptr;
    if (page_->slots[slot].key == key && page_->slots[slot].context == context) {
      return &page_->slots[slot];
    }
  }
  return nullptr;
}

// A lease or a budget bounds it.
int SimulatedProgram::own_width() const {
  const int cap = page_ == nullptr ? 0 : static_cast<int>(page_->own_width_cap);
  return cap == 0 ? own_width_ : std::min(cap, own_width_);
}

const optile_plan_entry* SimulatedProgram::entry_of(uint64_t key) const {
  const optile_plan_entry* entry = find(key, context_);
  return entry == nullptr ? find(key, 0) : entry;
}

int SimulatedProgram::width_for(uint64_t key) const {
  if (page_ == nullptr) return own_width_;
  const optile_plan_entry* entry = entry_of(key);
  if (entry == nullptr || (entry->flags & OPTILE_ENTRY_LEAVE) != 0) return own_width();
  const int width = column_ >= 0 ? entry->schedule[column_] : entry->width;
  return width == 0 ? own_width() : std::min(width, own_width());
}

bool SimulatedProgram::is_told(uint64_t key) const {
  if (page_ == nullptr || (page_->flags & OPTILE_PAGE_RECORD_ALL) != 0) return true;
  const optile_plan_entry* entry = entry_of(key);
  return entry != nullptr && (entry->flags & OPTILE_ENTRY_RECORD) != 0;
}

bool SimulatedProgram::begins_step(const Op& op) const {
  return page_ != nullptr && page_->marker_key == op.key &&
         (page_->marker_context == 0 || page_->marker_context == context_);
}

// At the begin of a step; another page is adopted there.
void SimulatedProgram::rest_or_wake() {
  const bool another = optile_load64(&regions_.plan().generation) != generation_;
  const bool may =
      may_rest_ && page_ != nullptr && !another && (page_->flags & OPTILE_PAGE_MAY_REST) != 0;
  ++in_turn_;
  const bool over = in_turn_ >= (rests_ ? kRestedSteps : kListenedSteps);
  if (may && !over) return;
  rests_ = may && !rests_;
  in_turn_ = 0;
}

void SimulatedProgram::begin_step() {
  if (in_step_) {
    optile_event event{};
    event.kind = OPTILE_EVENT_STEP;
    event.begin_ticks = step_begin_ns_;
    event.ticks = *clock_ns_ - step_begin_ns_;
    event.context = step_observed_ns_;
    event.region_ticks = step_observed_ns_;
    event.regions = step_ops_;
    event.step = steps_;
    event.generation_low = static_cast<uint32_t>(step_generation_);
    if (column_ >= 0) {
      event.flags |= OPTILE_EVENT_SCHEDULED;
      event.column = static_cast<uint8_t>(column_);
    }
    regions_.write(event);
  }
  adopt();
  in_step_ = true;
  optile_store32(&regions_.client().header.steps, ++steps_);
  step_begin_ns_ = *clock_ns_;
  step_observed_ns_ = 0;
  step_ops_ = 0;
  step_generation_ = generation_;
  column_ = -1;
  if (page_ != nullptr && next_column_ < page_->schedule_length) {
    column_ = static_cast<int>(next_column_++);
  }
}

void SimulatedProgram::run_op(const Op& op) {
  if (page_ == nullptr || page_->marker_key == 0) adopt();
  if (begins_step(op)) {
    const bool rested = rests_;
    rest_or_wake();
    if (rested && rests_) {
      optile_store32(&regions_.client().header.steps, ++steps_);
    } else {
      begin_step();
    }
    in_step_ = in_step_ && !rests_;
  }
  if (!ids_.contains(op.key)) ids_[op.key] = regions_.register_op(op.key, op.name, "[8,8] ");
  const bool known = touched_.contains({op.key, own_width()});
  const int width = known ? width_for(op.key) : own_width();
  widths_[op.key] = width;
  if (rests_) {
    *clock_ns_ += op.time_ns(width);
    context_ = optile_next_context(context_, op.key);
    return;
  }
  optile_store64(&regions_.client().header.progress, regions_.client().header.progress + 1);

  optile_event event{};
  event.kind = OPTILE_EVENT_OP;
  event.op_id = ids_[op.key];
  event.context = context_;
  event.begin_ticks = *clock_ns_;
  event.ticks = op.time_ns(width);
  event.step = steps_;
  event.width = static_cast<uint16_t>(width);
  event.generation_low = static_cast<uint32_t>(generation_);
  event.flags = OPTILE_EVENT_STEERABLE;
  if (width == own_width()) event.flags |= OPTILE_EVENT_OWN_WIDTH;
  if (touched_.insert({op.key, width}).second) event.flags |= OPTILE_EVENT_FIRST_TOUCH;
  if (column_ >= 0) {
    event.flags |= OPTILE_EVENT_SCHEDULED;
    event.column = static_cast<uint8_t>(column_);
  }
  *clock_ns_ += event.ticks;
  step_observed_ns_ += event.ticks;
  ++step_ops_;
  optile_aggregate& total = regions_.client().threads[0].aggregates[event.op_id];
  optile_store64(&total.ticks, total.ticks + event.ticks);
  optile_store64(&total.count, total.count + 1);
  if (is_told(op.key)) regions_.write(event);
  context_ = optile_next_context(context_, op.key);
}

}  // namespace optile::daemon
