// Where the steps of a program begin that calls several functions in turn: a generator's and a
// critic's, or training and now and then an evaluation. One of them leads, and each call of it
// begins a step, which the calls of others until the next one belong to. The first that is called
// leads, until
//   another one is called again and again between its calls, and less often (a critic is trained
//   several times for each time of the generator),
//   or it is not called any more, as what is called once to set things up.
// By one thread at a time.
#pragma once

#include <stdint.h>

namespace optile::preload {

class StepFunction {
 public:
  // That function is called, told from others by its hash, which is not 0. True: a step begins.
  bool begins_step(uint64_t function);

 private:
  static constexpr uint32_t kRemembered = 16;  // a power of two
  static constexpr uint32_t kRegular = 3;      // times in those
  static constexpr uint32_t kGone = 8;

  uint64_t call(uint32_t ago) const { return calls_[(count_ - 1 - ago) % kRemembered]; }
  bool leader_is_gone(uint64_t function) const;
  bool is_rarer(uint64_t function) const;

  uint64_t calls_[kRemembered] = {};
  uint32_t count_ = 0;
  uint64_t leader_ = 0;
};

}  // namespace optile::preload
