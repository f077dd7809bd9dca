#include "sched/strategies/packing_strategy.h"

#include <algorithm>
#include <cstdlib>

#include "base/hash.h"

namespace optile::sched {
namespace {

// Beyond this a step has no situations that come back, and memory is better used elsewhere.
constexpr std::size_t kMostDecisions = 1U << 16;

std::size_t at(int index) {
  return static_cast<std::size_t>(index);
}

}  // namespace

PackingStrategy::PackingStrategy(const StepOutline& outline, PackingOptions options)
    : outline_(outline), options_(options), pool_(*outline.map), memory_(outline.instances.size()) {
  for (const InstanceOutline& instance : outline.instances) {
    const Menu menu = menu_of(instance);
    ReadyOp least{-1, static_cast<int>(menus_.size()), menu.candidates[0].which.width,
                  menu.candidates[0].seconds};
    for (std::size_t i = 1; i < menu.count; ++i) {
      least.least_width = std::min(least.least_width, menu.candidates[i].which.width);
      least.least_seconds = std::min(least.least_seconds, menu.candidates[i].seconds);
    }
    menus_.push_back(menu);
    least_.push_back(least);
  }
}

void PackingStrategy::begin_step() {
  pool_ = CorePool(*outline_.map);
  running_.clear();
  ready_.clear();
  ready_fingerprint_ = 0;
}

void PackingStrategy::on_ready(int node) {
  ready_.push_back(least_[at(outline_.graph->nodes[at(node)].instance)]);
  ready_.back().node = node;
  ready_fingerprint_ ^= node_fingerprint(node);
}

void PackingStrategy::on_finished(int node, double now) {
  const std::size_t known = memory_.pairs();
  const RunningOp gone = running_.finish(node, now, &memory_);
  if (gone.placement == Placement::kOwnCores) pool_.release(gone.cores);
  // What was decided may now be forbidden.
  if (memory_.pairs() != known) decisions_.clear();
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
  weighed_ += ready_.size();
  for (const ReadyOp& ready : ready_) {
    if (ready.least_width > widest || ready.least_seconds > remaining) continue;
    const Menu& menu = menus_[at(ready.instance)];
    for (std::size_t i = 0; i < menu.count; ++i) {
      const TimedCase& timed = menu.candidates[i];
      const int width = timed.which.width;
      const bool better = best.node < 0 || width < best.timed.which.width ||
                          (width == best.timed.which.width && timed.seconds > best.timed.seconds);
      if (!better || timed.seconds > remaining || !pool_.fits(timed.which)) continue;
      if (!running_.befriends(ready.instance, memory_)) break;
      best = {ready.node, timed};
      widest = width;
    }
  }
  return best;
}

PackingStrategy::Choice PackingStrategy::choose_beside(double now) {
  const std::uint64_t situation =
      base::hash_word(ready_fingerprint_, base::hash_word(running_.fingerprint(), base::kHashSeed));
  const auto known = decisions_.find(situation);
  if (known != decisions_.end()) {
    const Choice& choice = known->second;
    // Two situations with one fingerprint must not start what is not ready.
    if (choice.node < 0 ||
        (pool_.fits(choice.timed.which) && place_of(choice.node) != ready_.end())) {
      ++remembered_;
      return choice;
    }
  }
  const Choice choice = weigh_all(now);
  if (decisions_.size() < kMostDecisions) decisions_[situation] = choice;
  return choice;
}

PackingStrategy::Choice PackingStrategy::slowest_ready() const {
  Choice slowest;
  for (const ReadyOp& ready : ready_) {
    const TimedCase& plan = outline_.instances[at(ready.instance)].plan(options_.plan);
    if (slowest.node < 0 || plan.seconds > slowest.timed.seconds) slowest = {ready.node, plan};
  }
  return slowest;
}

// Strategy 4. Nothing but the holder of all cores runs, so cores and partner are its own.
std::optional<Launch> PackingStrategy::fill() {
  const bool one_holds_all = running_.ops().size() == 1 && pool_.idle() == 0;
  if (!one_holds_all || outline_.map->hardware_threads < 2) return std::nullopt;
  int shortest = -1;
  double least = 0;
  for (const ReadyOp& ready : ready_) {
    const double serial = outline_.instances[at(ready.instance)].serial_seconds;
    if (shortest >= 0 && serial >= least) continue;
    if (!running_.befriends(ready.instance, memory_)) continue;
    shortest = ready.node;
    least = serial;
  }
  if (shortest < 0) return std::nullopt;
  const TimedCase& plan = outline_.of_node(shortest).plan(options_.plan);
  // The hardware threads of all cores are free: the shape is that of an idle machine.
  CorePool siblings(*outline_.map);
  return Launch{shortest, plan.which, siblings.take(plan.which), Placement::kSiblings,
                plan.seconds};
}

std::vector<PackingStrategy::ReadyOp>::const_iterator PackingStrategy::place_of(int node) const {
  return std::find_if(ready_.begin(), ready_.end(),
                      [node](const ReadyOp& one) { return one.node == node; });
}

void PackingStrategy::start(const Launch& launch, double now, std::vector<Launch>* launches) {
  ready_.erase(place_of(launch.node));
  ready_fingerprint_ ^= node_fingerprint(launch.node);
  running_.add(launch, outline_.graph->nodes[at(launch.node)].instance, now);
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
