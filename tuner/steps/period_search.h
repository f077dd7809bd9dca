// The period in a history of ops that repeats, and the op that marks it. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "tuner/steps/op_history.h"

namespace optile::tuner {

inline constexpr std::size_t kTinyStep = 16;  // ops: so few repeat by chance

// Some ops in a row.
struct Stretch {
  uint64_t begin = 0;  // position
  std::size_t length = 0;
};

// One period of the latest `length` ops, which equal those before them. Ops in between that come
// evenly are no part of it, unless what is left is below `shortest` or tiny.
Stretch find_period(const OpHistory& history, std::size_t length, std::size_t shortest);

// An op that occurs once in the step, by its key where one does: contexts are others behind an op
// that comes now and then. The preferred one, else the one after the longest idle time (a program
// rests between steps, not inside them); ties go to the smallest place, so that the choice does not
// depend on where the recording began.
std::optional<perfmodel::OpPlace> choose_marker(const OpHistory& history, Stretch stretch,
                                                const std::optional<perfmodel::OpPlace>& preferred);

}  // namespace optile::tuner
