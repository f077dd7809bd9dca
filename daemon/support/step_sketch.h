// What a step consists of, small enough to be kept with a run: how many ops, and which of its op
// keys hash lowest (a bottom-k sketch, by which the overlap of two sets can be told). Steps of two
// runs are the same thing only where both agree: a loop inside a step repeats too. Pure; any
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tuner/session/session_view.h"

namespace optile::daemon {

struct StepSketch {
  static constexpr std::size_t kMostKeys = 32;

  int ops = 0;                   // 0: not known
  std::vector<uint64_t> keys{};  // hashed, ascending

  bool operator==(const StepSketch&) const = default;

  // Nothing known where the session has no step.
  static StepSketch of(const tuner::SessionView& session);

  // As the store keeps them: hexadecimal, apart by spaces. What makes no sense is left out.
  std::string keys_text() const;
  static std::vector<uint64_t> keys_from(const std::string& text);
};

// False only where both are known and differ in more than a few extra ops.
bool may_be_same_step(const StepSketch& one, const StepSketch& other);

}  // namespace optile::daemon
