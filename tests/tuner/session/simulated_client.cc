#include "tests/tuner/session/simulated_client.h"

#include <algorithm>
#include <cmath>

#include "bindings/abi/layout.h"

namespace optile::tuner {

using perfmodel::Binding;
using perfmodel::Nanoseconds;
using perfmodel::OpPlace;

namespace {

Nanoseconds ns(double value) {
  return Nanoseconds(std::llround(value));
}

constexpr double kGapNs = 500;        // between ops
constexpr double kStepGapNs = 50000;  // between steps

}  // namespace

SimulatedClient::SimulatedClient(Session& session, SimulatedProgram program,
                                 SimulatedClientOptions options)
    : session_(session), options_(options), random_(options.seed) {
  session_.set_runtime(options_.runtime);
  session_.set_default_width(options_.default_width);
  replace_program(std::move(program));
}

void SimulatedClient::replace_program(SimulatedProgram program) {
  program_ = std::move(program);
  for (const SimulatedOp& op : program_.ops) {
    perfmodel::OpDescription description;
    description.key = op.key;
    description.name = op.name;
    description.region = op.region;
    description.listening = op.listening;
    session_.add_op(description);
  }
  planned_step_ns_.reset();
  // More rounds than a context remembers ops.
  uint64_t context = 0;
  for (int round = 0; round < 10; ++round) {
    contexts_.clear();
    for (int index : program_.order) {
      contexts_.push_back(context);
      context = optile_next_context(context, program_.ops[static_cast<std::size_t>(index)].key);
    }
  }
}

void SimulatedClient::set_default_width(int width) {
  options_.default_width = width;
  planned_step_ns_.reset();
  session_.set_default_width(width);
}

void SimulatedClient::run_steps(int count) {
  for (int i = 0; i < count; ++i) {
    now_ns_ += kStepGapNs;
    std::normal_distribution<double> normal(0, 1);
    step_factor_ = std::exp(options_.noise.per_step * normal(random_)) *
                   (1 + options_.noise.drift_per_step * boundaries_);
    run_sequence(program_.order);
    ++boundaries_;
    session_.on_progress(progress_, 0);
  }
}

bool SimulatedClient::run_until_tuned(int most) {
  for (int i = 0; i < most; ++i) {
    run_steps(1);
    // Every change of phase comes with a page; a view copies all samples.
    if (page_number_ == looked_at_ || !published_.empty()) continue;
    looked_at_ = page_number_;
    if (session_.view().phase == Phase::kTuned) {
      run_steps(options_.adoption_delay + 2);
      return true;
    }
  }
  return false;
}

void SimulatedClient::run_sequence(const std::vector<int>& order) {
  for (int index : order) run_op(program_.ops[static_cast<std::size_t>(index)]);
}

void SimulatedClient::run_op(const SimulatedOp& op) {
  ++progress_;
  const OpPlace place{op.key, context_};
  const bool starts_step = page_ && page_->marker && page_->marker->is(place);
  if (starts_step) step_boundary();
  adopt_pages();
  std::vector<int>& runs = runs_[op.key];
  const bool first = runs.empty();
  int width = options_.default_width;
  if (!first && op.steerable) width = width_for(place, page_ ? &*page_ : nullptr, column_);
  Binding binding = Binding::kNone;
  if (page_ && !options_.masks_refused) {
    binding =
        column_ ? page_->schedule_binding[static_cast<std::size_t>(*column_)] : page_->binding;
  }
  const auto at = static_cast<std::size_t>(width);
  if (runs.size() <= at) runs.resize(at + 1);
  const bool touch = runs[at]++ == 0;
  double time = noisy(op.ns(width));
  if (width > 1 && team_ != 0 && team_ != width) {
    time += options_.change_ns;
    ++changes_;
  }
  if (touch) time += options_.first_touch_ns;
  if (width > 1) team_ = width;

  OpEvent event;
  event.place = place;
  event.begin = ns(now_ns_);
  event.duration = ns(time);
  event.step = step_;
  event.width = width;
  event.binding = binding;
  event.first_touch = touch;
  event.default_width = width == options_.default_width;
  event.steerable = op.steerable;
  std::uniform_real_distribution<double> uniform(0, 1);
  event.overlapped = options_.overlap > 0 && uniform(random_) < options_.overlap;
  if (event.overlapped) overlapped_ns_ += time;
  event.column = column_;
  event.plan = page_number_;
  now_ns_ += time + kGapNs;
  in_ops_ns_ += time;
  busy_ns_ += time;
  if (op.steerable) steerable_ns_ += time;
  ++ops_in_step_;
  context_ = optile_next_context(context_, op.key);
  if (is_told(place) && !dropped()) {
    ++op_events_;
    session_.on_op(event);
  }
}

void SimulatedClient::step_boundary() {
  if (step_begin_ns_ >= 0 && !dropped()) {
    StepEvent event;
    event.step = step_;
    event.duration = ns(now_ns_ - step_begin_ns_);
    event.observed = ns(in_ops_ns_);
    event.steerable = ns(steerable_ns_);
    event.ops = ops_in_step_;
    event.width_changes = changes_;
    event.column = column_;
    event.plan = step_page_;
    event.mixed = step_page_ != page_number_;
    event.overlapped = 2 * overlapped_ns_ > in_ops_ns_;
    session_.on_step(event);
  }
  ++step_;
  step_begin_ns_ = now_ns_;
  step_page_ = page_number_;
  in_ops_ns_ = steerable_ns_ = overlapped_ns_ = 0;
  ops_in_step_ = changes_ = 0;
  if (schedule_waits_) {
    schedule_waits_ = false;
    column_ = 0;
  } else if (column_ && ++*column_ >= page_->schedule_length) {
    column_.reset();
  }
}

void SimulatedClient::adopt_pages() {
  if (std::optional<PlanDraft> draft = session_.take_plan(next_number_)) {
    published_.push_back({next_number_++, *draft, boundaries_ + options_.adoption_delay});
  }
  bool adopted = false;
  while (!published_.empty() && published_.front().due <= boundaries_) {
    page_ = published_.front().draft;
    page_number_ = published_.front().number;
    published_.pop_front();
    adopted = true;
  }
  if (!adopted) return;
  planned_step_ns_.reset();
  column_.reset();
  schedule_waits_ = page_->schedule_length > 0;
  entries_.clear();
  for (std::size_t i = 0; i < page_->entries.size(); ++i) entries_[page_->entries[i].place] = i;
}

const PlanEntry* SimulatedClient::entry_for(const OpPlace& place) const {
  auto found = entries_.find(place);
  if (found == entries_.end()) found = entries_.find({place.key, 0});
  return found == entries_.end() ? nullptr : &page_->entries[found->second];
}

int SimulatedClient::width_for(const OpPlace& place, const PlanDraft* page,
                               std::optional<int> column) const {
  if (page == nullptr) return options_.default_width;
  const PlanEntry* entry = entry_for(place);
  const int own = page->default_width_cap == 0
                      ? options_.default_width
                      : std::min(page->default_width_cap, options_.default_width);
  if (entry == nullptr || entry->leave) return own;
  int width = entry->width;
  if (column && !entry->schedule.empty()) {
    width = entry->schedule[static_cast<std::size_t>(*column)];
  }
  return width == 0 ? own : std::min(width, own);
}

// A program attached to a daemon records everything until the first page arrives, and what has a
// schedule where the page does not ask for more.
bool SimulatedClient::is_told(const OpPlace& place) const {
  if (!page_ || page_->record_all) return true;
  const PlanEntry* entry = entry_for(place);
  return entry != nullptr && !entry->schedule.empty();
}

double SimulatedClient::noisy(double value) {
  std::normal_distribution<double> normal(0, 1);
  std::uniform_real_distribution<double> uniform(0, 1);
  double time = value * step_factor_ * std::exp(options_.noise.per_op * normal(random_));
  if (options_.noise.heavy_share > 0 && uniform(random_) < options_.noise.heavy_share) {
    time *= options_.noise.heavy_factor;
  }
  return time;
}

bool SimulatedClient::dropped() {
  std::uniform_real_distribution<double> uniform(0, 1);
  return options_.drop > 0 && uniform(random_) < options_.drop;
}

int SimulatedClient::planned_width(std::size_t op_in_order) const {
  const SimulatedOp& op = program_.ops[static_cast<std::size_t>(program_.order[op_in_order])];
  if (!op.steerable) return options_.default_width;
  return width_for({op.key, contexts_[op_in_order]}, page_ ? &*page_ : nullptr, std::nullopt);
}

double SimulatedClient::planned_step_ns() const {
  if (!planned_step_ns_) planned_step_ns_ = plan_step_ns();
  return *planned_step_ns_;
}

double SimulatedClient::plan_step_ns() const {
  double total = 0;
  int team = 0;
  std::vector<int> widths(program_.order.size());
  for (std::size_t i = 0; i < widths.size(); ++i) widths[i] = planned_width(i);
  for (int pass = 0; pass < 2; ++pass) {
    for (std::size_t i = 0; i < widths.size(); ++i) {
      if (pass == 1) {
        const SimulatedOp& op = program_.ops[static_cast<std::size_t>(program_.order[i])];
        total += op.ns(widths[i]);
        if (widths[i] > 1 && team != widths[i]) total += options_.change_ns;
      }
      if (widths[i] > 1) team = widths[i];
    }
  }
  return total;
}

double SimulatedClient::uniform_step_ns(int width) const {
  double total = 0;
  for (int index : program_.order) {
    const SimulatedOp& op = program_.ops[static_cast<std::size_t>(index)];
    total += op.ns(op.steerable ? width : options_.default_width);
  }
  return total;
}

int SimulatedClient::runs_of(uint64_t key, int width) const {
  const auto found = runs_.find(key);
  const auto at = static_cast<std::size_t>(width);
  return found == runs_.end() || found->second.size() <= at ? 0 : found->second[at];
}

}  // namespace optile::tuner
