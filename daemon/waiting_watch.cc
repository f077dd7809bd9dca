#include "daemon/waiting_watch.h"

#include <algorithm>
#include <utility>

namespace optile::daemon {
namespace {

using std::chrono::milliseconds;

// Threads that look after something meanwhile use little; the kernel counts in steps of ten.
constexpr milliseconds kCounted{10};
constexpr int kTenth = 10;
constexpr int kShort = 4;  // times the patience: so short a pause was not worth it

}  // namespace

bool WaitingWatch::look(milliseconds now, uint64_t progress,
                        const std::function<std::optional<milliseconds>()>& busy) {
  if (works(now, progress, busy)) {
    quiet_since_ = now;
    busy_then_.reset();
    if (!std::exchange(waiting_, false)) return false;
    const bool too_short = now - waits_since_ < kShort * patience_;
    patience_ = too_short ? std::min(2 * patience_, kLongestPatience) : kPatience;
    return true;
  }
  if (waiting_ || now - quiet_since_ < patience_) return false;
  waiting_ = true;
  waits_since_ = now;
  return true;
}

bool WaitingWatch::works(milliseconds now, uint64_t progress,
                         const std::function<std::optional<milliseconds>()>& busy) {
  if (std::exchange(progress_, progress) != progress) return true;
  const std::optional<milliseconds> used = busy();
  if (!used) return true;
  if (!busy_then_) {
    busy_then_ = used;
    quiet_since_ = now;
    return waiting_;
  }
  return *used - *busy_then_ > kCounted + (now - quiet_since_) / kTenth;
}

}  // namespace optile::daemon
