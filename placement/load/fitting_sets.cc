#include "placement/load/fitting_sets.h"

#include <algorithm>
#include <cmath>

#include "base/at.h"

namespace optile::placement {
namespace {

using base::at;

constexpr double kNone = -std::numeric_limits<double>::infinity();
// What is on the grid stays on it although quotients are rounded. In cells.
constexpr double kOnGrid = 1e-9;
// Loads may come out above the true ones by that and by rounding, in relation to them.
constexpr double kSlack = 1e-6;

// By how many cells, rounded down, a load is above an offset.
int cells_above(double load, double offset, double cell) {
  return static_cast<int>(std::floor((load - offset) / cell + kOnGrid));
}

}  // namespace

// The fraction of a cell by which the loads of a state are off the grid: that of the move that
// divides nothing, so that whoever stays in or out loses nothing by rounding.
double FittingSets::offset_of(const std::vector<List>& before, std::size_t target, double time,
                              double price) const {
  const auto& moves = plan_->moves();
  const auto& first = plan_->first_moves();
  const FittingPlan::Move* main = nullptr;
  double top = kNone;
  const auto added = [&](const FittingPlan::Move& move) {
    return before[at(move.from)].offset + move.cut_ms + (move.in ? time : 0);
  };
  const auto within = [&](double load) { return load <= cell_ * (cells_ + 1); };
  for (std::size_t m = first[target]; m < first[target + 1]; ++m) {
    const List& from = before[at(moves[m].from)];
    if (from.highest < from.lowest || !within(added(moves[m]))) continue;
    const double mine = from.top + (moves[m].in ? price : 0);
    if (main != nullptr &&
        (moves[m].cut_ms > main->cut_ms || (moves[m].cut_ms == main->cut_ms && mine <= top))) {
      continue;
    }
    main = &moves[m];
    top = mine;
  }
  if (main == nullptr) return 0;
  const double whole = std::floor(added(*main) / cell_);
  const double offset = std::max(0.0, added(*main) - whole * cell_);
  for (std::size_t m = first[target]; m < first[target + 1]; ++m) {
    const List& from = before[at(moves[m].from)];
    if (from.highest < from.lowest || !within(added(moves[m]))) continue;
    // Rounded down it would need an index that there is not.
    if (from.lowest + cells_above(added(moves[m]), offset, cell_) < 0) return 0;
  }
  return offset;
}

void FittingSets::fill(const std::vector<List>& before, std::size_t target, double time,
                       double price, List& list) {
  const auto& moves = plan_->moves();
  const auto& first = plan_->first_moves();
  const std::size_t size = at(cells_) + 2;
  list.value.assign(size, kNone);
  list.offset = offset_of(before, target, time, price);
  list.lowest = static_cast<int>(size);
  list.highest = -1;
  list.top = kNone;
  std::uint16_t* const choice = &choices_[first_cells_.back()];
  for (std::size_t m = first[target]; m < first[target + 1]; ++m) {
    const List& from = before[at(moves[m].from)];
    const double load = from.offset + moves[m].cut_ms + (moves[m].in ? time : 0);
    if (from.highest < from.lowest || !(load <= cell_ * (cells_ + 1))) continue;
    const int shift = cells_above(load, list.offset, cell_);
    shifts_[m] = shift;
    const int low = from.lowest;  // offset_of() has seen to it that its new index is no less than 0
    const int high = std::min(from.highest, cells_ + 1 - shift);
    const double more = moves[m].in ? price : 0;
    const auto which = static_cast<std::uint16_t>(
        std::min<std::size_t>(m - first[target], std::numeric_limits<std::uint16_t>::max()));
    for (int k = low; k <= high; ++k) {
      const double value = from.value[at(k)] + more;
      double& mine = list.value[at(k + shift)];
      if (!(value > mine)) continue;
      mine = value;
      choice[k + shift] = which;
    }
    if (low > high) continue;
    list.lowest = std::min(list.lowest, low + shift);
    list.highest = std::max(list.highest, high + shift);
  }
  for (int k = list.lowest; k <= list.highest; ++k) {
    list.top = std::max(list.top, list.value[at(k)]);
  }
}

void FittingSets::price(const std::vector<double>& time, const std::vector<double>& price,
                        double most, int cells) {
  cells_ = cells;
  cell_ = most / cells;
  const std::size_t size = at(cells) + 2;
  shifts_.resize(plan_->moves().size());
  const std::size_t cells_of_all = plan_->states() * size + size;
  // What it has goes before there is more, and not afterwards.
  if (choices_.capacity() < cells_of_all) choices_ = std::vector<std::uint16_t>();
  choices_.assign(cells_of_all, 0);
  first_cells_.assign(1, 0);
  std::vector<List> before(1);
  before[0].value.assign(size, kNone);
  before[0].value[1] = 0;
  before[0].lowest = before[0].highest = 1;
  std::vector<List> after;
  std::vector<std::size_t> begins;
  for (const FittingPlan::Step& step : plan_->steps()) {
    begins.push_back(first_cells_.back());
    after.resize(at(step.states));
    for (int state = 0; state < step.states; ++state) {
      fill(before, step.first_target + at(state), time[at(step.unit)], price[at(step.unit)],
           after[at(state)]);
      first_cells_.back() += size;
    }
    std::swap(before, after);
  }
  first_cells_ = std::move(begins);
  last_ = before[0];
  best_.assign(size, 0);
  best_at_.assign(size, -1);
  for (std::size_t k = 0; k < size; ++k) {
    if (k > 0) {
      best_[k] = best_[k - 1];
      best_at_[k] = best_at_[k - 1];
    }
    if (last_.value[k] <= best_[k] && best_at_[k] >= 0) continue;
    if (last_.value[k] == kNone) continue;
    best_[k] = std::max(best_[k], last_.value[k]);
    best_at_[k] = static_cast<int>(k);
  }
}

int FittingSets::index_of(double load) const {
  const double at = (load * (1 + kSlack) - last_.offset) / cell_ + 1;
  return static_cast<int>(std::clamp(std::floor(at), 0.0, static_cast<double>(cells_ + 1)));
}

double FittingSets::best(double load) const {
  return best_[at(index_of(load))];
}

FittingSets::Set FittingSets::set(double load) const {
  Set found;
  int k = best_at_[at(index_of(load))];
  if (k < 0) return found;
  found.load = std::max(0.0, last_.offset + (k - 1) * cell_);
  const std::size_t size = at(cells_) + 2;
  std::size_t state = 0;
  for (std::size_t i = plan_->steps().size(); i-- > 0;) {
    const FittingPlan::Step& step = plan_->steps()[i];
    const std::uint16_t which = choices_[first_cells_[i] + state * size + at(k)];
    const std::size_t m = plan_->first_moves()[step.first_target + state] + which;
    const FittingPlan::Move& move = plan_->moves()[m];
    if (move.in) found.units.push_back(step.unit);
    k -= shifts_[m];
    state = at(move.from);
  }
  return found;
}

}  // namespace optile::placement
