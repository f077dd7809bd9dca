// A file that others read while it is rewritten: they see the old text or the new one, never a
// part.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/result.h"

namespace optile::daemon {

// Prometheus and node_exporter run as users of their own.
inline constexpr mode_t kForEverybody = 0644;
inline constexpr mode_t kForTheNextDaemon = 0600;

// By a temporary file beside it and a rename. The temporary one is gone afterwards, come what may.
base::Status publish_file(const std::string& path, const std::string& text, mode_t mode);

// A regular file of our own user: nobody else may tell us what an earlier daemon did.
bool is_file_of_ours(const std::string& path);

}  // namespace optile::daemon
