// The latest changes of leases and words of the user about them, for people who look. Owned by the
// controller; the daemon's one thread.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <utility>

namespace optile::daemon {

// The oldest is forgotten.
inline constexpr std::size_t kMaxLeaseEvents = 32;

struct LeaseEvent {
  int64_t when = 0;  // seconds since 1970
  uint64_t client = 0;
  std::string text;  // one line: who, from, to, why
};

class LeaseHistory {
 public:
  void note(LeaseEvent event) {
    events_.push_front(std::move(event));
    if (events_.size() > kMaxLeaseEvents) events_.pop_back();
  }
  const std::deque<LeaseEvent>& newest_first() const { return events_; }

 private:
  std::deque<LeaseEvent> events_;
};

}  // namespace optile::daemon
