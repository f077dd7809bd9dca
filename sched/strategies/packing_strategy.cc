#include "sched/strategies/packing_strategy.h"

#include <algorithm>
#include <cstdlib>

#include "base/at.h"
#include "base/hash.h"

namespace optile::sched {
namespace {

using base::at;

// Beyond this a step has no situations that come back, and memory is better used elsewhere.
constexpr std::size_t kMostDecisions = 1U << 16;

}  // namespace

PackingStrategy::PackingStrategy(const StepOutline& outline, PackingOptions options)
    : outline_(outline),
      options_(options),
      pool_(*outline.map),
      memory_(outline.instances.size()),
      siblings_(outline.instances.size()),
      turns_(outline.graph->nodes.size(), 0),
      decisions_(kMostDecisions) {
  for (const InstanceOutline& instance : outline.instances) {
    const Menu menu = menu_of(instance);
    Needs least{menu.candidates[0].which.width, menu.candidates[0].seconds};
    for (std::size_t i = 1; i < menu.count; ++i) {
      least.width = std::min(least.width, menu.candidates[i].which.width);
      least.seconds = std::min(least.seconds, menu.candidates[i].seconds);
    }
    menus_.push_back(menu);
    least_.push_back(least);
  }
}

void PackingStrategy::begin_step() {
  pool_ = CorePool(*outline_.map);
  running_.clear(&memory_);
  ready_.clear();
  next_turn_ = 0;
  ready_fingerprint_ = 0;
}

void PackingStrategy::on_ready(int node) {
  const ReadyOp ready{least_[at(instance_of(node))], node, next_turn_++};
  turns_[at(node)] = ready.turn;
  ready_.insert(std::lower_bound(ready_.begin(), ready_.end(), ready, before), ready);
  ready_fingerprint_ ^= node_fingerprint(node);
}

void PackingStrategy::on_finished(int node, double now) {
  const std::size_t known = memory_.pairs();
  const RunningOp gone = running_.finish(node, now, &memory_);
  if (gone.placement == Placement::kOwnCores) pool_.release(gone.cores);
  // What was decided may now be forbidden.
  if (memory_.pairs() != known) decisions_.forget_all();
}

PackingStrategy::Menu PackingStrategy::menu_of(const InstanceOutline& instance) const {
  const TimedCase& plan = instance.plan(options_.plan);
  Menu menu;
  for (std::size_t i = 0; i < instance.fastest_count; ++i) {
    const TimedCase& fast = instance.fastest[i];
    const bool near = std::abs(fast.which.width - plan.which.width) <= kWidthTolerance;
    const TimedCase& timed = near ? fast : plan;
    const bool again = std::any_of(menu.candidates.begin(), menu.candidates.begin() + menu.count,
                                   [&](const TimedCase& one) { return one.which == timed.which; });
    if (again) continue;
    menu.candidates[menu.count++] = timed;
  }
  return menu;
}

PackingStrategy::Choice PackingStrategy::weigh_all(double now) {
  const double remaining = running_.longest_remaining(now);
  int widest = pool_.idle();  // that could still be chosen
  Choice best;
  int best_turn = 0;
  for (auto place = ready_.rbegin(); place != ready_.rend() && place->least.width <= widest;
       ++place) {
    const ReadyOp& ready = *place;
    ++effort_.weighed;
    if (ready.least.seconds > remaining) continue;
    const int instance = instance_of(ready.node);
    if (memory_.beside_foe(instance)) continue;
    const Menu& menu = menus_[at(instance)];
    for (std::size_t i = 0; i < menu.count; ++i) {
      const TimedCase& timed = menu.candidates[i];
      const int width = timed.which.width;
      if (width > widest || timed.seconds > remaining) continue;
      const double shorter = best.timed.seconds - timed.seconds;
      const bool better = best.node < 0 || width < widest || shorter < 0 ||
                          (shorter == 0 && ready.turn < best_turn);
      if (!better || !pool_.fits(timed.which)) continue;
      best = {ready.node, timed};
      best_turn = ready.turn;
      widest = width;
    }
  }
  return best;
}

PackingStrategy::Choice PackingStrategy::choose_beside(double now) {
  const std::uint64_t situation =
      base::hash_word(ready_fingerprint_, base::hash_word(running_.fingerprint(), base::kHashSeed));
  const Choice* known = decisions_.find(situation);
  // Two situations with one fingerprint must not start what is not ready.
  if (known != nullptr && (known->node < 0 || (pool_.fits(known->timed.which) &&
                                               place_of(known->node) != ready_.end()))) {
    ++effort_.remembered;
    return *known;
  }
  const Choice choice = weigh_all(now);
  decisions_.remember(situation, choice);
  return choice;
}

PackingStrategy::Choice PackingStrategy::slowest_ready() const {
  Choice slowest;
  int turn = 0;
  for (const ReadyOp& ready : ready_) {
    const TimedCase& plan = outline_.of_node(ready.node).plan(options_.plan);
    const double longer = plan.seconds - slowest.timed.seconds;
    if (slowest.node >= 0 && (longer < 0 || (longer == 0 && ready.turn > turn))) continue;
    slowest = {ready.node, plan};
    turn = ready.turn;
  }
  return slowest;
}

// Strategy 4. Nothing but the holder of all cores runs, so cores and partner are its own.
std::optional<Launch> PackingStrategy::fill() {
  const bool one_holds_all = running_.ops().size() == 1 && pool_.idle() == 0;
  if (!one_holds_all || outline_.map->hardware_threads < 2) return std::nullopt;
  int shortest = -1;
  int turn = 0;
  double least = 0;
  for (const ReadyOp& ready : ready_) {
    const double serial = outline_.of_node(ready.node).serial_seconds;
    const double longer = serial - least;
    if (shortest >= 0 && (longer > 0 || (longer == 0 && ready.turn > turn))) continue;
    if (memory_.beside_foe(instance_of(ready.node))) continue;
    shortest = ready.node;
    turn = ready.turn;
    least = serial;
  }
  if (shortest < 0) return std::nullopt;
  const TimedCase& plan = outline_.of_node(shortest).plan(options_.plan);
  return Launch{shortest, plan.which, siblings_of(instance_of(shortest)), Placement::kSiblings,
                plan.seconds};
}

// The hardware threads of all cores are free then: the shape is that of an idle machine.
const CoreSet& PackingStrategy::siblings_of(int instance) {
  CoreSet& cores = siblings_[at(instance)];
  if (cores.empty()) {
    const TimedCase& plan = outline_.instances[at(instance)].plan(options_.plan);
    cores = CorePool(*outline_.map).take(plan.which);
  }
  return cores;
}

bool PackingStrategy::before(const ReadyOp& one, const ReadyOp& other) {
  if (one.least.width != other.least.width) return one.least.width > other.least.width;
  return one.turn > other.turn;
}

std::vector<PackingStrategy::ReadyOp>::const_iterator PackingStrategy::place_of(int node) const {
  const ReadyOp wanted{least_[at(instance_of(node))], node, turns_[at(node)]};
  const auto found = std::lower_bound(ready_.begin(), ready_.end(), wanted, before);
  return found != ready_.end() && found->node == node ? found : ready_.end();
}

void PackingStrategy::start(const Launch& launch, double now, std::vector<Launch>* launches) {
  ready_.erase(place_of(launch.node));
  ready_fingerprint_ ^= node_fingerprint(launch.node);
  running_.add(launch, instance_of(launch.node), now, &memory_);
  launches->push_back(launch);
}

void PackingStrategy::decide(double now, std::vector<Launch>* launches) {
  while (!ready_.empty()) {
    Choice choice;
    if (pool_.is_idle()) {  // at most an op on hardware threads runs
      choice = slowest_ready();
    } else if (pool_.idle() > 0) {
      choice = choose_beside(now);
    }
    if (choice.node < 0) break;
    start({choice.node, choice.timed.which, pool_.take(choice.timed.which), Placement::kOwnCores,
           choice.timed.seconds},
          now, launches);
  }
  if (!options_.fill_siblings || ready_.empty()) return;
  std::optional<Launch> filler = fill();
  if (filler.has_value()) start(*filler, now, launches);
}

std::string PackingStrategy::description() const {
  std::string text = options_.plan == WidthRule::kPerInstance
                         ? "co-running, each instance at its own best width"
                         : "co-running, one width for all instances of an op";
  return options_.fill_siblings ? text + ", hardware threads filled" : text;
}

}  // namespace optile::sched
