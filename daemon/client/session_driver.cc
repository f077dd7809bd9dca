#include "daemon/client/session_driver.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include "daemon/client/width_numerics.h"

namespace optile::daemon {
namespace {

// The loops over time in the recurrent layers that we met last up to a tenth of a second.
constexpr std::chrono::milliseconds kLeastRepeating(300);

// Two rounds of the four groups that there are at most.
constexpr uint32_t kCountedSteps = 2 * OPTILE_COUNTER_GROUPS;

tuner::Strategy strategy_of(optile_strategy strategy) {
  switch (strategy) {
    case OPTILE_STRATEGY_1:
      return tuner::Strategy::kOne;
    case OPTILE_STRATEGY_2:
      return tuner::Strategy::kTwo;
    case OPTILE_STRATEGY_UNIFORM:
      return tuner::Strategy::kUniform;
    case OPTILE_STRATEGY_3:
      return tuner::Strategy::kThree;
    case OPTILE_STRATEGY_4:
      return tuner::Strategy::kFour;
    case OPTILE_STRATEGY_LOOK_AHEAD:
      return tuner::Strategy::kLookAhead;
    case OPTILE_STRATEGY_AUTO:
      break;
  }
  return tuner::Strategy::kAuto;
}

}  // namespace

SessionDriver::SessionDriver(const AttachRequest& attach_request, ClientReader& reader,
                             optile_plan_region* plans, ConfigurationSpace space,
                             Dependencies dependencies)
    : attach_request_(attach_request),
      reader_(reader),
      find_plan_(std::move(dependencies.find_plan)),
      allotment_(attach_request, std::move(space), dependencies.left_alone),
      hangs_(dependencies.hangs, std::move(dependencies.is_stopped)),
      plans_(plans) {}

void SessionDriver::start(const ClientHeader& header, const TickClock& clock, uint64_t seed) {
  clock_ = &clock;
  allotment_.set_default_width_source(header.default_width_source);
  fallbacks_ = header.fallbacks;
  const bool freezes = attach_request_.mode == OPTILE_MODE_FREEZE;
  tuner::SessionOptions options;
  options.search = attach_request_.search == OPTILE_SEARCH_PAPER ? tuner::SearchKind::kPaper
                                                                 : tuner::SearchKind::kAuto;
  options.strategy = strategy_of(attach_request_.strategy);
  options.cases = allotment_.configurations(fallbacks_);
  options.cores = allotment_.space().cores;
  options.hardware_threads = allotment_.space().hardware_threads;
  options.seed = seed;
  options.least_repeating = kLeastRepeating;
  const bool tunes = attach_request_.mode == OPTILE_MODE_TUNE || freezes;
  options.may_change_widths = tunes && !attach_request_.baseline && !allotment_.was_left_alone() &&
                              !allotment_.is_fixed_by_user();
  options.guard = attach_request_.mode == OPTILE_MODE_TUNE;
  if (options.may_change_widths && find_plan_) {
    stored_ =
        find_plan_(static_cast<int>(header.runtime), allotment_.bounded(header.default_width));
    if (stored_) options.stored = stored_->plan;
  }
  // The same widths in every run: without a plan to repeat, those are the program's own.
  if (freezes && !stored_) options.may_change_widths = false;
  // An untouched run stays one, and what the user switched off is not asked for.
  const bool counts = !attach_request_.baseline && header.counter_errno != ECANCELED;
  options.counted_steps = counts ? kCountedSteps : 0;
  options.counting_waits = true;
  options.counts_in_any_case = attach_request_.counters_by_name;
  session_ = std::make_unique<tuner::Session>(std::move(options));
}

void SessionDriver::follow(const ClientHeader& header) {
  if (header.runtime != runtime_ && header.runtime != perfmodel::Runtime::kUnknown) {
    runtime_ = header.runtime;
    session_->set_runtime(runtime_);
  }
  const bool free_so_far = !allotment_.is_fixed_by_user();
  allotment_.set_default_width_source(header.default_width_source);
  if (free_so_far && allotment_.is_fixed_by_user()) session_->leave_to_user();
  if (header.default_width != allotment_.default_width() && header.default_width > 0) {
    allotment_.set_default_width(header.default_width);
    session_width_ = allotment_.bounded(header.default_width);
    session_->set_default_width(session_width_, session_width_ < header.default_width);
  }
  if (((header.fallbacks ^ fallbacks_) & kMasksLeftAlone) != 0) {
    session_->set_cases(allotment_.configurations(header.fallbacks), allotment_.space().cores);
  }
  fallbacks_ = header.fallbacks;
  regions_.width = header.region_width;
  add_ops();
  for (const DisabledEntry& entry : reader_.new_disabled(*clock_)) {
    session_->on_entry_disabled(entry.place, entry.under_entry, entry.at_default_width);
  }
}

void SessionDriver::add_ops() {
  for (perfmodel::OpDescription& op : reader_.new_ops()) {
    // A stored plan may have a width for it, which was left out while nobody knew what it is.
    if (attach_request_.as_untuned) session_->on_page_bounds_changed();
    regions_.beside = regions_.beside || !op.region;
    op.left_alone = op.left_alone || is_left_alone(op);
    regions_.tuned = regions_.tuned || (op.region && !op.observed_only());
    session_->add_op(std::move(op));
  }
  // What is known of a region's tuning comes after its name, and may change.
  std::vector<perfmodel::OpDescription> changed = reader_.changed_regions();
  if (changed.empty()) return;
  for (perfmodel::OpDescription& op : changed) {
    op.left_alone = is_left_alone(op);
    session_->add_op(std::move(op));
  }
  regions_.tuned = tunes_a_region();
}

bool SessionDriver::is_left_alone(const perfmodel::OpDescription& op) const {
  return hangs_.known().contains(op.key) ||
         (attach_request_.as_untuned && !same_bits_at_every_width(op));
}

bool SessionDriver::tunes_a_region() const {
  const auto& all = session_->ops();
  return std::any_of(all.begin(), all.end(), [](const auto& one) {
    return one.second.region && !one.second.observed_only();
  });
}

void SessionDriver::feed(const ClientHeader& header, const std::vector<ClientEvent>& events) {
  for (const ClientEvent& event : events) {
    if (event.op) main_issuer_.add(event.slot, event.op->duration);
  }
  if (main_issuer_.choose()) session_->on_issuer_changed();
  session_->on_progress(main_issuer_.ops_of_it(header.progress), header.steps);
  session_->on_declared_steps(static_cast<uint32_t>(header.annotations));
  for (const ClientEvent& event : events) {
    // Several threads' ops are no sequence, and only steps that the program declares are
    // everybody's.
    const bool followed = event.slot == main_issuer_.slot();
    if (event.op && followed) session_->on_op(*event.op);
    if (event.step && (followed || header.annotations > 0)) session_->on_step(*event.step);
  }
  page().set_sharing(allotment_.shared_cores(), main_issuer_.slot());
  for (uint32_t slot = 0; slot < OPTILE_MAX_THREADS; ++slot) {
    page().set_tail(slot, reader_.tail(slot));
  }
  page().set_heartbeat(clock_->now());
}

std::vector<HangRecord> SessionDriver::find_hangs(perfmodel::Nanoseconds now, int64_t unix_seconds,
                                                  bool stopped) {
  std::vector<HangRecord> found = hangs_.look(now, stopped, reader_, *clock_);
  for (HangRecord& hang : found) {
    hang.program = attach_request_.program;
    hang.when = unix_seconds;
    leave_hung(hang);
  }
  return found;
}

void SessionDriver::leave_hung(const HangRecord& hang) {
  hangs_.add(hang);
  const auto& known = reader_.registry();
  perfmodel::OpDescription op = *std::find_if(known.begin(), known.end(),
                                              [&](const auto& one) { return one.key == hang.key; });
  op.left_alone = true;
  session_->add_op(std::move(op));
  regions_.tuned = tunes_a_region();
  session_->on_page_bounds_changed();
}

void SessionDriver::publish() {
  std::optional<tuner::PlanDraft> draft = session_->take_plan(plans_.page().generation() + 1);
  if (!draft) return;
  const ConfigurationSpace& space = allotment_.space();
  const bool held = allotment_.keeps_widths() && allotment_.is_narrowed();
  plans_.publish(
      std::move(*draft),
      {hangs_.known(), session_->ops(), attach_request_.as_untuned,
       attach_request_.mode == OPTILE_MODE_FREEZE, observed_ || held, allotment_.page_cap()},
      {space.compact_order, space.spread_order, 0, space.hardware_threads, clock_->ticks_per_ns()},
      allotment_.bounded(allotment_.default_width()));
}

void SessionDriver::republish() {
  session_->on_page_bounds_changed();
  publish();
}

void SessionDriver::undo(uint64_t key) {
  if (session_ == nullptr) return;
  if (key == 0) allotment_.set_undone();
  session_->undo(key);
  page().set_sharing(allotment_.shared_cores(), main_issuer_.slot());
  publish();
}

void SessionDriver::allow_counting() {
  session_->allow_counting();
  publish();
}

// That an earlier run with the same arguments found under exactly that width.
std::optional<tuner::StoredPlan> SessionDriver::plan_for(int default_width) const {
  if (!find_plan_) return std::nullopt;
  std::optional<FoundPlan> found = find_plan_(static_cast<int>(runtime_), default_width);
  if (!found || !found->same_arguments || found->plan.default_width != default_width) {
    return std::nullopt;
  }
  return std::move(found->plan);
}

void SessionDriver::set_space(ConfigurationSpace space) {
  const bool tunes = allotment_.set_space(std::move(space));
  if (session_ == nullptr) return;
  if (!tunes) {
    republish();
    return;
  }
  const int own = allotment_.default_width();
  const int width = allotment_.bounded(own);
  // Only another width looks for another plan; leases change often.
  std::optional<tuner::StoredPlan> stored;
  if (own > 0 && width != session_width_) stored = plan_for(width);
  session_width_ = width;
  session_->set_bounds(allotment_.configurations(fallbacks_), allotment_.space().cores, width,
                       stored);
  publish();
}

void SessionDriver::set_lent(int cores) {
  if (cores == allotment_.lent()) return;
  allotment_.set_lent(cores);
  if (session_ == nullptr) return;
  const int cap = allotment_.default_width_cap();
  std::optional<tuner::StoredPlan> stored;
  if (cores > 0 && cap > 0 && cap + cores <= allotment_.default_width()) {
    stored = plan_for(cap + cores);
  }
  session_->set_lent(cores > 0, std::move(stored));
  republish();
}

void SessionDriver::set_observed(bool observed) {
  if (observed == std::exchange(observed_, observed) || session_ == nullptr) return;
  republish();
}

int SessionDriver::fixed_team() const {
  if (!allotment_.keeps_widths()) return regions_.beside ? 0 : untuned_region_width();
  const int own = allotment_.default_width();
  const int cap = plans_.in_force().width_cap;
  if (own == 0) return regions_.width;
  return cap == 0 ? own : std::min(own, cap);
}

std::vector<double> SessionDriver::step_seconds_by_cores(int most) const {
  if (session_ == nullptr) return {};
  std::vector<double> seconds = session_->step_seconds_by_cores(most);
  // Laws know nothing of how many threads there are.
  const auto used = static_cast<std::size_t>(std::max(0, allotment_.default_width()));
  if (used > 0 && used < seconds.size()) {
    std::fill(seconds.begin() + static_cast<std::ptrdiff_t>(used), seconds.end(),
              seconds[used - 1]);
  }
  return seconds;
}

void SessionDriver::describe(ClientView& view, tuner::Detail detail) const {
  view.generation = plans_.page().generation();
  view.entries_left_out = plans_.in_force().entries_left_out;
  view.trials = plans_.in_force().trials;
  view.left_alone = allotment_.was_left_alone();
  view.trials_withheld = plans_.withheld_trials();
  view.is_fixed_by_user = allotment_.is_fixed_by_user();
  view.default_width_cap = allotment_.default_width_cap();
  view.fixed_team = fixed_team();
  view.cores = allotment_.cores();
  view.shared_cores = allotment_.shared_cores();
  view.wait_cap_ms = plans_.page().wait_cap();
  if (session_ == nullptr) return;
  view.stored = stored_;
  view.hangs = hangs_.known();
  view.session = session_->view(detail);
  view.ops = session_->ops();
}

}  // namespace optile::daemon
