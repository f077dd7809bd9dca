// All samples of one op instance on this hardware, by case. Owned by one tuner session; one thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <vector>

#include "perfmodel/profile/configuration.h"

namespace optile::perfmodel {

using Nanoseconds = std::chrono::nanoseconds;

inline double seconds_of(Nanoseconds duration) {
  return std::chrono::duration<double>(duration).count();
}

struct MedianEstimate {
  Nanoseconds median{0};
  Nanoseconds error{0};  // as SampleSet::median_error() says
};

// Running statistics of one case, with the latest samples kept for robust estimates.
class SampleSet {
 public:
  static constexpr std::size_t kKept = 64;  // further ones replace the oldest

  void add(Nanoseconds duration);

  std::size_t count() const { return count_; }  // ever added
  Nanoseconds min() const;                      // zero when empty
  Nanoseconds mean() const;
  Nanoseconds median() const;  // of the kept ones
  // Half-width of a 95 % interval of the median, from the kept samples' spread (MAD based); a set
  // of fewer than three samples has an infinite one (Nanoseconds::max()).
  Nanoseconds median_error() const;
  const std::vector<Nanoseconds>& kept() const { return kept_; }

 private:
  std::size_t count_ = 0;
  double sum_ns_ = 0;
  Nanoseconds min_{0};
  std::vector<Nanoseconds> kept_;
  // Asked for far more often than samples come, so both are remembered until the next one.
  const MedianEstimate& estimate() const;
  mutable std::optional<MedianEstimate> estimate_;
};

// median_error() as a share of the median; 0 while either is not known.
double relative_median_error(const SampleSet& samples);

// Half-width of a 95 % interval of the mean, as a share of it, by Student's distribution and from
// the kept samples' spread; 0 while it is not known.
double relative_mean_error(const SampleSet& samples);

struct Profile {
  std::map<Configuration, SampleSet> cases;

  void record(Configuration sampled, Nanoseconds duration) { cases[sampled].add(duration); }
  const SampleSet* find(Configuration wanted) const;
  std::size_t samples() const;
};

}  // namespace optile::perfmodel
