// The store's file as a file: its folders, and its way out when it is damaged. Any thread.
#pragma once

#include <string>

namespace optile::daemon {

// Missing folders above `path`; a failure shows when the file is opened.
void make_parents(const std::string& path);

// Renames the file and what SQLite keeps beside it; the new name, "" when that failed.
std::string rename_aside(const std::string& path);

}  // namespace optile::daemon
