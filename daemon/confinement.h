// Which processes are held to which processing units, and what they had before. Owned by the
// daemon, its one thread. Kept in a file beside the socket as well: a daemon that was killed leaves
// its clients where they are, and the next one has to know that their masks were no wish of theirs.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "daemon/log.h"
#include "daemon/thread_masks.h"

namespace optile::daemon {

class Confinement {
 public:
  // Reads what an earlier daemon left in `file`; only a file of ours in a folder of ours counts.
  // `log` outlives this.
  Confinement(std::string file, Log& log);

  // All threads of the client's process to these units; none: back to what it had.
  void confine(uint64_t client, int pid, const std::vector<int>& units);
  // It is gone, or it is to be left alone from now on.
  void release(uint64_t client) { confine(client, 0, {}); }

  // A client says what its process came with, which counts for more than the mask that its main
  // thread has at this moment. What an earlier daemon wrote counts for most: the process may have
  // become another program since.
  void came_with(int pid, const std::vector<int>& units);
  // What that process came with, where an earlier daemon had confined it; os indices.
  std::optional<std::vector<int>> original_of(int pid) const;

 private:
  struct Confined {
    int pid = 0;
    uint64_t start_ticks = 0;
    std::vector<int> original;
    std::vector<int> units;
  };
  struct Held {
    ThreadMasks masks;
    Confined record;
    bool told = false;  // somebody was told that it cannot be held
  };
  Held* hold(uint64_t client, int pid);
  const Confined* known(int pid, uint64_t start_ticks) const;
  void save() const;

  std::string file_;
  Log& log_;
  std::map<uint64_t, Held> held_;
  std::vector<Confined> earlier_;
  std::deque<Confined> said_;  // by clients, latest last; `units` is empty
};

}  // namespace optile::daemon
