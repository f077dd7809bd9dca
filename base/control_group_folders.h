// The control groups that a process is in, as folders of the mounted file system: version 1, where
// each controller has a tree of its own, and version 2.
#pragma once

#include <string>
#include <vector>

namespace optile::base {

struct ControlGroupFolder {
  std::string path;
  bool unified = false;  // version 2
};

// Those that `controller` of version 1 looks at, and those of version 2, each tree from the group
// of the process up to the mount. Inside a container what /proc names may not exist below the
// mount; the mount itself is the group there. `root` holds proc/ and sys/; pid 0 = self.
std::vector<ControlGroupFolder> control_group_folders(const std::string& root, int pid,
                                                      const std::string& controller);

}  // namespace optile::base
