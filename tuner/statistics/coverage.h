// Which share of its steps a program spends inside ops that are seen, and inside such as can be
// steered. First steps in which it is still being made ready (compiled, above all) are no part of
// it: they would stand for hundreds of those that follow. Pure; owned by a session.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "perfmodel/profile/profile.h"
#include "tuner/statistics/step_comparison.h"

namespace optile::tuner {

class Coverage {
 public:
  // In the order of the steps.
  void add(perfmodel::Nanoseconds step, perfmodel::Nanoseconds observed,
           perfmodel::Nanoseconds steerable) {
    const Part part{perfmodel::seconds_of(step), perfmodel::seconds_of(observed),
                    perfmodel::seconds_of(steerable)};
    all_ += part.step;
    if (first_count_ < first_.size()) {
      first_[first_count_++] = part;
    } else {
      later_.add(part);
    }
  }

  // Of the steps that count; 0 where there is none.
  double observed() const { return share(&Part::observed); }
  double steerable() const { return share(&Part::steerable); }
  // Of all steps.
  double seconds() const { return all_; }

 private:
  static constexpr std::size_t kFirst = 8;      // that may be left out
  static constexpr std::size_t kFollowers = 3;  // at least, that a step is compared with
  static constexpr double kUnlike = 2;          // times what those take

  struct Part {
    double step = 0;  // seconds
    double observed = 0;
    double steerable = 0;
    void add(const Part& other) {
      step += other.step;
      observed += other.observed;
      steerable += other.steerable;
    }
  };

  double share(double Part::*what) const {
    Part sum = later_;
    for (std::size_t i = left_out(); i < first_count_; ++i) sum.add(first_[i]);
    return sum.step > 0 ? sum.*what / sum.step : 0;
  }
  // So many of the first steps are unlike all that follow.
  std::size_t left_out() const {
    std::vector<double> followers;
    std::size_t out = 0;
    for (std::size_t i = first_count_; i-- > 0;) {
      if (followers.size() >= kFollowers && first_[i].step > kUnlike * median(followers)) {
        out = std::max(out, i + 1);
      } else {
        followers.push_back(first_[i].step);
      }
    }
    return out;
  }

  std::array<Part, kFirst> first_ = {};
  std::size_t first_count_ = 0;
  Part later_;
  double all_ = 0;
};

}  // namespace optile::tuner
