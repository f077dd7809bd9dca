// One process as /proc shows it, held open by its folder: once the process has ended nothing more
// is read through it, even if another one has got its pid by then. Any thread; the owner is whoever
// opened it. The root is a parameter, so that a test can lay out a folder of its own.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace optile::daemon {

// The fields of a `stat` file that are used here (proc(5)). For a process the times are those of
// all its threads, ended ones included; for one thread its own.
struct ProcessStat {
  char state = '?';          // R, S, D, T (stopped), t (traced), Z, X ...
  int parent = 0;            // the pid of who started it, or of who has taken it over since
  uint32_t flags = 0;        // of the kernel's task; kExiting among them
  uint64_t busy_ticks = 0;   // user and system time, in clock ticks
  uint64_t pending = 0;      // signals that wait for this one thread, as a set
  uint64_t start_ticks = 0;  // since boot; with the pid it names a process
  bool nice = false;         // it gives way to others: nice above 0
  // Where it begins in its memory; another one once it executes another program. 0: not told.
  uint64_t environment_start = 0;
  std::string name;  // as the kernel has it, at most 15 bytes

  int killed_by = 0;  // the signal that ends all its threads; told to who may trace it

  static constexpr uint32_t kExiting = 0x4;  // PF_EXITING
  bool stopped() const { return state == 'T' || state == 't'; }
  // It ends, or nothing can keep it from ending any more.
  bool ends() const;
};

// nullopt for anything that is not such a line.
std::optional<ProcessStat> parse_process_stat(std::string_view line);

// Whether its control group, or one above it, is frozen, as `docker pause` and `systemctl freeze`
// do: its threads look asleep. `root` holds proc/ and sys/.
bool is_frozen(int pid, const std::string& root = "");

// In clock ticks since boot; nullopt when there is no such process (any more).
std::optional<uint64_t> start_of_process(int pid);

class ProcessEntry {
 public:
  // kNotFound when there is no such process (any more).
  static base::Result<ProcessEntry> open(int pid, const std::string& proc = "/proc");

  int pid() const { return pid_; }
  // nullopt once the process is gone.
  std::optional<ProcessStat> stat() const;
  // Of one of its threads; nullopt once that one is gone.
  std::optional<ProcessStat> thread_stat(int tid) const;
  // For how long that thread has run, or waited for a processor, so far; nullopt once it is gone,
  // or where the kernel does not count it.
  std::optional<std::chrono::nanoseconds> thread_demand(int tid) const;
  // Its threads, at most `limit` of them; empty once the process is gone.
  std::vector<int> threads(std::size_t limit) const;
  // All its threads end, or it is gone: not so while one of them ends alone, the main thread too.
  // Never waits for its memory to be taken apart.
  bool ends() const;

 private:
  ProcessEntry(int pid, base::UniqueFd folder) : pid_(pid), folder_(std::move(folder)) {}
  enum class Memory { kHeld, kGivenUp, kUnknown };
  std::optional<ProcessStat> read(const char* path) const;
  Memory memory(const char* link) const;
  bool others_end() const;

  int pid_ = 0;
  base::UniqueFd folder_;
};

}  // namespace optile::daemon
