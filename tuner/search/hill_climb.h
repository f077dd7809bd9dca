// The hill climb (III-C of the concurrency control paper), as it is: width 1, then multiples of the
// interval x, the last one clamped to C; at each width spread while it fits and compact where it is
// admitted; per binding the climb stops as soon as the time rises (best = the width before) or the
// end is reached. One counted execution per width decides, so noise can stop it early; that is what
// the other search is for.
#pragma once

#include <map>
#include <vector>

#include "tuner/plan/op_samples.h"
#include "tuner/search/search.h"

namespace optile::tuner {

// x: `interval`, or 1 up to 8 cores and 4 above when that is 0.
int hill_climb_interval(int interval, int cores);

// The cases of `admitted` that the climb visits, narrow first, spread before compact.
std::vector<perfmodel::Configuration> hill_climb_grid(
    const std::vector<perfmodel::Configuration>& admitted, int cores, int interval);

class HillClimb final : public Search {
 public:
  HillClimb(const OpSamples& samples, const std::vector<perfmodel::Configuration>& grid,
            perfmodel::Configuration own);

  void review() override;
  std::vector<Wish> wishes() const override;
  bool tolerates(perfmodel::Configuration at, double slack_ns) const override;
  perfmodel::Configuration best() const override;
  Rule rule() const override;

 private:
  // One binding's climb.
  struct Climb {
    std::vector<perfmodel::Configuration> grid;
    std::size_t next = 0;  // index of the case to look at
    bool stopped = false;
    perfmodel::Configuration best;
    double best_ns = 0;  // 0 = nothing sampled yet
  };

  const OpSamples& samples_;
  perfmodel::Configuration own_;
  std::map<perfmodel::Binding, Climb> climbs_;
};

}  // namespace optile::tuner
