// What the managers of versions that people have beside a system's Python would choose. Their files
// are read, and none of them is run but mise, whose choice has too many sources. On any thread.
#pragma once

#include <string>
#include <vector>

namespace optile::cli {

// The program `name` of the version that pyenv would choose in this folder and environment; ""
// where none that is chosen has it. `root_folder` is PYENV_ROOT.
std::string behind_pyenv(const std::string& root_folder, const std::string& name);

// The same of asdf, for a shim of these tools. `root_folder` is ASDF_DATA_DIR.
std::string behind_asdf(const std::string& root_folder, const std::vector<std::string>& tools,
                        const std::string& name);

// The same of mise, where `path` is one of its shims: a link to mise, by the name of the program.
// Asks mise itself, which answers as it would choose, and waits for that some seconds at most.
std::string behind_mise(const std::string& path);

// All of a file that is no longer than a wrapper script may be, else "".
std::string short_text(const std::string& path);

// Whether it is a file that this user may execute.
bool can_be_run(const std::string& path);

}  // namespace optile::cli
