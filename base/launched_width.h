// The number of threads that the launcher found for what it starts, as OPTILE_DEFAULT_WIDTH_SOURCE
// carries it: "launcher:16", "launcher:16/4@node7". It is not in OMP_NUM_THREADS, since scripts,
// launchers of ranks and pools of workers take what they find there for a user's word, and leave
// their own defaults out. The shim tells it to the libraries that ask; where it had to put it into
// OMP_NUM_THREADS all the same, that reads "exported:16". Pure, any thread.
#pragma once

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

namespace optile::base {

inline constexpr char kLaunchedWidth[] = "launcher:";
inline constexpr char kExportedWidth[] = "exported:";  // as long as the other

struct LaunchedWidth {
  uint32_t width = 0;        // 0: the launcher said none
  uint32_t ranks = 1;        // of one job, on this machine, among which it is divided already
  const char* host = "";     // where it holds; "" = anywhere
  bool is_exported = false;  // OMP_NUM_THREADS says it too
};

// `source`: the variable, or null; `host` lives as long as that text.
inline LaunchedWidth read_launched_width(const char* source) {
  LaunchedWidth launched;
  constexpr size_t kBytes = sizeof kLaunchedWidth - 1;
  if (source == nullptr) return launched;
  launched.is_exported = strncmp(source, kExportedWidth, kBytes) == 0;
  if (!launched.is_exported && strncmp(source, kLaunchedWidth, kBytes) != 0) return launched;
  char* end = nullptr;
  const unsigned long width = strtoul(source + kBytes, &end, 10);
  unsigned long ranks = 1;
  if (*end == '/') ranks = strtoul(end + 1, &end, 10);
  if ((*end != '\0' && *end != '@') || width == 0 || width > UINT16_MAX) return launched;
  launched.width = static_cast<uint32_t>(width);
  if (ranks > 1 && ranks <= UINT16_MAX) launched.ranks = static_cast<uint32_t>(ranks);
  if (*end == '@') launched.host = end + 1;
  return launched;
}

// Whether OMP_NUM_THREADS, null where it is not set, is nobody else's word: what stands between
// launcher and program may say a number of its own, also the same one, and that is its user's.
inline bool is_launched_width(const LaunchedWidth& launched, const char* width) {
  if (launched.width == 0) return false;
  if (width == nullptr) return true;
  if (!launched.is_exported) return false;
  char* end = nullptr;
  return strtoul(width, &end, 10) == launched.width && end != width && *end == '\0';
}

}  // namespace optile::base
