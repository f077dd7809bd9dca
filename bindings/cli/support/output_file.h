// Files that a command writes its answer to: a report, a drawing, a timeline, a policy.
#pragma once

#include <string>

#include "base/result.h"

namespace optile::cli {

// Whether an answer could be written there, as things are: to be asked before what takes long.
// Nothing is changed by it.
base::Status may_be_written(const std::string& path);

// A file is replaced as a whole, behind a link too: a reader never sees half an answer, and one
// that cannot be written leaves the file that was there. What is no file, a pipe or a device, is
// written to.
base::Status write_output(const std::string& path, const std::string& text);

}  // namespace optile::cli
