// Whether the calling process has a POSIX lock (fcntl, lockf) on a file. Whoever closes any
// descriptor of a file loses all its own locks on it, so such a file must not be opened by us. By
// program_file.h's rules: no allocation, no lock, 1.5 KiB of stack.
//
// The kernel's list of all locks, /proc/locks, is not read: that stops everybody on the machine who
// locks a file, and the reader for milliseconds; and in it others' locks look like one's own.
#pragma once

#include <sys/types.h>

namespace optile::preload {

// For the file that stat says this of. Its lock is told by one of the descriptors that the process
// still has of it. A child of fork has its own table of descriptors and takes no lock of its
// parent's away. False without /proc, and for what is beyond the first 512 descriptors.
bool holds_posix_lock(dev_t device, ino_t inode);

}  // namespace optile::preload
