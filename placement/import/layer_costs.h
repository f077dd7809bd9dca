// The analytic times of files that give shapes or operation counts and no times: a roofline of one
// reference accelerator (an NVIDIA K80 as exprimo's device graphs describe it). Devices of other
// rates have a speed relative to it.
#pragma once

#include <algorithm>

namespace optile::placement {

inline constexpr double kReferenceFlopsPerMs = 5600e6;  // 5,600 GFLOP/s
inline constexpr double kReferenceBytesPerMs = 480e6;   // 480 GB/s
// Forward once, backward twice as much: gradients of inputs and of parameters.
inline constexpr double kPasses = 3;
inline constexpr double kBytesPerValue = 4;
inline constexpr double kCpuSlowdown = 10;  // where a file tells nothing about CPUs

inline double roofline_ms(double operations, double bytes) {
  return std::max(operations / kReferenceFlopsPerMs, bytes / kReferenceBytesPerMs);
}

}  // namespace optile::placement
