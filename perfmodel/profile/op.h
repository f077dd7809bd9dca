// Who an op instance is. Plain values; any thread.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "perfmodel/profile/profile.h"

namespace optile::perfmodel {

// An op instance in its place: `key` names the op with its shapes, types and direction, `context`
// is the rolling hash of the ops before it (optile_next_context); 0 = wherever it stands.
struct OpPlace {
  uint64_t key = 0;
  uint64_t context = 0;

  auto operator<=>(const OpPlace&) const = default;
};

// What a probe said about a key when it registered it.
struct OpDescription {
  uint64_t key = 0;
  std::string name;   // the op: "aten::mm", "ConvolutionBackward0"
  std::string shape;  // "[20, 200] f32, [200, 800] f32"; may be cut
  bool backward = false;
  bool nested = false;  // never at depth 0: self time only
  bool region = false;  // an anonymous OpenMP region of the program's own
  // Of such a region: whether its width is tuned, or why not (optile_region_tuning).
  static constexpr uint32_t kTuned = 1;
  uint32_t tuning = 0;
  bool left_alone = false;  // for another reason: its width may not be set
  uint32_t probe = 0;       // optile_probe
  bool unordered = false;   // its framework runs the ops of a declared step in any order
  // What an execution takes less while its probe rests, which it may where no width is changed; 0:
  // it never rests, or costs nothing that could be told.
  Nanoseconds listening{0};

  // No width can be set for it.
  bool observed_only() const { return nested || left_alone || (region && tuning != kTuned); }
};

}  // namespace optile::perfmodel
