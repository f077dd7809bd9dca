#include "bindings/preload/support/process_words.h"

#include <sys/mman.h>
#include <unistd.h>

namespace optile::preload {
namespace {

#ifdef MADV_WIPEONFORK
constexpr int kWipeOnFork = MADV_WIPEONFORK;
#else
constexpr int kWipeOnFork = 18;  // headers older than Linux 4.14's
#endif

constinit ProcessWords first_words;
bool tried = false;

}  // namespace

constinit ProcessWords* process_words = &first_words;

void wipe_words_in_children() {
  if (tried) return;
  tried = true;
  const auto bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void* page = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return;
  if (madvise(page, bytes, kWipeOnFork) != 0) {
    munmap(page, bytes);
    return;
  }
  auto* words = static_cast<ProcessWords*>(page);
  *words = first_words;
  __atomic_store_n(&process_words, words, __ATOMIC_RELEASE);
}

}  // namespace optile::preload
