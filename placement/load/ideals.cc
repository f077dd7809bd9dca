#include "placement/load/ideals.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "base/hash.h"
#include "placement/id_set.h"
#include "placement/infinity.h"
#include "placement/load/contiguity.h"

namespace optile::placement {
namespace {

using Word = std::uint64_t;
using IdealId = std::uint32_t;

// All ideals, by increasing size, with the pieces that each can take in next.
class Lattice {
 public:
  struct Step {
    UnitId piece;
    IdealId next;
  };

  // False where there are more than `most`.
  bool build(const Pieces& pieces, std::size_t most, Budget& budget) {
    words_ = static_cast<std::size_t>(pieces.count + 63) / 64;
    std::vector<std::vector<UnitId>> addable(1);
    for (UnitId piece = 0; piece < pieces.count; ++piece) {
      if (pieces.before[static_cast<std::size_t>(piece)].empty()) addable[0].push_back(piece);
    }
    sets_.assign(words_, 0);
    table_.emplace(hash(0), 0);
    for (IdealId ideal = 0; ideal < count(); ++ideal) {
      if (budget.spent()) return false;
      const std::vector<UnitId> mine = std::move(addable[ideal]);
      first_.push_back(steps_.size());
      for (const UnitId piece : mine) {
        const auto [next, fresh] = with(ideal, piece);
        steps_.push_back({piece, next});
        if (!fresh) continue;
        if (count() > most) return false;
        std::vector<UnitId> later;
        for (const UnitId other : mine) {
          if (other != piece) later.push_back(other);
        }
        for (const UnitId other : pieces.after[static_cast<std::size_t>(piece)]) {
          const auto& before = pieces.before[static_cast<std::size_t>(other)];
          if (std::all_of(before.begin(), before.end(),
                          [&, at = next](UnitId one) { return holds(at, one); })) {
            later.push_back(other);
          }
        }
        addable.push_back(std::move(later));
      }
    }
    first_.push_back(steps_.size());
    table_.clear();
    return true;
  }

  std::size_t count() const { return sets_.size() / words_; }
  bool holds(IdealId ideal, UnitId piece) const {
    const auto at = static_cast<std::size_t>(piece);
    return (sets_[ideal * words_ + at / 64] >> (at % 64) & 1U) != 0;
  }
  std::span<const Step> steps(IdealId ideal) const {
    return {steps_.data() + first_[ideal], first_[ideal + 1] - first_[ideal]};
  }

 private:
  std::uint64_t hash(IdealId ideal) const {
    std::uint64_t value = base::kHashSeed;
    for (std::size_t i = 0; i < words_; ++i) {
      value = base::hash_word(sets_[ideal * words_ + i], value);
    }
    return value;
  }
  std::pair<IdealId, bool> with(IdealId ideal, UnitId piece) {
    const auto fresh = static_cast<IdealId>(count());
    for (std::size_t i = 0; i < words_; ++i) sets_.push_back(sets_[ideal * words_ + i]);
    const auto at = static_cast<std::size_t>(piece);
    sets_[fresh * words_ + at / 64] |= Word{1} << (at % 64);
    const auto [begin, end] = table_.equal_range(hash(fresh));
    for (auto found = begin; found != end; ++found) {
      if (!std::equal(&sets_[fresh * words_], &sets_[fresh * words_] + words_,
                      &sets_[found->second * words_])) {
        continue;
      }
      sets_.resize(fresh * words_);
      return {found->second, false};
    }
    table_.emplace(hash(fresh), fresh);
    return {fresh, true};
  }
  std::size_t words_ = 1;
  std::vector<Word> sets_;
  std::unordered_multimap<std::uint64_t, IdealId> table_;
  std::vector<std::size_t> first_;
  std::vector<Step> steps_;
};

// What a stage costs, grown piece by piece.
struct Stage {
  double accelerator_ms = 0, cpu_ms = 0, transfers = 0, memory = 0;
};

// Devices of one kind, of which any does for the others.
struct AlikeDevices {
  std::vector<DeviceId> ids;
  double cap = 0;  // memory

  std::size_t count() const { return ids.size(); }
  double time_ms(const Units& units, UnitId unit) const {
    return ids.empty() ? kInfinity : units.time_ms(unit, ids.front());
  }
  bool can_hold(double memory) const { return !ids.empty() && memory <= cap; }
};

class IdealProgram {
 public:
  IdealProgram(const Units& units, const Lattice& lattice, AlikeDevices accelerators,
               AlikeDevices cpus, double below)
      : units_(units),
        lattice_(lattice),
        accelerators_(std::move(accelerators)),
        cpus_(std::move(cpus)),
        below_(below),
        states_((accelerators_.count() + 1) * (cpus_.count() + 1)),
        best_(lattice.count() * states_, kInfinity),
        from_(lattice.count() * states_, {0, 0}),
        stages_(lattice.count()),
        seen_(lattice.count()),
        remaining_(lattice.count(), 0) {
    bool only_cpu = false;
    for (UnitId unit = 0; unit < units.size(); ++unit) {
      const double cpu_time = cpus_.time_ms(units, unit);
      const double time = accelerators_.time_ms(units, unit);
      if (cpu_time > 0 && cpu_time < kInfinity && time < kInfinity) {
        cpu_worth_ = std::max(cpu_worth_, time / cpu_time);
      }
      if (!(time < kInfinity)) only_cpu = true;
    }
    for (auto ideal = static_cast<IdealId>(lattice.count()); ideal-- > 0;) {
      const auto steps = lattice.steps(ideal);
      if (steps.empty() || accelerators_.ids.empty() || only_cpu) continue;
      const double time = accelerators_.time_ms(units, steps[0].piece);
      remaining_[ideal] = remaining_[steps[0].next] + time;
    }
  }

  std::uint64_t run(Budget& budget, bool& complete) {
    best_[0] = 0;
    std::uint64_t pairs = 0;
    complete = true;
    for (IdealId ideal = 0; ideal < lattice_.count(); ++ideal) {
      if (!worth_it(ideal)) continue;
      pairs += extend(ideal, budget);
      if (!budget.spent_now()) continue;
      complete = false;
      break;
    }
    return pairs;
  }

  // The best state of the whole graph; kInfinity where there is none.
  double cost() const { return best_[last() * states_ + best_state()]; }

  // The device of each piece.
  std::vector<DeviceId> assignment() const {
    std::vector<DeviceId> devices(static_cast<std::size_t>(units_.size()), 0);
    auto ideal = static_cast<IdealId>(last());
    std::size_t state = best_state();
    while (ideal != 0) {
      const From& from = from_[ideal * states_ + state];
      const std::size_t k = state / wide();
      const std::size_t c = state % wide();
      const bool on_cpu = from.state % wide() != c;
      const DeviceId device = on_cpu ? cpus_.ids[c - 1] : accelerators_.ids[k - 1];
      for (UnitId piece = 0; piece < units_.size(); ++piece) {
        if (lattice_.holds(ideal, piece) && !lattice_.holds(from.ideal, piece)) {
          devices[static_cast<std::size_t>(piece)] = device;
        }
      }
      ideal = from.ideal;
      state = from.state;
    }
    return devices;
  }

 private:
  struct From {
    IdealId ideal;
    std::uint32_t state;
  };
  std::size_t wide() const { return cpus_.count() + 1; }
  std::size_t last() const { return lattice_.count() - 1; }
  std::size_t best_state() const {
    const double* row = &best_[last() * states_];
    return static_cast<std::size_t>(std::min_element(row, row + states_) - row);
  }
  // What is left has to fit the devices that are left, below the limit.
  bool can_finish(IdealId ideal, std::size_t state) const {
    const std::size_t used_accelerators = state / wide();
    const std::size_t used_cpus = state % wide();
    const auto k =
        static_cast<double>(accelerators_.count()) - static_cast<double>(used_accelerators);
    const auto c = static_cast<double>(cpus_.count()) - static_cast<double>(used_cpus);
    return remaining_[ideal] <= below_ * (k + c * cpu_worth_) * (1 + 1e-9);
  }
  bool worth_it(IdealId ideal) {
    if (ideal == last()) return false;
    bool any = false;
    for (std::size_t state = 0; state < states_; ++state) {
      double& cost = best_[ideal * states_ + state];
      if (cost >= below_ || !can_finish(ideal, state)) cost = kInfinity;
      any = any || cost < kInfinity;
    }
    return any;
  }

  std::uint64_t extend(IdealId from, Budget& budget) {
    seen_.clear();
    queue_.assign({from});
    stages_[from] = Stage();
    seen_.insert(from);
    std::uint64_t pairs = 0;
    for (std::size_t at = 0; at < queue_.size() && !budget.spent(); ++at) {
      const IdealId ideal = queue_[at];
      for (const Lattice::Step& step : lattice_.steps(ideal)) {
        if (!seen_.insert(step.next)) continue;
        Stage stage = stages_[ideal];
        grow(stage, from, ideal, step.piece);
        const bool accelerator =
            accelerators_.can_hold(stage.memory) && stage.accelerator_ms < below_;
        const bool cpu = cpus_.can_hold(stage.memory) && stage.cpu_ms < below_;
        if (!accelerator && !cpu) continue;
        ++pairs;
        budget.count();
        stages_[step.next] = stage;
        queue_.push_back(step.next);
        if (accelerator)
          relax(from, step.next, stage.accelerator_ms + stage.transfers, wide(), false);
        if (cpu) relax(from, step.next, stage.cpu_ms, 1, true);
      }
    }
    return pairs;
  }

  // `stride`: by which a state with one more such device is further on.
  void relax(IdealId from, IdealId to, double load, std::size_t stride, bool cpu) {
    if (load >= below_) return;
    const double* old = &best_[from * states_];
    for (std::size_t state = 0; state + stride < states_; ++state) {
      if (cpu && state % wide() + 1 == wide()) continue;
      const double cost = std::max(old[state], load);
      double& now = best_[to * states_ + state + stride];
      if (cost >= now || cost >= below_) continue;
      now = cost;
      from_[to * states_ + state + stride] = {from, static_cast<std::uint32_t>(state)};
      if (to == last()) below_ = std::min(below_, cost);
    }
  }

  void grow(Stage& stage, IdealId from, IdealId ideal, UnitId piece) const {
    const auto inside = [&](UnitId one) {
      return lattice_.holds(ideal, one) && !lattice_.holds(from, one);
    };
    stage.accelerator_ms += accelerators_.time_ms(units_, piece);
    stage.cpu_ms += cpus_.time_ms(units_, piece);
    stage.memory += units_.memory(piece);
    for (const int net : units_.produced(piece)) {
      const double ms = units_.nets()[static_cast<std::size_t>(net)].ms;
      bool some_in = false;
      bool some_out = false;
      for (const UnitId reader : units_.readers(net)) {
        const bool in = inside(reader);
        some_in = some_in || in;
        some_out = some_out || !in;
      }
      stage.transfers += (some_out ? ms : 0) - (some_in ? ms : 0);
    }
    for (const int net : units_.read(piece)) {
      const Net& one = units_.nets()[static_cast<std::size_t>(net)];
      bool others_in = false;
      bool others_out = false;
      for (const UnitId reader : units_.readers(net)) {
        if (reader == piece) continue;
        const bool in = inside(reader);
        others_in = others_in || in;
        others_out = others_out || !in;
      }
      if (inside(one.producer)) {
        if (!others_out) stage.transfers -= one.ms;  // nobody is left outside
      } else if (!others_in) {
        stage.transfers += one.ms;
      }
    }
  }

  const Units& units_;
  const Lattice& lattice_;
  AlikeDevices accelerators_, cpus_;
  double below_;
  std::size_t states_;
  std::vector<double> best_;
  std::vector<From> from_;
  std::vector<Stage> stages_;
  IdSet seen_;                     // ideals
  std::vector<double> remaining_;  // accelerator time outside the ideal
  std::vector<IdealId> queue_;
  double cpu_worth_ = 0;  // accelerator milliseconds that a CPU does in one, at most
};

base::Status check_alike(const Cluster& cluster, const std::vector<DeviceId>& devices) {
  for (const DeviceId d : devices) {
    const Device& one = cluster.device(devices.front());
    const Device& other = cluster.device(d);
    if (one.speed == other.speed && one.memory_bytes == other.memory_bytes) continue;
    return base::Error{base::ErrorKind::kInvalid,
                       "ideals-dp needs devices of one kind to be alike, and " + one.name +
                           " and " + other.name + " differ"};
  }
  return {};
}

}  // namespace

base::Result<IdealsFound> best_contiguous(const Graph& graph, const LoadProblem& problem,
                                          const IdealsLimits& limits, Budget& budget) {
  AlikeDevices accelerators;
  AlikeDevices cpus;
  for (DeviceId d = 0; d < problem.cluster.size(); ++d) {
    const Device& device = problem.cluster.device(d);
    AlikeDevices& alike = device.kind == DeviceKind::kCpu ? cpus : accelerators;
    if (alike.ids.empty()) alike.cap = device.memory_bytes;
    alike.ids.push_back(d);
  }
  for (const AlikeDevices* devices : {&accelerators, &cpus}) {
    const base::Status alike = check_alike(problem.cluster, devices->ids);
    if (!alike.ok()) return alike.error();
  }
  const Pieces pieces = forward_pieces(graph, problem.units);
  const Units coarse = problem.units.contracted(pieces.of_unit, pieces.count);
  const std::size_t states = (accelerators.count() + 1) * (cpus.count() + 1);
  const std::size_t each = states * 16 + 64 + static_cast<std::size_t>(pieces.count) / 8 + 96;
  const std::size_t most = std::min(limits.ideals, limits.bytes / each);
  Lattice lattice;
  if (!lattice.build(pieces, most, budget)) {
    return base::Error{base::ErrorKind::kUnavailable,
                       "the graph has more than " + std::to_string(most) +
                           " ideals, or the time is over: it is too wide for ideals-dp"};
  }
  IdealsFound found;
  found.ideals = lattice.count();
  IdealProgram program(coarse, lattice, std::move(accelerators), std::move(cpus), limits.below);
  found.stages = program.run(budget, found.complete);
  found.cost = program.cost();
  if (found.cost < kInfinity) {
    const std::vector<DeviceId> devices = program.assignment();
    for (const UnitId piece : pieces.of_unit) {
      found.assignment.push_back(devices[static_cast<std::size_t>(piece)]);
    }
  }
  return found;
}

}  // namespace optile::placement
