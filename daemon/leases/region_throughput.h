// How fast a program gets on whose teams nothing resizes: its own regions begun a second, by the
// cores that it had. What its lease is worth is told from that, since there is no op to time at
// another width. Pure; the daemon's one thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

namespace optile::daemon {

class RegionThroughput {
 public:
  // About once a second. `regions`: begun so far; `cores`: that it may use now, lent ones included;
  // 0 where that cannot be counted. A second in which it changed, or no region began, says nothing.
  void look(std::chrono::milliseconds now, uint64_t regions, int cores);

  // Seconds of a region (not of a step, but as good for comparing) with these cores: the median of
  // the latest looks; nullopt until there are enough.
  std::optional<double> measured(int cores) const;
  // Predicted with 1 … `most` cores for teams of `threads`: seconds, from what was measured where
  // it runs now, else at the fewest cores measured; until then, times of the shortest.
  std::vector<double> predicted(int threads, int most) const;

  // How often it turned to something else: its pace became another one by half or more, with the
  // same cores, for all of the latest looks. What was measured before is forgotten then. One that
  // turns again and again does things by turns, and what is measured is all of them.
  static constexpr uint32_t kMostTurns = 4;
  uint32_t turns() const { return turns_; }

 private:
  void forget_if_turned(int cores);
  struct Look {
    std::chrono::milliseconds at{0};
    uint64_t regions = 0;
    int cores = 0;
  };
  std::optional<Look> last_;
  std::map<int, std::deque<double>> paces_;  // by cores, latest last
  uint32_t turns_ = 0;
};

}  // namespace optile::daemon
