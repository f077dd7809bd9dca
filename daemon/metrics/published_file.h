// A file that others read while it is rewritten: they see the old text or the new one, never a
// part. Readable by everybody, since Prometheus and node_exporter run as users of their own.
#pragma once

#include <string>

#include "base/result.h"

namespace optile::daemon {

// By a temporary file beside it and a rename. The temporary one is gone afterwards, come what may.
base::Status publish_file(const std::string& path, const std::string& text);

// A regular file of our own user: nobody else may tell us what an earlier daemon did.
bool is_file_of_ours(const std::string& path);

}  // namespace optile::daemon
