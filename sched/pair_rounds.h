// Two clients measured side by side in turns: as they were, with cores divided otherwise, and
// so on. An arm is a stretch of one of the two, a round is one arm of
// each, and rounds give an estimate of what the change gains. Pure; used by the division trials.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

namespace optile::sched {

using PairRates = std::array<double, 2>;  // steps a tick, of the first and the second

// One arm. A step that was under way when it began does not count; steps are seen when somebody
// looks, so times are only as sharp as the looks are frequent.
class PairArm {
 public:
  PairArm() = default;
  PairArm(bool changed, uint64_t tick, const std::array<uint64_t, 2>& steps)
      : changed_(changed), begun_(tick), at_begin_(steps) {}

  void look(uint64_t tick, const std::array<uint64_t, 2>& steps);
  // Both have made so many whole steps since their first.
  bool complete(uint64_t tick, int steps, uint64_t shortest) const;
  PairRates rates() const;  // of a complete one
  // The first that makes fewer steps than these rates promise, by more than this part and a step;
  // told as soon as three steps and 100 ticks should be over. nullopt: none does.
  std::optional<std::size_t> hurt(uint64_t tick, const PairRates& promised, double part) const;

  bool changed() const { return changed_; }
  uint64_t begun() const { return begun_; }

 private:
  struct Seen {
    uint64_t tick = 0;
    uint64_t steps = 0;
  };
  bool changed_ = false;
  uint64_t begun_ = 0;
  std::array<uint64_t, 2> at_begin_{};
  std::array<std::optional<Seen>, 2> first_;
  std::array<Seen, 2> last_;
};

struct PairEstimate {
  int rounds = 0;
  double gain = 0;  // of the weighted progress of the two, mean over rounds
  double low = 0;   // interval of 99 %; with fewer than two rounds anything is possible
  double high = 0;
  std::array<double, 2> change{};  // of the steps a second of each, mean
};

// The latest rounds.
class PairRounds {
 public:
  // `worth`: weight × progress of each without the change.
  explicit PairRounds(std::array<double, 2> worth = {1, 1}, std::size_t most = 16)
      : worth_(worth), most_(most) {}

  void add(const PairRates& before, const PairRates& changed);
  void keep_latest(std::size_t most);
  PairEstimate estimate() const;
  double latest_gain() const;  // 0 without any

 private:
  double gain_of(const std::array<double, 2>& change) const;

  std::array<double, 2> worth_;
  std::size_t most_;
  std::deque<std::array<double, 2>> rounds_;  // change of each
};

}  // namespace optile::sched
