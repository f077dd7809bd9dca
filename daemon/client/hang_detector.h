// A region at another width than the program's own that does not return: the program hangs, and the
// width is the suspect. Nothing can be done for it; what can be is never to do that again. It finds
// hangs, never wrong results. The clock is passed in; the daemon's one thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "daemon/client/client_reader.h"
#include "daemon/store/store_records.h"
#include "perfmodel/profile/profile.h"

namespace optile::daemon {

// Open for longer than this, and than kHangTimes its usual time, is a hang.
inline constexpr std::chrono::seconds kLeastHang{3};
inline constexpr int kHangTimes = 200;

// Open for longer than this, a region is looked at more closely.
inline constexpr std::chrono::seconds kSuspicious{1};
// Nobody knows what a program did in a longer time between two looks; they are usually a second
// apart at most.
inline constexpr std::chrono::seconds kLongestUnsampled{2};

// `usual`: the mean of all its executions so far; 0 = not known.
bool hangs(perfmodel::Nanoseconds open, perfmodel::Nanoseconds usual);

class HangDetector {
 public:
  // `earlier`: of this program, in earlier runs. `is_stopped`: its process, at this moment; may be
  // empty.
  HangDetector(const std::vector<HangRecord>& earlier, std::function<bool()> is_stopped);

  // A look at the regions that are open `now`. `stopped`: the process was at the last look at
  // everybody. Returns those that are found to hang, each once, without program and time.
  std::vector<HangRecord> look(perfmodel::Nanoseconds now, bool stopped, const ClientReader& reader,
                               const TickClock& clock);
  // Keeps one for known(), from here on.
  void add(HangRecord hang) { known_[hang.key] = std::move(hang); }
  const std::map<uint64_t, HangRecord>& known() const { return known_; }  // by key

 private:
  std::vector<OpenRegion> suspects(perfmodel::Nanoseconds now, const ClientReader& reader,
                                   const TickClock& clock) const;

  std::function<bool()> is_stopped_;
  std::map<uint64_t, HangRecord> known_;
  perfmodel::Nanoseconds looked_at_{0};
  perfmodel::Nanoseconds went_on_at_{0};  // last seen stopped, or nobody looked
  bool found_stopped_ = false;
};

}  // namespace optile::daemon
