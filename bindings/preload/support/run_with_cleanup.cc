#include "bindings/preload/support/run_with_cleanup.h"

#include <stdint.h>

namespace optile::preload {
namespace {

struct Cleanup {
  void (*run)(void*);
  void* argument;
  Cleanup* outer;
};

thread_local Cleanup* innermost = nullptr;

}  // namespace
}  // namespace optile::preload

// The personality routine of run_with_cleanup(): what the unwinder of the program, whichever that
// is, asks about each frame of it (Itanium C++ ABI, "Exception Handling", 1.6.2). It says at once
// what is to be done, so that no landing pad is needed, whose way back would be the unwinder's.
extern "C" __attribute__((visibility("hidden"), used)) int optile_unwinding_personality(
    int /*version*/, int actions, uint64_t /*exception_class*/, void* /*exception*/,
    void* /*context*/) {
  constexpr int kCleanUpPhase = 2;
  constexpr int kContinueUnwinding = 8;
  using optile::preload::innermost;
  if ((actions & kCleanUpPhase) != 0 && innermost != nullptr) {
    const optile::preload::Cleanup cleanup = *innermost;
    innermost = cleanup.outer;
    cleanup.run(cleanup.argument);
  }
  return kContinueUnwinding;
}

namespace optile::preload {

// Alone in its frame: it is the frame that is asked about.
__attribute__((noinline)) void run_with_cleanup(void (*run)(void*), void* argument,
                                                void (*clean_up)(void*)) {
  // Relative to itself, in 4 bytes.
  __asm__ volatile(".cfi_personality 0x1b, optile_unwinding_personality");
  Cleanup cleanup = {clean_up, argument, innermost};
  innermost = &cleanup;
  run(argument);
  innermost = cleanup.outer;
}

}  // namespace optile::preload
