// Which files have POSIX locks (fcntl, lockf) on them. Whoever closes any descriptor of a file
// loses all its own locks on it, so such a file must not be opened in a process that may have
// locked it. By program_file.h's rules: no allocation, no lock, 1.5 KiB of stack.
#pragma once

#include <sys/types.h>

namespace optile::preload {

// Whether the kernel's list, at `path` (/proc/locks but for tests), has a POSIX lock on a file with
// this inode number. Of any device: what stat tells of one is not always the one in the list. Of
// any process: pids there are those of the namespace that /proc was mounted in. False where it
// cannot be read, and for what is beyond its first 64 KiB.
bool has_posix_lock(const char* path, ino_t inode);

}  // namespace optile::preload
