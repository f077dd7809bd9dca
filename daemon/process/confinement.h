// Which processes are held to which processing units, and what they had before. Owned by the
// daemon, its one thread. Kept in a file beside the socket as well: a daemon that was killed leaves
// its clients where they are, and the next one has to know that their masks were no wish of theirs.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "daemon/process/restart_reservations.h"
#include "daemon/process/thread_masks.h"
#include "daemon/support/log.h"

namespace optile::daemon {

class Confinement {
 public:
  // Calls what it is given when what is at hand is dealt with.
  using Later = std::function<void(std::function<void()>)>;
  // Reads what an earlier daemon left in `file`; only a file of ours in a folder of ours counts.
  // `log` outlives this. Without `later` everything is done at once; with it, many who come
  // together are written down together. Tests pass their own kernel. `may_write`: whether the file
  // is ours to write at that moment; without it, always.
  Confinement(std::string file, Log& log, Later later = {},
              ThreadMasks::Kernel kernel = ThreadMasks::system_kernel(),
              std::function<bool()> may_write = {});

  // Calls `report` with what the masks of a client's threads are about to be set to; none: they
  // have what it came with, or could not be set. Said again at every call that sets them.
  using ReportMask = std::function<void(uint64_t client, const std::vector<int>& units)>;
  void report_masks(ReportMask report) { report_mask_ = std::move(report); }

  // What the program of a client has set for a thread of its own.
  using ReadBinding = std::function<ThreadBinding(uint64_t client, int tid)>;
  void read_bindings(ReadBinding read) { read_binding_ = std::move(read); }

  // All threads of the client's process to these units, as soon as that is written down; those who
  // wait for that keep their order, since one's new units are another's old ones. None: back to
  // what it had, at once; to be repeated about once a second, since a thread in a bound region puts
  // back the mask that it had before. The first kRepeats of these do something.
  static constexpr int kRepeats = 10;
  void confine(uint64_t client, int pid, const std::vector<int>& units);
  // It is gone, or it is to be left alone from now on.
  void release(uint64_t client);

  // Its cpuset is another one since: what the kernel made of masks of ours is ours. None: no word.
  void note_cpuset(uint64_t client, const std::vector<int>& units);

  // Carries out what waits.
  void flush();

  // A client says what its process came with, which counts for more than the mask that its main
  // thread has at this moment. What an earlier daemon wrote counts for most: the process may have
  // become another program since.
  void came_with(int pid, const std::vector<int>& units);
  // Processes that live and that an earlier daemon held, until they are released.
  std::vector<HeldProcess> held_before() const;
  // What that process came with, where an earlier daemon had confined it; os indices.
  std::optional<std::vector<int>> original_of(int pid) const;

 private:
  struct Confined {
    int pid = 0;
    uint64_t start_ticks = 0;
    std::vector<int> original;
    std::vector<int> units;
    std::vector<std::vector<int>> before;  // masks of ours that may be in force instead, last first
  };
  struct Held {
    ThreadMasks masks;
    Confined record;
    bool told = false;   // somebody was told that it cannot be held
    int given_back = 0;  // how often since; meanwhile the masks of ours are still known
  };
  struct Wish {
    uint64_t client = 0;
    int pid = 0;
    std::vector<int> units;
  };
  Held* hold(uint64_t client, int pid);
  void give_back(uint64_t client, int pid);
  void intend(Held& held, const std::vector<int>& units);
  void carry_out(uint64_t client, Held& held, const std::vector<int>& units);
  const Confined* known(int pid, uint64_t start_ticks) const;
  void do_soon();
  void write() const;

  std::string file_;
  Log& log_;
  Later later_;
  ThreadMasks::Kernel kernel_;
  std::function<bool()> may_write_;
  ReportMask report_mask_;
  ReadBinding read_binding_;
  bool will_flush_ = false;
  bool unsaved_ = false;
  std::vector<Wish> wishes_;  // in their order
  std::map<uint64_t, Held> held_;
  std::map<uint64_t, UnitSet> cpusets_;  // that have changed, also of those that are not held
  std::vector<Confined> earlier_;
  std::deque<Confined> confined_;  // by clients, latest last; without masks of ours
};

}  // namespace optile::daemon
