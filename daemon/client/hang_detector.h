// A region at another width than the program's own that does not return: the program hangs, and the
// width is the suspect. Nothing can be done for it; what can be is never to do that again. It finds
// hangs, never wrong results. Pure.
#pragma once

#include <chrono>
#include <cstdint>

#include "perfmodel/profile/profile.h"

namespace optile::daemon {

// Open for longer than this, and than kHangTimes its usual time, is a hang.
inline constexpr std::chrono::seconds kLeastHang{3};
inline constexpr int kHangTimes = 200;

// Open for longer than this, a region is looked at more closely.
inline constexpr std::chrono::seconds kSuspicious{1};
// Nobody knows what a program did in a longer time between two looks; they are usually a second
// apart at most.
inline constexpr std::chrono::seconds kLongestUnwatched{2};

// `usual`: the mean of all its executions so far; 0 = not known.
bool hangs(perfmodel::Nanoseconds open, perfmodel::Nanoseconds usual);

}  // namespace optile::daemon
