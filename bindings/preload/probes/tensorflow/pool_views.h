// The intra-op pool of TensorFlow's CPU device at a smaller width: what a kernel gets in place of
// the device's own when it asks for threads. Kernels that run side by side have views of their own,
// so that each of them is as wide as its view says: one for each width and thread, made when it is
// first wanted and kept. Any thread.
#pragma once

#include <stdint.h>

#include "bindings/preload/probes/tensorflow/tensorflow_functions.h"

namespace optile::preload {

inline constexpr int kWidestView = 255;
inline constexpr uint32_t kViewsOfWidth = 16;  // more threads than these share

// Looks at the pool of the first device that computes. True: widths can be set, since everything is
// where it is assumed to be. The first call decides.
bool learn_pool(const TensorflowFunctions& functions, void* device);
// Of that pool; 0 before.
int pool_threads();

// In place of `own`; null where `own` is of another pool, or `width` is no narrower than it.
const void* eigen_device_view(const TensorflowFunctions& functions, const void* own, int width);
const CpuWorkers* workers_view(const TensorflowFunctions& functions, const CpuWorkers* own,
                               int width);

}  // namespace optile::preload
