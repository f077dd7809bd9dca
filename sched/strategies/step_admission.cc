#include "sched/strategies/step_admission.h"

#include <algorithm>
#include <utility>

#include "base/at.h"
#include "sched/strategies/look_ahead_strategy.h"
#include "sched/strategies/packing_strategy.h"

namespace optile::sched {
namespace {

using base::at;

// With the few widths of a menu, simulated steps of ResNet-50, DCGAN and the LSTM come within 0.2 %
// of a price of their own.
constexpr double kCorePrice = 0.25;

// Cores that are alike, each a tile: widths are all that is set.
perfmodel::Machine flat_machine(int cores, int hardware_threads) {
  perfmodel::Machine machine;
  machine.name = "cores of an executor";
  for (int i = 0; i < cores; ++i) {
    perfmodel::Core core;
    core.tile = i;
    for (int rank = 0; rank < hardware_threads; ++rank) {
      core.units.push_back(static_cast<int>(machine.units.size()));
      machine.units.push_back({static_cast<int>(machine.units.size()), i, rank, true});
    }
    machine.cores.push_back(std::move(core));
    machine.tiles.push_back({{i}, 0, 0});
  }
  return machine;
}

bool is_sound(const AdmissionProblem& problem) {
  constexpr int kMostThreads = 8;  // of a core
  if (problem.cores < 1 || problem.cores > kMaxCores || problem.places.empty()) return false;
  if (problem.hardware_threads < 1 || problem.hardware_threads > kMostThreads) return false;
  std::size_t nodes = 0;
  for (const AdmittedPlace& place : problem.places) {
    if (place.per_step < 1 || place.widths.empty()) return false;
    nodes += at(place.per_step);
    if (nodes > StepAdmission::kMostNodes) return false;
    for (const WidthSeconds& one : place.widths) {
      const bool is_time = one.seconds > 0 && one.seconds <= perfmodel::kMaxOpSeconds;
      if (one.width < 1 || one.width > problem.cores || !is_time) return false;
    }
  }
  return true;
}

perfmodel::OpInstance instance_of(const AdmittedPlace& place) {
  perfmodel::OpInstance instance;
  instance.op = std::to_string(place.op);
  for (const WidthSeconds& one : place.widths) {
    instance.times.set({one.width, perfmodel::Binding::kSpread}, one.seconds);
  }
  return instance;
}

// Of a place that is not known at width 1 the widest is no worse a guess than none.
void complete(InstanceOutline* outline) {
  if (outline->serial_seconds == perfmodel::kInfinity) {
    outline->serial_seconds = outline->best.seconds;
  }
  if (outline->per_op.seconds == perfmodel::kInfinity) outline->per_op = outline->best;
}

}  // namespace

std::unique_ptr<StepAdmission> StepAdmission::make(const AdmissionProblem& problem) {
  if (!is_sound(problem)) return nullptr;
  base::Result<CoreMap> map = make_core_map(flat_machine(problem.cores, problem.hardware_threads));
  if (!map.ok()) return nullptr;
  std::unique_ptr<StepAdmission> made(new StepAdmission);
  made->map_ = std::move(map.value());
  made->first_node_.push_back(0);
  for (std::size_t i = 0; i < problem.places.size(); ++i) {
    const AdmittedPlace& place = problem.places[i];
    made->graph_.instances.push_back(instance_of(place));
    for (int k = 0; k < place.per_step; ++k) {
      made->graph_.nodes.push_back({static_cast<int>(i), {}});
    }
    made->first_node_.push_back(static_cast<int>(made->graph_.nodes.size()));
  }
  made->ready_.assign(problem.places.size(), 0);
  made->outline_ = make_step_outline(made->graph_, made->map_);
  for (InstanceOutline& outline : made->outline_.instances) complete(&outline);
  if (problem.rule == AdmissionRule::kLookAhead) {
    LookAheadOptions options;
    options.core_price = kCorePrice;
    options.learns_order = true;
    made->strategy_ =
        std::make_unique<LookAheadStrategy>(made->outline_, made->switching_, options);
  } else {
    made->strategy_ = std::make_unique<PackingStrategy>(
        made->outline_, PackingOptions{problem.plan, problem.rule == AdmissionRule::kFill});
  }
  made->begin_step();
  return made;
}

void StepAdmission::begin_step() {
  std::fill(ready_.begin(), ready_.end(), 0);
  strategy_->begin_step();
}

std::optional<int> StepAdmission::on_ready(std::size_t place) {
  if (place >= ready_.size()) return std::nullopt;
  const int node = first_node_[place] + ready_[place];
  if (node >= first_node_[place + 1]) return std::nullopt;
  ++ready_[place];
  strategy_->on_ready(node);
  return node;
}

void StepAdmission::on_finished(int node, double now) {
  strategy_->on_finished(node, now);
}

void StepAdmission::decide(double now, std::vector<Launch>* launches) {
  strategy_->decide(now, launches);
}

}  // namespace optile::sched
