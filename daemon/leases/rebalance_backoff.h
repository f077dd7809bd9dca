// When the cores are divided anew. At once where somebody comes or goes, a user says something or
// the budget changes. What is measured of programs that go on is never quite the same: it divides
// cores again at most every 2, 4, 8, … 64 seconds, from the latest such event on, however it
// swings. Pure.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

namespace optile::daemon {

class RebalanceBackoff {
 public:
  using Milliseconds = std::chrono::milliseconds;
  // Whose search is interrupted begins it again, so what was granted stays for so long, unless
  // something has happened.
  static constexpr Milliseconds kLongestSearch{60000};
  static constexpr Milliseconds kFirstDelay{2000};
  static constexpr Milliseconds kLongestDelay{64000};

  enum class Turn { kNothing, kLoans, kDivides };

  // Something has happened by which cores are divided otherwise.
  void news() { news_ = true; }
  // Who waits, or does not any more, has changed.
  void loans() { loans_ = true; }
  // What is to be decided at this moment. `now`: since whenever, never going back.
  Turn turn(Milliseconds now, bool someone_searches) {
    by_news_ = std::exchange(news_, false);
    const bool loans = std::exchange(loans_, false);
    const bool searches = moved_at_ && now - *moved_at_ < kLongestSearch && someone_searches;
    if (by_news_ || (!searches && now >= rests_until_)) return Turn::kDivides;
    return loans ? Turn::kLoans : Turn::kNothing;
  }
  // By what was decided then some lease became wider or narrower.
  void moved(Milliseconds now) {
    delay_ = by_news_ ? Milliseconds(0) : std::clamp(2 * delay_, kFirstDelay, kLongestDelay);
    rests_until_ = now + delay_;
    moved_at_ = now;
  }

 private:
  bool news_ = false;
  bool loans_ = false;
  bool by_news_ = false;  // the latest turn
  Milliseconds delay_{0};
  Milliseconds rests_until_{0};
  std::optional<Milliseconds> moved_at_;
};

}  // namespace optile::daemon
