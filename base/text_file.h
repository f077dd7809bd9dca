// Small files read whole, as the kernel's pseudo files must be.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace optile::base {

// nullopt when it cannot be read. At most 1 MiB; the rest is cut.
std::optional<std::string> read_text_file(const std::string& path);

// "0-3,8" → 0,1,2,3,8, the kernel's list format. Anything malformed ends the list there.
std::vector<int> parse_cpu_list(const std::string& text);

}  // namespace optile::base
