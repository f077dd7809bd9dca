#include "daemon/leases/idle_detector.h"

#include <algorithm>
#include <utility>

namespace optile::daemon {
namespace {

using std::chrono::milliseconds;

// Threads that look after something meanwhile use little; some kernels count in steps of ten.
constexpr milliseconds kCounted{10};
constexpr int kTenth = 10;
constexpr milliseconds kWorthLending{240};  // a wait is, from so long on

}  // namespace

bool IdleDetector::look(milliseconds now, uint64_t progress,
                        const std::function<std::optional<milliseconds>()>& busy) {
  if (!waiting_ && looked_ && now - *looked_ < kEvery - kEveryWaiting / 2) return false;
  looked_ = now;
  if (works(now, progress, busy)) {
    if (busy_then_) learn_from(now - quiet_since_);
    quiet_since_ = now;
    busy_then_.reset();
    return std::exchange(waiting_, false);
  }
  if (waiting_ || now - quiet_since_ < patience_) return false;
  waiting_ = true;
  return true;
}

// A pause is judged by what it would have been worth to lend early in it, whether that was done or
// not: else patience, once it has grown, would outlast the very pauses that could shorten it.
void IdleDetector::learn_from(milliseconds pause) {
  if (pause >= kPatience + kWorthLending) {
    patience_ = kPatience;
  } else if (waiting_) {
    patience_ = std::min(2 * patience_, kLongestPatience);
  }
}

bool IdleDetector::works(milliseconds now, uint64_t progress,
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
