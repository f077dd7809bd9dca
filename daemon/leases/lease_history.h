// The latest changes of leases and commands of the user about them, for people who look. Owned by
// the lease manager; the daemon's one thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <iterator>
#include <string>
#include <utility>

namespace optile::daemon {

// The oldest is forgotten.
inline constexpr std::size_t kMaxLeaseEvents = 32;
// Of these. A program that waits for data several times a second would fill them all.
inline constexpr std::ptrdiff_t kMaxLoanEvents = 8;

struct LeaseEvent {
  int64_t when = 0;  // seconds since 1970
  uint64_t client = 0;
  std::string text;   // one line: who, from, to, why
  bool loan = false;  // only what others lend changed, which comes and goes
};

class LeaseHistory {
 public:
  void note(LeaseEvent event) {
    if (event.loan) forget_a_loan();
    events_.push_front(std::move(event));
    if (events_.size() > kMaxLeaseEvents) events_.pop_back();
  }
  const std::deque<LeaseEvent>& newest_first() const { return events_; }

 private:
  void forget_a_loan() {
    const auto is_loan = [](const LeaseEvent& one) { return one.loan; };
    if (std::count_if(events_.begin(), events_.end(), is_loan) < kMaxLoanEvents) return;
    const auto oldest = std::find_if(events_.rbegin(), events_.rend(), is_loan);
    events_.erase(std::next(oldest).base());
  }

  std::deque<LeaseEvent> events_;
};

// Everything that happens to leases: what people look at later, and what is written now.
class LeaseLog {
 public:
  using Write = std::function<void(const std::string& line)>;
  // A lease moved; without it `write` hears of that too.
  using WriteMove = std::function<void(uint64_t client, const std::string& text)>;
  // Either may be empty.
  LeaseLog(std::function<int64_t()> unix_seconds, Write write, WriteMove write_move)
      : unix_seconds_(std::move(unix_seconds)),
        write_(std::move(write)),
        write_move_(std::move(write_move)) {}

  void note(uint64_t client, const std::string& text) {
    if (write_) write_("lease: " + text);
    history_.note({unix_seconds_(), client, text, false});
  }
  void note_move(uint64_t client, const std::string& text, bool loan) {
    if (write_move_) {
      write_move_(client, text);
    } else if (write_) {
      write_("lease: " + text);
    }
    history_.note({unix_seconds_(), client, text, loan});
  }
  const LeaseHistory& history() const { return history_; }

 private:
  std::function<int64_t()> unix_seconds_;
  Write write_;
  WriteMove write_move_;
  LeaseHistory history_;
};

}  // namespace optile::daemon
