// The processor's own time counter: the one file that knows instruction sets.
// libc only, header only: the shim uses it inside other people's programs. Any thread, no state.
#pragma once

#include <stdint.h>
#include <time.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

namespace optile::base {

inline uint64_t monotonic_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * UINT64_C(1000000000) +
         static_cast<uint64_t>(now.tv_nsec);
}

// True where the counter ticks at one rate on all cores, also in deep sleep.
inline bool cpu_counter_is_steady() {
#if defined(__x86_64__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(0x80000007u, &a, &b, &c, &d) == 0) return false;
  return (d & (1u << 8)) != 0;
#elif defined(__aarch64__)
  return true;  // CNTVCT_EL0 is architecturally constant.
#else
  return false;
#endif
}

// Raw ticks. Call only where cpu_counter_is_steady().
inline uint64_t cpu_counter() {
#if defined(__x86_64__)
  return __rdtsc();
#elif defined(__aarch64__)
  uint64_t ticks;
  asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
#else
  return monotonic_ns();
#endif
}

// The counter's rate where the architecture states it; 0 = has to be measured.
inline uint64_t cpu_counter_stated_hz() {
#if defined(__x86_64__)
  unsigned denominator = 0, numerator = 0, crystal_hz = 0, d = 0;
  if (__get_cpuid(0x15u, &denominator, &numerator, &crystal_hz, &d) == 0) return 0;
  if (denominator == 0 || numerator == 0 || crystal_hz == 0) return 0;
  return static_cast<uint64_t>(crystal_hz) * numerator / denominator;
#elif defined(__aarch64__)
  uint64_t hz;
  asm volatile("mrs %0, cntfrq_el0" : "=r"(hz));
  return hz;
#else
  return 0;
#endif
}

// One turn of a spin loop.
inline void cpu_pause() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace optile::base
