#include "daemon/client/client.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include "daemon/client/hang_detector.h"
#include "daemon/client/width_numerics.h"

namespace optile::daemon {
namespace {

// The loops over time in the recurrent layers that we met last up to a tenth of a second.
constexpr std::chrono::milliseconds kLeastRepeating(300);

// Two rounds of the four groups that there are at most.
constexpr uint32_t kCountedSteps = 2 * OPTILE_COUNTER_GROUPS;

constexpr int kGoodPart = 5;  // of its time in ops: a fifth

// Masks must be left alone: the user bound the threads, or the kernel refused.
constexpr uint32_t kNoMasks = OPTILE_FALLBACK_USER_BINDING | OPTILE_FALLBACK_MASK_REFUSED;

tuner::Strategy strategy_of(optile_strategy strategy) {
  switch (strategy) {
    case OPTILE_STRATEGY_1:
      return tuner::Strategy::kOne;
    case OPTILE_STRATEGY_2:
      return tuner::Strategy::kTwo;
    case OPTILE_STRATEGY_UNIFORM:
      return tuner::Strategy::kUniform;
    case OPTILE_STRATEGY_AUTO:
      break;
  }
  return tuner::Strategy::kAuto;
}

// Steps at the program's default width are controls and no trials.
Trials trials_of(const tuner::PlanDraft& draft, int default_width) {
  Trials trials;
  for (const tuner::PlanEntry& entry : draft.entries) {
    bool tried = false;
    for (const int width : entry.schedule) {
      if (width == 0 || width == default_width) continue;
      trials.widths.insert(width);
      tried = true;
    }
    trials.ops += tried ? 1 : 0;
  }
  return trials;
}

}  // namespace

Client::Client(uint64_t id, AttachRequest attach_request, ClientMemory memory,
               ConfigurationSpace cases, Dependencies dependencies)
    : id_(id),
      attach_request_(std::move(attach_request)),
      memory_(std::move(memory)),
      cases_(std::move(cases)),
      cores_at_attach_(cases_.cores),
      cores_(cases_.cores),
      dependencies_(std::move(dependencies)),
      attached_at_(dependencies_.clocks->unix_seconds()),
      reader_(memory_.client()),
      writer_(memory_.plan()),
      default_width_source_(attach_request_.default_width_source) {}

std::optional<tuner::Session::Settled> Client::drain() {
  reader_.mark();
  const std::optional<ClientHeader> header = reader_.header();
  if (!header || clock_refused_) return std::nullopt;
  if (session_ == nullptr && !start(*header)) return std::nullopt;
  follow(*header);
  feed(*header);
  look_for_hangs();
  publish();
  if (const uint64_t now = dependencies_.clocks->monotonic_ns(); step_rate_.is_due(now)) {
    step_rate_.note(now, session_->view(tuner::Detail::kFigures).steps);
  }
  return session_->take_settled();
}

// The session begins with the first sight of a header; false when its clock cannot be used.
bool Client::start(const ClientHeader& header) {
  clock_ = TickClock::make(header.clock_kind, header.ticks_per_second, header.attach_ticks,
                           *dependencies_.clocks);
  if (!clock_) {
    clock_refused_ = true;
    return false;
  }
  tuner::SessionOptions options;
  options.search = attach_request_.search == OPTILE_SEARCH_PAPER ? tuner::SearchKind::kPaper
                                                                 : tuner::SearchKind::kAuto;
  options.strategy = strategy_of(attach_request_.strategy);
  options.cases = admitted(header.fallbacks);
  options.cores = cases_.cores;
  options.seed = id_;
  options.least_repeating = kLeastRepeating;
  const bool tunes =
      attach_request_.mode == OPTILE_MODE_TUNE || attach_request_.mode == OPTILE_MODE_FREEZE;
  default_width_source_ = header.default_width_source;
  options.may_change_widths =
      tunes && !attach_request_.baseline && !dependencies_.left_alone && !is_fixed_by_user();
  options.guard = attach_request_.mode == OPTILE_MODE_TUNE;
  if (options.may_change_widths && dependencies_.find_plan) {
    stored_ =
        dependencies_.find_plan(static_cast<int>(header.runtime), bounded(header.default_width));
    if (stored_) options.stored = stored_->plan;
  }
  // The same widths in every run: without a plan to repeat, those are the program's own.
  if (attach_request_.mode == OPTILE_MODE_FREEZE && !stored_) options.may_change_widths = false;
  // An untouched run stays one, and what the user switched off is not asked for.
  const bool counts = !attach_request_.baseline && header.counter_errno != ECANCELED;
  options.counted_steps = counts ? kCountedSteps : 0;
  options.counting_waits = true;
  options.counts_in_any_case = attach_request_.counters_by_name;
  fallbacks_ = header.fallbacks;
  session_ = std::make_unique<tuner::Session>(std::move(options));
  for (const HangRecord& hang : dependencies_.hangs) hangs_[hang.key] = hang;
  return true;
}

const std::vector<perfmodel::Configuration>& Client::admitted(uint32_t fallbacks) const {
  return (fallbacks & kNoMasks) != 0 || attach_request_.as_untuned ? cases_.unbound : cases_.cases;
}

// What the header says may have changed since the last drain.
void Client::follow(const ClientHeader& header) {
  if (header.runtime != runtime_ && header.runtime != perfmodel::Runtime::kUnknown) {
    runtime_ = header.runtime;
    session_->set_runtime(runtime_);
  }
  const bool free_so_far = !is_fixed_by_user();
  default_width_source_ = header.default_width_source;
  if (free_so_far && is_fixed_by_user()) session_->leave_to_user();
  if (header.default_width != default_width_ && header.default_width > 0) {
    default_width_ = header.default_width;
    launched_width_ = bounded(default_width_);
    session_->set_default_width(launched_width_, launched_width_ < default_width_);
  }
  if (((header.fallbacks ^ fallbacks_) & kNoMasks) != 0) {
    session_->set_cases(admitted(header.fallbacks), cases_.cores);
  }
  fallbacks_ = header.fallbacks;
  region_width_ = header.region_width;
  for (perfmodel::OpDescription& op : reader_.new_ops()) {
    // A stored plan may have a width for it, which was left out while nobody knew what it is.
    if (attach_request_.as_untuned) session_->on_page_bounds_changed();
    has_ops_ = has_ops_ || !op.region;
    op.left_alone = op.left_alone || is_left_alone(op);
    tunes_regions_ = tunes_regions_ || (op.region && !op.observed_only());
    session_->add_op(std::move(op));
  }
  follow_regions();
  for (const DisabledEntry& entry : reader_.new_disabled(*clock_)) {
    session_->on_entry_disabled(entry.place, entry.under_entry, entry.at_default_width);
  }
}

// What is known of a region's tuning comes after its name, and may change.
void Client::follow_regions() {
  std::vector<perfmodel::OpDescription> retold = reader_.retold_regions();
  if (retold.empty()) return;
  for (perfmodel::OpDescription& op : retold) {
    op.left_alone = is_left_alone(op);
    session_->add_op(std::move(op));
  }
  tunes_regions_ = tunes_a_region();
}

bool Client::is_left_alone(const perfmodel::OpDescription& op) const {
  return hangs_.contains(op.key) || (attach_request_.as_untuned && !same_bits_at_every_width(op));
}

bool Client::tunes_a_region() const {
  const auto& all = session_->ops();
  return std::any_of(all.begin(), all.end(), [](const auto& one) {
    return one.second.region && !one.second.observed_only();
  });
}

void Client::feed(const ClientHeader& header) {
  const ClientReader::Context context{&*clock_, &schedule_lengths_, &header.counter_groups};
  const std::vector<ClientEvent> events = reader_.read(context);
  for (const ClientEvent& event : events) {
    if (event.op) main_issuer_.add(event.slot, event.op->duration);
  }
  if (main_issuer_.choose()) session_->on_issuer_changed();
  session_->on_progress(main_issuer_.ops_of_it(header.progress), header.steps);
  session_->on_declared_steps(static_cast<uint32_t>(header.annotations));
  for (const ClientEvent& event : events) {
    if (event.counts) counts_.add(*event.counts);
    // Several threads' ops are no sequence, and only steps that the program declares are
    // everybody's.
    const bool followed = event.slot == main_issuer_.slot();
    if (event.op && followed) session_->on_op(*event.op);
    if (event.step && (followed || header.annotations > 0)) session_->on_step(*event.step);
  }
  writer_.set_sharing(shared_cores(), main_issuer_.slot());
  for (uint32_t slot = 0; slot < OPTILE_MAX_THREADS; ++slot) {
    writer_.set_tail(slot, reader_.tail(slot));
  }
  writer_.set_heartbeat(clock_->now());
}

// One that is stopped returns when it goes on; until then, and before, is no part of its time. Nor
// is a time in which we did not look: whatever kept us from it may have kept the program too.
void Client::look_for_hangs() {
  const perfmodel::Nanoseconds now(static_cast<int64_t>(dependencies_.clocks->monotonic_ns()));
  const bool looked_away = now - std::exchange(looked_at_, now) > kLongestUnwatched;
  if (stopped_ || looked_away) {
    went_on_at_ = now;
    return;
  }
  // Until it goes on, at each look.
  const perfmodel::Nanoseconds least = found_stopped_ ? perfmodel::Nanoseconds(0) : kSuspicious;
  std::vector<OpenRegion> suspects = reader_.open_regions(*clock_);
  std::erase_if(suspects, [&](OpenRegion& region) {
    region.open = std::min(region.open, now - went_on_at_);
    return region.open < least || hangs_.contains(region.key);
  });
  // Who was not stopped at the last look at everybody may be by now.
  found_stopped_ = !suspects.empty() && dependencies_.is_stopped && dependencies_.is_stopped();
  if (found_stopped_) went_on_at_ = now;
  if (suspects.empty() || found_stopped_) return;
  const std::vector<OpTotals> totals = reader_.totals(*clock_);
  for (const OpenRegion& region : suspects) {
    for (std::size_t i = 0; i < totals.size(); ++i) {
      const perfmodel::OpDescription& op = reader_.registry()[i];
      const auto count = static_cast<int64_t>(std::max<uint64_t>(1, totals[i].count));
      if (op.key == region.key && hangs(region.open, totals[i].time / count)) {
        leave_hung(op, region.width);
      }
    }
  }
}

void Client::leave_hung(perfmodel::OpDescription op, int width) {
  HangRecord hang;
  hang.program = attach_request_.program;
  hang.key = op.key;
  hang.name = op.name;
  hang.width = width;
  hang.when = dependencies_.clocks->unix_seconds();
  hangs_[op.key] = hang;
  fresh_hangs_.push_back(std::move(hang));
  op.left_alone = true;
  session_->add_op(std::move(op));
  tunes_regions_ = tunes_a_region();
  session_->on_page_bounds_changed();
}

// From the first page on, before the session has seen the region, and also where one width is meant
// for everything. First, since a page has only so much room.
void Client::leave_hung_regions(tuner::PlanDraft& draft) const {
  if (hangs_.empty()) return;
  std::vector<tuner::PlanEntry> entries;
  for (const auto& [key, hang] : hangs_) {
    entries.push_back({{key, 0}, 0, tuner::Rule::kLeftAlone, true, {}, {}});
  }
  for (tuner::PlanEntry& entry : draft.entries) {
    if (!hangs_.contains(entry.place.key)) entries.push_back(std::move(entry));
  }
  draft.entries = std::move(entries);
  draft.may_rest = false;  // nobody looks at entries meanwhile, and a lease's cap is in force
}

// Whatever the plan says: what may compute other bits has no entry with a width, and an entry that
// is for every op has no cap.
void Client::keep_bits(tuner::PlanDraft& draft) const {
  if (!attach_request_.as_untuned) return;
  draft.default_width_cap = 0;
  const auto& known = session_->ops();
  std::erase_if(draft.entries, [&](const tuner::PlanEntry& entry) {
    const auto op = known.find(entry.place.key);
    return !entry.leave && (op == known.end() || !same_bits_at_every_width(op->second));
  });
}

void Client::publish() {
  const uint64_t number = writer_.generation() + 1;
  std::optional<tuner::PlanDraft> draft = session_->take_plan(number);
  if (!draft) return;
  leave_hung_regions(*draft);
  keep_bits(*draft);
  if (attach_request_.mode == OPTILE_MODE_FREEZE && draft->schedule_length > 0) {
    trials_withheld_ = true;
    return;
  }
  // What more cores are worth to it is told by its ops.
  if (heard_ || (keeps_widths() && cores_ < cores_at_attach_)) draft->may_rest = false;
  may_rest_ = draft->may_rest;
  plan_cap_ = draft->default_width_cap;
  PageSurroundings surroundings{cases_.compact_order, cases_.spread_order, 0,
                                clock_->ticks_per_ns()};
  surroundings.default_width_cap = page_cap();
  surroundings.same_bits = attach_request_.as_untuned;
  if (draft->default_width_cap > 0 && (surroundings.default_width_cap == 0 ||
                                       draft->default_width_cap < surroundings.default_width_cap)) {
    surroundings.default_width_cap = draft->default_width_cap;
  }
  was_bound_ = was_bound_ || draft->binding != perfmodel::Binding::kNone ||
               std::any_of(draft->schedule_binding.begin(), draft->schedule_binding.end(),
                           [](auto binding) { return binding != perfmodel::Binding::kNone; });
  entries_left_out_ = writer_.publish(number, *draft, surroundings);
  trials_in_force_ = trials_of(*draft, bounded(default_width_));
  schedule_lengths_.push_back(static_cast<uint8_t>(
      std::clamp(draft->schedule_length, 0, static_cast<int>(OPTILE_MAX_SCHEDULE))));
  // Counting is to be over after a few steps, as a schedule is.
  wanted_events_ = draft->schedule_length > 0 || draft->count ? DrainPace::Want::kProfiling
                   : draft->record_all                        ? DrainPace::Want::kListening
                                                              : DrainPace::Want::kFigures;
}

void Client::on_surroundings_changed() {
  if (session_ != nullptr) session_->on_surroundings_changed();
}

void Client::undo(uint64_t key) {
  if (session_ == nullptr) return;
  undone_ = undone_ || key == 0;
  session_->undo(key);
  writer_.set_sharing(shared_cores(), main_issuer_.slot());
  publish();
}

void Client::allow_counting() {
  session_->allow_counting();
  publish();
}

void Client::set_cases(ConfigurationSpace cases) {
  cores_ = cases.cores;
  if (attach_request_.mode == OPTILE_MODE_FREEZE || attach_request_.as_untuned) {
    narrowed_ = narrowed_ || cores_ < cores_at_attach_;
    cases_.compact_order = std::move(cases.compact_order);
    cases_.spread_order = std::move(cases.spread_order);
    if (session_ == nullptr) return;
    session_->on_page_bounds_changed();
    publish();
    return;
  }
  cases_ = std::move(cases);
  narrowed_ = narrowed_ || has_fewer_cores();
  if (session_ == nullptr) return;
  std::optional<tuner::StoredPlan> stored;
  const int width = bounded(default_width_);
  // Only another width looks for another plan; leases change often.
  if (dependencies_.find_plan && default_width_ > 0 && width != launched_width_) {
    std::optional<FoundPlan> found = dependencies_.find_plan(static_cast<int>(runtime_), width);
    if (found && found->same_arguments && found->plan.default_width == width) {
      stored = std::move(found->plan);
    }
  }
  launched_width_ = width;
  session_->set_bounds(admitted(fallbacks_), cases_.cores, width, stored);
  publish();
}

int Client::fixed_team() const {
  if (!keeps_widths()) return has_ops_ || tunes_regions_ ? 0 : region_width_;
  if (default_width_ == 0) return region_width_;
  return plan_cap_ == 0 ? default_width_ : std::min(default_width_, plan_cap_);
}

int Client::widest_team() const {
  const int fixed = fixed_team();
  if (fixed > 0 || region_width_ == 0 || tunes_regions_ || !clock_) return fixed;
  const std::vector<OpTotals> totals = reader_.totals(*clock_);
  perfmodel::Nanoseconds all{0}, regions{0};
  for (std::size_t i = 0; i < totals.size(); ++i) {
    all += totals[i].time;
    if (reader_.registry()[i].region) regions += totals[i].time;
  }
  return regions.count() > 0 && regions >= all / kGoodPart ? region_width_ : 0;
}

bool Client::is_fixed_by_user() const {
  return attach_request_.respect == OPTILE_RESPECT_EXACT && is_users_word(default_width_source_);
}

// Than it came with.
bool Client::has_fewer_cores() const {
  return attach_request_.mode == OPTILE_MODE_TUNE && cases_.cores < cores_at_attach_;
}

// Budget or lease; what the program came with bounds it no further.
int Client::default_width_cap() const {
  return has_fewer_cores() && !is_fixed_by_user() && !attach_request_.as_untuned ? cases_.cores : 0;
}

// What the program's own threads may use together, as long as anything may be changed at all.
int Client::shared_cores() const {
  const bool shared = attach_request_.mode == OPTILE_MODE_TUNE && !attach_request_.baseline &&
                      !dependencies_.left_alone && !undone_;
  return shared && !is_fixed_by_user() && !attach_request_.as_untuned ? cases_.cores : 0;
}

int Client::bounded(int default_width) const {
  const int cap = default_width_cap();
  return cap == 0 ? default_width : std::min(default_width, cap);
}

int Client::page_cap() const {
  const int cap = default_width_cap();
  return cap == 0 || cap + lent_ >= cores_at_attach_ ? 0 : cap + lent_;
}

void Client::set_lent(int cores) {
  if (cores == std::exchange(lent_, cores) || session_ == nullptr) return;
  const int width = default_width_cap() + lent_;
  std::optional<FoundPlan> found;
  if (lent_ > 0 && default_width_cap() > 0 && dependencies_.find_plan && width <= default_width_) {
    found = dependencies_.find_plan(static_cast<int>(runtime_), width);
    if (found && !(found->same_arguments && found->plan.default_width == width)) found.reset();
  }
  session_->set_lent(lent_ > 0, found ? std::optional(std::move(found->plan)) : std::nullopt);
  session_->on_page_bounds_changed();
  publish();
}

void Client::set_heard(bool heard) {
  if (heard == std::exchange(heard_, heard) || session_ == nullptr) return;
  session_->on_page_bounds_changed();
  publish();
}

tuner::SessionSummary Client::session_summary() const {
  return session_ == nullptr ? tuner::SessionSummary{} : session_->session_summary();
}

std::vector<double> Client::step_seconds_by_cores(int most) const {
  if (session_ == nullptr) return {};
  std::vector<double> seconds = session_->step_seconds_by_cores(most);
  // Laws know nothing of how many threads there are.
  const auto used = static_cast<std::size_t>(std::max(0, default_width_));
  if (used > 0 && used < seconds.size()) {
    std::fill(seconds.begin() + static_cast<std::ptrdiff_t>(used), seconds.end(),
              seconds[used - 1]);
  }
  return seconds;
}

void Client::set_process_stopped(bool stopped) {
  const uint64_t now = progress();
  stopped_ = stopped && now == std::exchange(progress_looked_at_, now);
}

DrainPace::Want Client::wanted_events() const {
  return clock_refused_ ? DrainPace::Want::kFigures : wanted_events_;
}

Conditions Client::conditions() const {
  Conditions conditions;
  conditions.program = {attach_request_.executable, attach_request_.program,
                        attach_request_.arguments};
  conditions.launch_plan = attach_request_.baseline ? "" : kept_under(attach_request_);
  conditions.runtime = static_cast<int>(runtime_);
  return conditions;
}

std::optional<RunRecord> Client::run_record() const {
  // Runs are compared to judge launch plans; one with fewer cores says nothing about them.
  if (session_ == nullptr || narrowed_) return std::nullopt;
  const tuner::SessionView seen = session_->view();
  RunRecord run;
  run.conditions = conditions();
  run.kind = attach_request_.baseline ? RunKind::kBaseline : RunKind::kTune;
  const bool tuned = seen.tuned_steps.count() > 0 && !attach_request_.baseline &&
                     attach_request_.mode != OPTILE_MODE_OBSERVE &&
                     attach_request_.mode != OPTILE_MODE_ADVISE;
  if (!attach_request_.baseline && !tuned) run.kind = RunKind::kObserve;
  const perfmodel::SampleSet& steps = tuned ? seen.tuned_steps : seen.own_steps;
  if (steps.count() == 0) return std::nullopt;
  run.steps = static_cast<int>(steps.count());
  run.step_seconds = perfmodel::seconds_of(steps.mean());
  run.spread = relative_mean_error(steps);
  run.own_steps = static_cast<int>(seen.own_steps.count());
  run.own_step_seconds = perfmodel::seconds_of(seen.own_steps.mean());
  run.untouched =
      attach_request_.baseline ||
      (!acts(attach_request_) && perfmodel::keeps_everything(attach_request_.launch_plan));
  run.disturbed = co_runner_load_.text(cores_at_attach_);
  run.step = StepSketch::of(seen);
  return run;
}

ClientView Client::view(tuner::Detail detail) const {
  ClientView view;
  view.id = id_;
  view.attach_request = attach_request_;
  view.dying = dying_;
  view.stopped = stopped_;
  view.attached_at = attached_at_;
  view.header = reader_.header();
  view.clock_refused = clock_refused_;
  view.counters = reader_.counters();
  view.generation = writer_.generation();
  view.entries_left_out = entries_left_out_;
  view.trials = trials_in_force_;
  view.left_alone = dependencies_.left_alone;
  view.trials_withheld = trials_withheld_;
  view.slow_leases = slow_leases_;
  view.latest_slow_lease = latest_slow_lease_;
  view.is_fixed_by_user = is_fixed_by_user();
  view.default_width_cap = default_width_cap();
  view.fixed_team = fixed_team();
  view.cores = cores_;
  view.shared_cores = shared_cores();
  view.wait_cap_ms = wait_cap_ms_;
  view.stored = stored_;
  view.counts = counts_;
  view.hangs = hangs_;
  view.steps_per_second = step_rate_.per_second();
  view.co_runner_load = co_runner_load_.text(cores_at_attach_);
  if (session_ != nullptr) {
    view.session = session_->view(detail);
    view.ops = session_->ops();
  }
  if (clock_) {
    const std::vector<OpTotals> totals = reader_.totals(*clock_);
    for (std::size_t i = 0; i < totals.size(); ++i) {
      if (totals[i].count != 0) view.totals[reader_.registry()[i].key] = totals[i];
    }
    if (view.header)
      view.shim_seconds = perfmodel::seconds_of(clock_->duration(view.header->shim_ticks));
  }
  return view;
}

}  // namespace optile::daemon
