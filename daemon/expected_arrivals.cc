#include "daemon/expected_arrivals.h"

#include <algorithm>

namespace optile::daemon {

void ExpectedArrivals::forget_late(std::chrono::milliseconds now) {
  while (!arrivals_.empty() && now - arrivals_.front().since > kPatience) arrivals_.pop_front();
}

void ExpectedArrivals::expect(const ProgramKey& program, double share,
                              std::chrono::milliseconds now) {
  forget_late(now);
  if (arrivals_.size() == kMost) arrivals_.pop_front();
  arrivals_.push_back({program, share, now});
}

void ExpectedArrivals::came(const ProgramKey& program, std::chrono::milliseconds now) {
  forget_late(now);
  const auto found = std::find_if(arrivals_.begin(), arrivals_.end(), [&](const Arrival& one) {
    return one.program.executable == program.executable;
  });
  if (found != arrivals_.end()) arrivals_.erase(found);
}

double ExpectedArrivals::share(std::chrono::milliseconds now) {
  forget_late(now);
  double sum = 0;
  for (const Arrival& one : arrivals_) sum += one.share;
  return sum;
}

}  // namespace optile::daemon
