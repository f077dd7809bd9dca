// The file behind the words that a program hands to exec, looked at as the C library and the kernel
// would go to it: through PATH, and from a script to its interpreter. What is found here is only
// looked at; the real function searches again by itself. No allocation, no lock, no global
// (program_file.h says why); no more stack than the C library's own search takes, about 3 KiB, of
// which nothing is left when exec is called.
#pragma once

namespace optile::preload {

// Whether the program at `path`, from `folder` (a descriptor or AT_FDCWD) on, would end or complain
// with the shim before everything else, with AT_SYMLINK_NOFOLLOW in `flags` as for execveat.
// `list`: LD_PRELOAD's. False for all that is not understood, and where nothing is found.
bool is_harmed(int folder, const char* path, int flags, const char* list);

// The same for a command that is searched for in this process's own PATH.
bool is_harmed_in_path(const char* command, const char* list);

// The same for the file behind a descriptor.
bool is_harmed_descriptor(int fd, const char* list);

}  // namespace optile::preload
