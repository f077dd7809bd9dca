// Whose word OMP_NUM_THREADS is, where the launcher has said it. What it said is written down
// beside it, since whatever stands between launcher and program (a script, a job's starter) may say
// a number of its own, and that is its user's word. Pure, any thread.
#pragma once

#include <string.h>

namespace optile::base {

// In OPTILE_OWN_WIDTH_SOURCE, before the number.
inline constexpr char kLaunchedWidth[] = "launcher:";

// `source`, `width`: the two variables, or null.
inline bool is_launched_width(const char* source, const char* width) {
  constexpr size_t kBytes = sizeof kLaunchedWidth - 1;
  return source != nullptr && width != nullptr && width[0] != '\0' &&
         strncmp(source, kLaunchedWidth, kBytes) == 0 && strcmp(source + kBytes, width) == 0;
}

}  // namespace optile::base
