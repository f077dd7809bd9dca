#include "tuner/session/plan_in_force.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>
#include <utility>

#include "perfmodel/profile/curve.h"
#include "tuner/session/candidate_planner.h"
#include "tuner/session/site_entries.h"

namespace optile::tuner {

using perfmodel::Binding;

namespace {

// Shares from which on a step is the stored one.
constexpr double kAlikeTime = 0.9;
constexpr double kAlikePlaces = 0.7;

// What an op loses at its planned width, as a share of its time at the default one; 0 = nothing.
double loss(double own_ns, double planned_ns) {
  return own_ns > 0 ? std::max(0.0, planned_ns / own_ns - 1) : 0;
}

// Regions that were observed when the plan was made may be tuned now, and the other way round.
bool steers_as_now(const StoredPlan& plan, const ClientEnvironment& environment) {
  bool all_left = !plan.entries.empty();
  bool may_now = false;
  for (const StoredEntry& entry : plan.entries) {
    const perfmodel::OpDescription* op = environment.find_op(entry.place.key);
    const bool region = op != nullptr && op->region;
    all_left = all_left && entry.rule == Rule::kLeftAlone;
    may_now = may_now || (region && !op->observed_only());
    // One that hung has only lost its own entry.
    const bool lost = region && op->tuning != perfmodel::OpDescription::kTuned;
    if (lost && entry.width != 0) return false;
  }
  return !(all_left && may_now);
}

// Of a framework whose smallest ops are told in one run and not in the next: what the plan knows of
// the step is nearly all of its time, or most of its places where no op was timed by itself, and
// most of the step's places.
bool is_alike(const StoredPlan& plan, const StepModel& step) {
  std::unordered_set<perfmodel::OpPlace, PlaceHash> places;
  for (const Site& site : step.sites()) places.insert(site.place);
  double all_ns = 0;
  double known_ns = 0;
  std::size_t known = 0;
  for (const StoredEntry& entry : plan.entries) {
    const bool is_there = places.contains(entry.place);
    all_ns += entry.own_ns;
    known_ns += is_there ? entry.own_ns : 0;
    known += is_there ? 1 : 0;
  }
  const auto share = [&](std::size_t of) {
    return static_cast<double>(known) / static_cast<double>(std::max<std::size_t>(1, of));
  };
  const bool has_plan =
      all_ns > 0 ? known_ns >= kAlikeTime * all_ns : share(plan.entries.size()) >= kAlikePlaces;
  return has_plan && share(places.size()) >= kAlikePlaces;
}

}  // namespace

bool PlanInForce::replay_fits(const StepModel& step) const {
  if (!replay_) return false;
  const int width = environment_.default_width();
  const bool same = step.fingerprint() == replay_->step_fingerprint &&
                    step.marker().place == replay_->marker.place;
  const bool alike = same || (environment_.has_unordered_op() && is_alike(*replay_, step));
  if (replay_->flow.admits()) {
    const std::vector<OpFlow> flows = admitted_flows(environment_);
    if (std::find(flows.begin(), flows.end(), replay_->flow) == flows.end()) return false;
  }
  return alike && steers_as_now(*replay_, environment_) &&
         (width == 0 || width == replay_->default_width || replay_is_clipped());
}

bool PlanInForce::verify_replay(const StepModel& step) {
  if (!replay_fits(step)) return false;
  replay_verified_ = true;
  return true;
}

std::optional<bool> PlanInForce::replay_instead(const std::optional<StoredPlan>& stored,
                                                const StepModel& step) {
  std::optional<StoredPlan> before = std::exchange(replay_, stored);
  const bool exact = replay_fits(step) && replay_->default_width == environment_.default_width();
  if (!exact) replay_ = std::move(before);
  if (!verify_replay(step)) return std::nullopt;
  return exact;
}

void PlanInForce::drop_replay() {
  replay_.reset();
  replay_verified_ = false;
}

bool PlanInForce::replay_is_clipped() const {
  return replay_ && environment_.bounded() && environment_.default_width() > 0 &&
         environment_.default_width() < replay_->default_width;
}

bool PlanInForce::leave_entry(const perfmodel::OpPlace& place, Rule rule, const StepModel* step) {
  bool left = false;
  const auto is_meant = [&](const perfmodel::OpPlace& one) {
    return one.key == place.key && (place.context == 0 || one.context == place.context);
  };
  if (replay_) {
    for (StoredEntry& entry : replay_->entries) {
      if (!is_meant(entry.place) || entry.width == 0) continue;
      entry.width = 0;
      entry.rule = rule;
      left = true;
    }
  }
  if (step == nullptr) return left;
  // Behind a replayed plan the candidate may still be one of a step before.
  const std::size_t known = std::min(chosen_.plan.widths.size(), step->sites().size());
  for (std::size_t i = 0; i < known; ++i) {
    int& width = chosen_.plan.widths[i];
    if (!is_meant(step->sites()[i].place) || width == environment_.default_width()) continue;
    width = environment_.default_width();
    chosen_.plan.rules[i] = rule;
    left = true;
  }
  return left;
}

int PlanInForce::width_of(const StoredEntry& entry) const {
  const int widest = environment_.default_width();
  return widest > 0 && entry.width >= widest ? 0 : entry.width;
}

int PlanInForce::common_width() const {
  if (!replay_) return tuner::common_width(chosen_, environment_.default_width());
  return replay_verified_ ? common_width_of_replay() : 0;
}

int PlanInForce::common_width_of_replay() const {
  if (replay_->binding != Binding::kNone || replay_->entries.empty() || replay_->flow.admits()) {
    return 0;
  }
  const int width = replay_->entries.front().width;
  const bool same = std::all_of(replay_->entries.begin(), replay_->entries.end(),
                                [&](const StoredEntry& entry) { return entry.width == width; });
  return same && fits(width, environment_.default_width()) ? width : 0;
}

bool PlanInForce::keeps_default_widths() const {
  if (!replay_) return !changes_something(chosen_, environment_.default_width());
  return replay_->binding == Binding::kNone && !replay_->flow.admits() &&
         std::all_of(replay_->entries.begin(), replay_->entries.end(),
                     [this](const StoredEntry& entry) { return width_of(entry) == 0; });
}

bool PlanInForce::has_wide_ops() const {
  if (binding() != Binding::kNone) return false;
  if (replay_) {
    return std::any_of(replay_->entries.begin(), replay_->entries.end(),
                       [this](const StoredEntry& entry) { return width_of(entry) == 0; });
  }
  if (chosen_.plan.widths.empty()) return true;
  return std::any_of(chosen_.plan.widths.begin(), chosen_.plan.widths.end(),
                     [this](int width) { return width >= environment_.default_width(); });
}

void PlanInForce::add_to(PlanDraft& draft, const StepModel* step) const {
  if (!replay_) {
    if (step == nullptr) return;
    add_site_entries(*step, draft, [&](std::size_t i, PlanEntry& entry) {
      if (i < chosen_.plan.widths.size()) fill(step->sites()[i], i, entry);
    });
    draft.flow = chosen_.flow;
    if (draft.flow.admits()) add_menus(environment_, *step, draft);
    return;
  }
  draft.flow = flow_of_replay();
  for (const StoredEntry& entry : replay_->entries) {
    if (entry.rule == Rule::kLeftAlone || environment_.observes_only(entry.place.key)) {
      draft.entries.push_back({entry.place, 0, Rule::kLeftAlone, true, {}, {}});
    } else if (fits(entry.width, environment_.default_width())) {
      draft.entries.push_back({entry.place,
                               entry.width,
                               Rule::kReplayed,
                               false,
                               {},
                               perfmodel::Nanoseconds(std::llround(entry.own_ns)),
                               loss(entry.own_ns, entry.planned_ns)});
    }
  }
  if (!draft.flow.admits()) return;
  if (step == nullptr) {
    draft.flow = {};
  } else {
    add_menus(environment_, *step, replay_->times, draft);
  }
}

OpFlow PlanInForce::flow_of_replay() const {
  if (!environment_.has_unordered_op()) return {};
  if (replay_->flow.admits()) return replay_verified_ ? replay_->flow : OpFlow{};
  if (const int width = common_width_of_replay()) return {OpFlow::Kind::kFree, width};
  return keeps_default_widths() ? OpFlow{} : OpFlow{OpFlow::Kind::kSerial};
}

void PlanInForce::fill(const Site& site, std::size_t index, PlanEntry& entry) const {
  const int width = chosen_.plan.widths[index];
  if (!fits(width, environment_.default_width())) return;
  entry.width = width;
  entry.rule = chosen_.plan.rules[index];
  const auto* own = site.samples.profile.find(environment_.own_case());
  if (own == nullptr) return;
  entry.baseline = own->median();
  const auto planned = perfmodel::Curve(site.samples.profile).at({width, chosen_.binding});
  if (planned) {
    entry.accepted_loss = loss(static_cast<double>(entry.baseline.count()),
                               static_cast<double>(planned->time.count()));
  }
}

}  // namespace optile::tuner
