// The user's folder of bridges: where it is, what is in it, and how a file gets there. A file is
// there whole or not at all; base/bridge_file.h has the names and what makes one trustworthy.
#pragma once

#include <string>

#include "base/bridge_file.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace optile::cli {

// By XDG_CACHE_HOME, else HOME; empty without both.
std::string bridge_folder();

// The name of the bridge for a version of PyTorch.
std::string bridge_name(const std::string& torch_version);

// Makes the folder (mode 0700) where it is missing; refuses one that others can write to.
base::Status ensure_bridge_folder(const std::string& folder);

// Held while a bridge is built; invalid where another process holds it.
base::UniqueFd lock_bridge_folder(const std::string& folder);

// Moves `built` into the folder as `name`, with its checksum, and takes back what was said about
// an earlier failure.
base::Status install_bridge(const std::string& built, const std::string& folder,
                            const std::string& name);

// Why the last build of `name` failed; empty = none did.
void note_failed_build(const std::string& folder, const std::string& name,
                       const std::string& reason);
std::string failed_build(const std::string& folder, const std::string& name);

// An empty folder of ours below `folder`, removed with what is in it at the end.
class WorkFolder {
 public:
  explicit WorkFolder(const std::string& folder);
  ~WorkFolder();
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;

  const std::string& path() const { return path_; }  // empty where it could not be made

 private:
  std::string path_;
};

}  // namespace optile::cli
