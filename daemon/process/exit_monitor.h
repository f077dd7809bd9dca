// Hears of a client's end before its memory has been taken apart. Each client's region holds a
// futex word that one of its threads owns; the kernel marks it and wakes us when that thread ends.
// One helper thread waits for all words (futex_waitv(2), Linux 5.16; 127 words, then another
// thread) and makes sure that the whole process ends, since a thread may end alone. The hang-up of
// the connection stays the backstop for whatever is not heard here.
//
// The helper is urgent (daemon/sched_policy), and makes the daemon's thread so when it tells it of
// a death, where the system lets it; the daemon ends that with handled().
//
// make(), add(), remove(), take() and handled() are called by the daemon's one thread. A word is
// read until remove() has returned, then never again. The client writes its word as it likes: one
// that keeps us busy is left to the backstop.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace optile::daemon {

class ExitMonitor {
 public:
  struct Subject {
    uint64_t client = 0;
    const uint32_t* word = nullptr;
    // True when the process is ending as a whole. Called on a helper thread, soon after a wake-up
    // and a few times more while the word has no living owner.
    std::function<bool()> ends;
  };

  // Words that one helper waits for; the kernel takes one more, which is our own.
  static constexpr std::size_t kWordsAThread = 127;
  // How often one client's word may wake us in its life. It changes owners a few times at most.
  static constexpr int kMaxWakes = 1024;

  // kUnavailable where the kernel has no such call, or hides it.
  static base::Result<std::unique_ptr<ExitMonitor>> make();
  ~ExitMonitor();
  ExitMonitor(const ExitMonitor&) = delete;
  ExitMonitor& operator=(const ExitMonitor&) = delete;

  // False when no thread can be had: the client is left to the backstop.
  bool add(Subject subject);
  void remove(uint64_t client);
  // Clients that are ending and were not told of before; each at most once.
  std::vector<uint64_t> take();
  // What take() gave has been acted on.
  void handled();
  // Readable while take() has something to give.
  int descriptor() const { return ready_.get(); }
  std::size_t threads() const { return helpers_.size(); }

 private:
  class Helper;

  ExitMonitor(base::UniqueFd ready, pid_t reader);
  void report(uint64_t client);  // on a helper thread

  base::UniqueFd ready_;  // an eventfd
  const pid_t reader_;    // the thread that takes
  std::mutex mutex_;      // guards the next two
  std::vector<uint64_t> reported_;
  bool urgent_ = false;                           // the reader, by us
  std::vector<std::unique_ptr<Helper>> helpers_;  // each ends with its owner
};

}  // namespace optile::daemon
