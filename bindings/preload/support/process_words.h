// Words of this process alone. A child finds them zero, however it was made: the C library's fork
// calls handlers, but _Fork() and the bare system call do not, and the regions that the daemon
// shares with us are not mapped in any child.
#pragma once

#include <stdint.h>

namespace optile::preload {

struct Attachment;

struct ProcessWords {
  uint64_t ours = 1;  // 0 in a child of the process that attached, or tried to
  const Attachment* attached = nullptr;
};

// Where they are. Any thread.
// NOLINTNEXTLINE(bugprone-dynamic-static-initializers): not null from the start
extern constinit ProcessWords* process_words;
inline ProcessWords& own_words() {
  return *__atomic_load_n(&process_words, __ATOMIC_ACQUIRE);
}

// From here on children find them wiped. Before anything is to be kept from them, one thread at a
// time; where the kernel cannot, or there is no memory, only the C library's fork is noticed.
void wipe_words_in_children();

}  // namespace optile::preload
