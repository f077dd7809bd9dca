// Whose turn it is to count. A client that counts opens counters on each of its threads and reports
// every op meanwhile; a thousand that come at once would all do so within a second or two, and the
// daemon would not get to greet the others. So few begin at once and then one every now and then,
// in the order in which they asked, each once. The clock comes in.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <set>

namespace optile::daemon {

class CountingTurns {
 public:
  using Time = std::chrono::nanoseconds;  // of a clock that never goes back
  static constexpr int kAtOnce = 8;       // after as long a pause as gives them all their turns
  static constexpr Time kEvery = std::chrono::milliseconds(125);

  // As often as it likes.
  void ask(uint64_t client) {
    if (asked_.insert(client).second) waiting_.push_back(client);
  }
  // It left, or does not want to any more.
  void forget(uint64_t client) {
    if (asked_.erase(client) != 0) std::erase(waiting_, client);
  }
  // Who begins now; nullopt: nobody waits, or it is too early. To be called until it says that.
  std::optional<uint64_t> next(Time now) {
    if (waiting_.empty() || now + (kAtOnce - 1) * kEvery < due_) return std::nullopt;
    due_ = std::max(due_, now) + kEvery;
    const uint64_t client = waiting_.front();
    waiting_.pop_front();
    asked_.erase(client);
    return client;
  }

 private:
  std::deque<uint64_t> waiting_;
  std::set<uint64_t> asked_;  // the same ones
  Time due_{0};               // of the next one, were they all an equal time apart
};

}  // namespace optile::daemon
