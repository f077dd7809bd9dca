// Which bridge fits the PyTorch that was noticed, and its opening: the one that was built with
// optile for the distribution's PyTorch, or one out of the user's cache for a wheel's.
#pragma once

namespace optile::preload {

// Starts the bridge for the PyTorch that `core`, an address inside libtorch_cpu, belongs to. False
// when there is none that fits or it may not be loaded; why is in the log. On the thread that
// noticed it, once.
bool open_torch_bridge(const void* core);

}  // namespace optile::preload
