#include "daemon/client/hang_detector.h"

#include <algorithm>
#include <utility>

namespace optile::daemon {

bool hangs(perfmodel::Nanoseconds open, perfmodel::Nanoseconds usual) {
  return open > std::max<perfmodel::Nanoseconds>(kLeastHang, kHangTimes * usual);
}

HangDetector::HangDetector(const std::vector<HangRecord>& earlier, std::function<bool()> is_stopped)
    : is_stopped_(std::move(is_stopped)) {
  for (const HangRecord& hang : earlier) known_[hang.key] = hang;
}

std::vector<OpenRegion> HangDetector::suspects(perfmodel::Nanoseconds now,
                                               const ClientReader& reader,
                                               const TickClock& clock) const {
  // One that was found stopped is looked at each time until it goes on.
  const perfmodel::Nanoseconds least = found_stopped_ ? perfmodel::Nanoseconds(0) : kSuspicious;
  std::vector<OpenRegion> open = reader.open_regions(clock);
  std::erase_if(open, [&](OpenRegion& region) {
    region.open = std::min(region.open, now - went_on_at_);
    return region.open < least || known_.contains(region.key);
  });
  return open;
}

// One that is stopped returns when it goes on; until then, and before, is no part of its time. Nor
// is a time in which we did not look: whatever kept us from it may have kept the program too.
std::vector<HangRecord> HangDetector::look(perfmodel::Nanoseconds now, bool stopped,
                                           const ClientReader& reader, const TickClock& clock) {
  const bool looked_away = now - std::exchange(looked_at_, now) > kLongestUnsampled;
  if (stopped || looked_away) {
    went_on_at_ = now;
    return {};
  }
  const std::vector<OpenRegion> open = suspects(now, reader, clock);
  // Who was not stopped at the last look at everybody may be by now.
  found_stopped_ = !open.empty() && is_stopped_ && is_stopped_();
  if (found_stopped_) went_on_at_ = now;
  if (open.empty() || found_stopped_) return {};
  std::vector<HangRecord> found;
  const std::vector<OpTotals> totals = reader.totals(clock);
  for (const OpenRegion& region : open) {
    for (std::size_t i = 0; i < totals.size(); ++i) {
      const perfmodel::OpDescription& op = reader.registry()[i];
      const auto count = static_cast<int64_t>(std::max<uint64_t>(1, totals[i].count));
      if (op.key != region.key || !hangs(region.open, totals[i].time / count)) continue;
      found.push_back({"", "", op.key, op.name, region.width, 0});
    }
  }
  return found;
}

}  // namespace optile::daemon
