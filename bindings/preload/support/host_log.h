// The shim's only voice: a per-user file beside the daemon's socket, opened, appended to and closed
// for every line, never one of the host's descriptors. Any thread; at most kMaxLines a process.
#pragma once

namespace optile::preload {

inline constexpr int kMaxLines = 32;

void log_line(const char* text, const char* detail = "");

}  // namespace optile::preload
