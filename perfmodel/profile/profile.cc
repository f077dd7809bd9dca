#include "perfmodel/profile/profile.h"

#include <algorithm>
#include <cmath>

namespace optile::perfmodel {
namespace {

// Of at least one; their order changes.
double middle(std::vector<double>& values) {
  const std::size_t half = values.size() / 2;
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(half);
  std::nth_element(values.begin(), at, values.end());
  if (values.size() % 2 == 1) return *at;
  return (*at + *std::max_element(values.begin(), at)) / 2;
}

std::vector<double> as_numbers(const std::vector<Nanoseconds>& durations) {
  std::vector<double> numbers;
  numbers.reserve(durations.size());
  for (Nanoseconds duration : durations) numbers.push_back(static_cast<double>(duration.count()));
  return numbers;
}

Nanoseconds rounded(double ns) {
  return Nanoseconds(std::llround(ns));
}

}  // namespace

void SampleSet::add(Nanoseconds duration) {
  min_ = count_ == 0 ? duration : std::min(min_, duration);
  sum_ns_ += static_cast<double>(duration.count());
  if (kept_.size() < kKept) {
    kept_.push_back(duration);
  } else {
    kept_[count_ % kKept] = duration;
  }
  ++count_;
  estimate_.reset();
}

Nanoseconds SampleSet::min() const {
  return min_;
}

Nanoseconds SampleSet::mean() const {
  return count_ == 0 ? Nanoseconds(0) : rounded(sum_ns_ / static_cast<double>(count_));
}

const MedianEstimate& SampleSet::estimate() const {
  if (estimate_) return *estimate_;
  MedianEstimate& fresh = estimate_.emplace();
  fresh.error = Nanoseconds::max();
  if (kept_.empty()) return fresh;
  std::vector<double> numbers = as_numbers(kept_);
  const double center = middle(numbers);
  fresh.median = rounded(center);
  if (kept_.size() < 3) return fresh;
  for (double& number : numbers) number = std::abs(number - center);
  // 1.4826 turns a median absolute deviation into a standard deviation under normal noise; the
  // median's own error is 1.2533 times that of the mean.
  const double deviation = 1.4826 * middle(numbers);
  fresh.error = rounded(1.96 * 1.2533 * deviation / std::sqrt(static_cast<double>(kept_.size())));
  return fresh;
}

Nanoseconds SampleSet::median() const {
  return estimate().median;
}

Nanoseconds SampleSet::median_error() const {
  return estimate().error;
}

double relative_median_error(const SampleSet& samples) {
  const double median = seconds_of(samples.median());
  if (median <= 0 || samples.median_error() == Nanoseconds::max()) return 0;
  return seconds_of(samples.median_error()) / median;
}

double relative_mean_error(const SampleSet& samples) {
  const std::vector<Nanoseconds>& kept = samples.kept();
  const double mean = seconds_of(samples.mean());
  if (kept.size() < 3 || mean <= 0) return 0;
  const auto count = static_cast<double>(kept.size());
  double sum = 0, squares = 0;
  for (const Nanoseconds one : kept) sum += seconds_of(one);
  for (const Nanoseconds one : kept) {
    const double off = seconds_of(one) - sum / count;
    squares += off * off;
  }
  const double freedom = count - 1;
  // Its 97.5 % quantile, within 3 % for two degrees of freedom and more.
  const double quantile = 1.96 + 2.4 / freedom + 4.6 / (freedom * freedom);
  return quantile * std::sqrt(squares / freedom / count) / mean;
}

const SampleSet* Profile::find(Configuration wanted) const {
  const auto found = cases.find(wanted);
  return found == cases.end() ? nullptr : &found->second;
}

std::size_t Profile::samples() const {
  std::size_t total = 0;
  for (const auto& [at, set] : cases) total += set.count();
  return total;
}

}  // namespace optile::perfmodel
