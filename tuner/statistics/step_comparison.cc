#include "tuner/statistics/step_comparison.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/at.h"
#include "tuner/plan/plan.h"

namespace optile::tuner {
namespace {

using base::at;

// Looked at up to seven times, so the bar is above the usual two deviations. A clear gain that all
// blocks agree on is taken early.
constexpr double kSettledDifference = 2.3;
constexpr double kClearGain = 0.03;
constexpr std::size_t kFewestBlocks = 5;
// A candidate that is so much slower in each of the first blocks is not looked at any longer.
constexpr double kMuchSlower = 1.25;
constexpr std::size_t kFewestMuchSlower = 3;

}  // namespace

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

double signed_rank_z(std::vector<double> values) {
  std::erase(values, 0.0);
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end(),
            [](double a, double b) { return std::abs(a) < std::abs(b); });
  const auto n = static_cast<double>(values.size());
  double above = 0;
  for (std::size_t i = 0; i < values.size();) {
    std::size_t end = i;
    while (end < values.size() && std::abs(values[end]) == std::abs(values[i])) ++end;
    const double rank = static_cast<double>(i + 1 + end) / 2;  // ties share the middle rank
    for (; i < end; ++i) above += values[i] > 0 ? rank : 0;
  }
  return (above - n * (n + 1) / 4) / std::sqrt(n * (n + 1) * (2 * n + 1) / 24);
}

StepComparison::StepComparison(ComparisonOptions options)
    : options_(std::move(options)), random_(options_.seed) {
  if (options_.candidates < 2) decided_ = true;
}

std::vector<int> StepComparison::next_page(int most_blocks) {
  page_.clear();
  times_.clear();
  std::vector<int> order(at(options_.candidates));
  std::iota(order.begin(), order.end(), 0);
  const int room = std::min(kPageSteps - 1, options_.most_steps - steps_);
  for (int blocks = std::min(most_blocks, room / options_.candidates); blocks > 0; --blocks) {
    std::shuffle(order.begin(), order.end(), random_);
    if (page_.empty()) page_.push_back(order.front());
    page_.insert(page_.end(), order.begin(), order.end());
    steps_ += options_.candidates;
  }
  return page_;
}

void StepComparison::record(int column, perfmodel::Nanoseconds duration) {
  if (column < 1 || column >= static_cast<int>(page_.size()) || duration.count() <= 0) return;
  const std::size_t candidate = at(page_[at(column)]);
  const bool saves = candidate < options_.saves.size();
  times_[column] = saves ? duration - std::min(options_.saves[candidate], duration / 2) : duration;
}

void StepComparison::close_page() {
  const int width = options_.candidates;
  for (int begin = 1; begin + width <= static_cast<int>(page_.size()); begin += width) {
    Block block(at(width), 0);
    for (int column = begin; column < begin + width; ++column) {
      const auto time = times_.find(column);
      if (time == times_.end()) break;
      block[at(page_[at(column)])] = static_cast<double>(time->second.count()) * 1e-9;
    }
    // A block with a hole in it compares nothing.
    if (std::find(block.begin(), block.end(), 0.0) == block.end()) {
      blocks_.push_back(std::move(block));
    }
  }
  page_.clear();
  times_.clear();
  decide();
}

std::vector<double> StepComparison::log_ratios(int from, int to) const {
  std::vector<double> ratios;
  ratios.reserve(blocks_.size());
  for (const Block& block : blocks_) ratios.push_back(std::log(block[at(from)] / block[at(to)]));
  return ratios;
}

double StepComparison::gain(int from, int to) const {
  return std::exp(median(log_ratios(from, to))) - 1;
}

bool StepComparison::settled_faster(int from, int to) const {
  const std::vector<double> ratios = log_ratios(from, to);
  const double faster = gain(from, to);
  if (faster <= 0 || ratios.size() < kFewestBlocks) return false;
  const bool all_agree =
      std::all_of(ratios.begin(), ratios.end(), [](double ratio) { return ratio > 0; });
  return signed_rank_z(ratios) >= kSettledDifference || (all_agree && faster >= kClearGain);
}

bool StepComparison::hopeless(int from, int to) const {
  if (settled_faster(to, from)) return true;
  const std::vector<double> ratios = log_ratios(from, to);
  const bool far_slower = std::all_of(ratios.begin(), ratios.end(),
                                      [](double ratio) { return ratio < -std::log(kMuchSlower); });
  if (far_slower && ratios.size() >= kFewestMuchSlower) return true;
  return blocks_.size() >= 10 && gain(from, to) < options_.least_gain;
}

void StepComparison::decide() {
  const bool last_look = steps_ + options_.candidates > options_.most_steps;
  if (options_.keep_last) {
    const int last = options_.candidates - 1;
    const bool worse = settled_faster(last, 0);
    winner_ = worse ? 0 : last;
    decided_ = last_look || worse || settled_faster(0, last);
    return;
  }
  winner_ = 0;
  bool open = false;
  for (int next = 1; next < options_.candidates; ++next) {
    if (settled_faster(winner_, next)) {
      winner_ = next;
    } else {
      open = open || !hopeless(winner_, next);
    }
  }
  decided_ = last_look || !open;
}

}  // namespace optile::tuner
