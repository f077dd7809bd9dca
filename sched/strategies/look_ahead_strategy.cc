#include "sched/strategies/look_ahead_strategy.h"

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "base/at.h"
#include "perfmodel/synthetic/interference.h"

namespace optile::sched {
namespace {

using base::at;

// A wider case must be faster by this, or it only takes cores.
constexpr double kWorthWider = 0.99;
// Entries on either side of the planned one that a team may take instead.
constexpr std::size_t kNeighbours = 2;
// How much of a new measurement goes into the stretch of an instance.
constexpr double kLearning = 0.5;

}  // namespace

LookAheadStrategy::LookAheadStrategy(const StepOutline& outline,
                                     const perfmodel::SwitchingCost& switching,
                                     LookAheadOptions options)
    : outline_(outline),
      switching_(switching),
      options_(options),
      order_(options.learns_order ? outline.instance_of.size() : 0),
      pool_(*outline.map) {
  make_menus();
  make_urgency();
}

LookAheadStrategy::Menu LookAheadStrategy::menu_of(std::size_t index) const {
  const perfmodel::OpInstance& instance = outline_.graph->instances[index];
  const double fastest = instance.times.at(instance.times.best());
  Menu menu;
  const auto add = [&](const TimedCase& timed) {
    const double draw = perfmodel::memory_draw(instance.memory_share, fastest, timed.seconds);
    menu.entries.push_back({timed, draw});
  };
  if (!instance.tunable) {
    add(outline_.instances[index].best);
    return menu;
  }
  for (int width = 1; width <= outline_.map->cores; ++width) {
    const TimedCase timed = timed_width(instance.times, width, *outline_.map);
    if (timed.seconds == perfmodel::kInfinity) continue;  // not known at this width
    if (menu.entries.empty() || timed.seconds < kWorthWider * menu.entries.back().timed.seconds) {
      add(timed);
    }
  }
  const auto worth = [&](const MenuEntry& entry) {
    const double share = static_cast<double>(entry.timed.which.width) / outline_.map->cores;
    return entry.timed.seconds * (1 + options_.core_price * share);
  };
  const auto planned =
      std::min_element(menu.entries.begin(), menu.entries.end(),
                       [&](const MenuEntry& a, const MenuEntry& b) { return worth(a) < worth(b); });
  menu.planned = static_cast<std::size_t>(planned - menu.entries.begin());
  menu.first = menu.planned - std::min(menu.planned, kNeighbours);
  menu.last = std::min(menu.planned + kNeighbours, menu.entries.size() - 1);
  return menu;
}

void LookAheadStrategy::make_menus() {
  for (std::size_t i = 0; i < outline_.instances.size(); ++i) {
    menus_.push_back(menu_of(i));
    outlooks_.push_back({1.0, menus_[i].entries[menus_[i].last].timed.seconds});
  }
}

double LookAheadStrategy::planned_seconds(int node) const {
  const Menu& menu = menus_[instance_of(node)];
  return menu.entries[menu.planned].timed.seconds;
}

void LookAheadStrategy::make_urgency() {
  urgency_.assign(outline_.graph->nodes.size(), 0.0);
  if (options_.learns_order) {
    std::vector<double> seconds(urgency_.size());
    for (std::size_t i = 0; i < seconds.size(); ++i) {
      seconds[i] = planned_seconds(static_cast<int>(i));
    }
    urgency_ = order_.urgency(seconds);
    return;
  }
  const std::vector<int> order = perfmodel::topological_order(*outline_.graph);
  for (auto node = order.rbegin(); node != order.rend(); ++node) {
    double behind = 0;
    for (int i = outline_.first_user[at(*node)]; i < outline_.first_user[at(*node) + 1]; ++i) {
      behind = std::max(behind, urgency_[at(outline_.users[at(i)])]);
    }
    urgency_[at(*node)] = behind + planned_seconds(*node);
  }
}

void LookAheadStrategy::begin_step() {
  if (options_.learns_order) {
    make_urgency();
    order_.begin_step();
  }
  pool_ = CorePool(*outline_.map);
  lanes_.release_all();
  ready_.clear();
  running_.clear();
  ends_.clear();
  draw_ = 0;
}

void LookAheadStrategy::on_ready(int node) {
  if (options_.learns_order) order_.on_ready(node);
  // Of equally urgent ones the first to become ready is nearer to the end.
  const auto place = std::lower_bound(ready_.begin(), ready_.end(), node, [&](int a, int b) {
    return urgency_[at(a)] < urgency_[at(b)];
  });
  ready_.insert(place, node);
}

void LookAheadStrategy::on_finished(int node, double now) {
  if (options_.learns_order) order_.on_finished(node);
  const auto found = std::find_if(running_.begin(), running_.end(),
                                  [node](const Running& one) { return one.node == node; });
  if (found == running_.end()) return;
  pool_.release(found->cores);
  lanes_.release(found->lane);
  draw_ -= found->draw;
  double& stretch = outlooks_[instance_of(node)].stretch;
  const double measured = std::max(1.0, (now - found->start) / found->seconds);
  stretch += kLearning * (measured - stretch);
  *found = running_.back();
  running_.pop_back();
  ends_.clear();
}

// When so many cores are idle, if every running op ends as predicted.
double LookAheadStrategy::free_at(int width, double now) {
  if (ends_.empty()) {
    for (const Running& one : running_) ends_.emplace_back(one.end, one.width);
    std::sort(ends_.begin(), ends_.end());
  }
  int idle = pool_.idle();
  for (const auto& [end, cores] : ends_) {
    idle += cores;
    if (idle >= width) return std::max(end, now);
  }
  return now;
}

// Around the plan, the case that costs least with the change that it asks of a lane.
const LookAheadStrategy::MenuEntry* LookAheadStrategy::best_fitting(const Menu& menu) const {
  const MenuEntry& planned = menu.entries[menu.planned];
  if (!pool_.fits(planned.timed.which)) return nullptr;
  const double change = std::chrono::duration<double>(switching_.typical()).count();
  const MenuEntry* best = nullptr;
  double best_worth = 0;
  for (std::size_t i = menu.first; i <= menu.last; ++i) {
    const MenuEntry& entry = menu.entries[i];
    if (!pool_.fits(entry.timed.which)) continue;
    const int width = entry.timed.which.width;
    const double share = static_cast<double>(width) / outline_.map->cores;
    const double switching = width == 1 || lanes_.has_free(width) ? 0.0 : change;
    const double worth = (entry.timed.seconds + switching) * (1 + options_.core_price * share);
    if (best != nullptr && worth >= best_worth) continue;
    best = &entry;
    best_worth = worth;
  }
  return best;
}

LookAheadStrategy::Verdict LookAheadStrategy::judge(const Menu& menu, double stretch, double now) {
  const MenuEntry* fitting = best_fitting(menu);
  if (fitting != nullptr) return {fitting, now};
  const MenuEntry& planned = menu.entries[menu.planned];
  const double cores_free_at = free_at(planned.timed.which.width, now);
  const auto plan = menu.entries.begin() + static_cast<std::ptrdiff_t>(menu.planned);
  const auto too_wide = std::partition_point(menu.entries.begin(), plan, [&](const auto& entry) {
    return entry.timed.which.width <= pool_.idle();
  });
  for (auto i = static_cast<std::size_t>(too_wide - menu.entries.begin()); i-- > 0;) {
    const MenuEntry& narrower = menu.entries[i];
    if (!pool_.fits(narrower.timed.which)) continue;
    const double gained = planned.timed.seconds - narrower.timed.seconds;
    if (now + stretch * -gained <= cores_free_at) return {&narrower, now};
    break;  // still narrower ones end later
  }
  return {nullptr, cores_free_at};
}

void LookAheadStrategy::start(int node, const MenuEntry& entry, double now,
                              std::vector<Launch>* launches) {
  const double stretch = outlooks_[instance_of(node)].stretch;
  const CoreSet cores = pool_.take(entry.timed.which);
  const int lane = lanes_.take(entry.timed.which.width, switching_).lane;
  running_.push_back({node, lane, now, entry.timed.seconds, now + stretch * entry.timed.seconds,
                      entry.draw, entry.timed.which.width, cores});
  ends_.clear();
  draw_ += entry.draw;
  launches->push_back({node, entry.timed.which, cores, Placement::kOwnCores, entry.timed.seconds});
}

void LookAheadStrategy::decide(double now, std::vector<Launch>* launches) {
  double reserved_from = 0;  // cores are wanted then by an op that waits for them
  bool reserved = false;
  std::size_t scanned = 0;
  for (std::size_t i = ready_.size(); i-- > 0 && pool_.idle() > 0 && scanned < kScanned;) {
    ++scanned;
    const int node = ready_[i];
    const std::size_t instance = instance_of(node);
    const auto [stretch, least_seconds] = outlooks_[instance];
    // Nothing of it could end in time: no need to judge which case would be best.
    if (reserved && now + stretch * least_seconds > reserved_from) continue;
    const Verdict verdict = judge(menus_[instance], stretch, now);
    if (verdict.entry == nullptr) {
      if (!reserved) reserved_from = verdict.cores_free_at;
      reserved = true;
      continue;
    }
    if (!running_.empty() && draw_ + verdict.entry->draw > options_.most_draw) continue;
    if (reserved && now + stretch * verdict.entry->timed.seconds > reserved_from) continue;
    start(node, *verdict.entry, now, launches);
    ready_.erase(ready_.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

std::string LookAheadStrategy::description() const {
  char text[80];
  std::snprintf(text, sizeof text, "look-ahead, core price %.3g", options_.core_price);
  std::string all = text;
  if (options_.most_draw < 100) {
    std::snprintf(text, sizeof text, ", at most %.3g of the memory", options_.most_draw);
    all += text;
  }
  return all;
}

}  // namespace optile::sched
