// Which of a client's threads is followed: its steps, its samples, its plan. The one with the most
// time inside ops, and not another before that one is clearly ahead. Pure; the controller's thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "bindings/abi/limits.h"
#include "perfmodel/profile/op.h"

namespace optile::daemon {

class MainIssuer {
 public:
  // The thread in `slot` was so long inside an op.
  void add(uint32_t slot, perfmodel::Nanoseconds duration);
  // To be called after a batch of add(). True when another thread is followed from now on; the
  // first one that is known is no change.
  bool choose();
  std::optional<uint32_t> slot() const { return slot_; }
  // How many of the ops that all threads have begun so far were its own, as far as their share
  // among those that were added says. To be called after choose().
  uint64_t ops_of_it(uint64_t begun);

 private:
  std::array<uint64_t, OPTILE_MAX_THREADS> fresh_{};  // ops added since the latest call
  double share_ = 1;
  uint64_t begun_ = 0;
  double ops_of_it_ = 0;
  std::array<double, OPTILE_MAX_THREADS> seconds_{};  // fading
  std::optional<uint32_t> slot_;
};

}  // namespace optile::daemon
