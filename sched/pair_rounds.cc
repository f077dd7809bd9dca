#include "sched/pair_rounds.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace optile::sched {
namespace {

// Student's t, two-sided 99 %, by degrees of freedom from 1.
constexpr std::array<double, 15> kStudent = {63.66, 9.92, 5.84, 4.60, 4.03, 3.71, 3.50, 3.36,
                                             3.25,  3.17, 3.11, 3.05, 3.01, 2.98, 2.95};
constexpr double kNormal = 2.6;
// What a change of masks and widths costs once must not pass for harm.
constexpr double kStepsToTell = 3;
constexpr uint64_t kTicksToTell = 100;

}  // namespace

void PairArm::look(uint64_t tick, const std::array<uint64_t, 2>& steps) {
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (!first_[i]) {
      if (steps[i] == at_begin_[i]) continue;
      first_[i] = last_[i] = {tick, steps[i]};
    } else if (steps[i] > last_[i].steps) {
      last_[i] = {tick, steps[i]};
    }
  }
}

bool PairArm::complete(uint64_t tick, int steps, uint64_t shortest) const {
  if (tick - begun_ < shortest) return false;
  for (std::size_t i = 0; i < first_.size(); ++i) {
    if (!first_[i] || last_[i].tick == first_[i]->tick ||
        last_[i].steps - first_[i]->steps < static_cast<uint64_t>(steps)) {
      return false;
    }
  }
  return true;
}

PairRates PairArm::rates() const {
  PairRates rates{};
  for (std::size_t i = 0; i < rates.size(); ++i) {
    rates[i] = static_cast<double>(last_[i].steps - first_[i]->steps) /
               static_cast<double>(last_[i].tick - first_[i]->tick);
  }
  return rates;
}

std::optional<std::size_t> PairArm::hurt(uint64_t tick, const PairRates& promised,
                                         double part) const {
  if (tick - begun_ < kTicksToTell) return std::nullopt;
  for (std::size_t i = 0; i < promised.size(); ++i) {
    const double expected = promised[i] * static_cast<double>(tick - begun_);
    const uint64_t now = first_[i] ? last_[i].steps : at_begin_[i];
    const auto made = static_cast<double>(now - at_begin_[i]);
    if (expected >= kStepsToTell && made + 1 < expected * (1 - part)) return i;
  }
  return std::nullopt;
}

void PairRounds::add(const PairRates& before, const PairRates& changed) {
  std::array<double, 2> change{};
  for (std::size_t i = 0; i < change.size(); ++i) {
    change[i] = before[i] > 0 ? changed[i] / before[i] - 1 : 0;
  }
  rounds_.push_back(change);
  keep_latest(most_);
}

double PairRounds::gain_of(const std::array<double, 2>& change) const {
  const double all = worth_[0] + worth_[1];
  return all > 0 ? (worth_[0] * change[0] + worth_[1] * change[1]) / all : 0;
}

double PairRounds::latest_gain() const {
  return rounds_.empty() ? 0 : gain_of(rounds_.back());
}

void PairRounds::keep_latest(std::size_t most) {
  most_ = most;
  while (rounds_.size() > most_) rounds_.pop_front();
}

PairEstimate PairRounds::estimate() const {
  PairEstimate made;
  made.rounds = static_cast<int>(rounds_.size());
  if (rounds_.empty()) return made;
  const double count = static_cast<double>(rounds_.size());
  double sum = 0;
  double squares = 0;
  for (const auto& change : rounds_) {
    const double gain = gain_of(change);
    sum += gain;
    squares += gain * gain;
    for (std::size_t i = 0; i < change.size(); ++i) made.change[i] += change[i] / count;
  }
  made.gain = sum / count;
  double half = std::numeric_limits<double>::infinity();
  if (rounds_.size() > 1) {
    const double variance = std::max(0.0, squares - count * made.gain * made.gain) / (count - 1);
    const std::size_t freedom = rounds_.size() - 1;
    const double t = freedom <= kStudent.size() ? kStudent[freedom - 1] : kNormal;
    half = t * std::sqrt(variance / count);
  }
  made.low = made.gain - half;
  made.high = made.gain + half;
  return made;
}

}  // namespace optile::sched
