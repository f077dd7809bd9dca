// Commands of users about leases (share, pin, pause, detach), by process: they hold until they are
// revoked or the process ends, also when its daemon is another one meanwhile. Owned by the
// daemon, its one thread. Kept in a file beside the socket.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "daemon/leases/client_commands.h"

namespace optile::daemon {

class PersistedCommands {
 public:
  // Reads what an earlier daemon left in `file`; only a file of ours counts. "" keeps none.
  // `may_write`: whether the file is ours to write at that moment; without it, always.
  explicit PersistedCommands(std::string file, std::function<bool()> may_write = {});

  // After it came into force. Of a process that is gone nothing is kept.
  void record(int pid, const LeaseCommand& command);
  // What is to be applied again when that process attaches, in this order; `client` is not set.
  std::vector<LeaseCommand> commands_of(int pid) const;

 private:
  struct Entry {
    int pid = 0;
    uint64_t start_ticks = 0;  // with the pid it names a process
    std::optional<double> share;
    std::vector<int> pin;  // cores of the machine; empty: not pinned
    bool paused = false;
    std::vector<int> lease;  // that it was paused with, and its part of them
    double fraction = 1;
    bool detached = false;
    bool pin_bounded = false;  // LeaseCommand::bounded
    bool pause_bounded = false;
  };
  void read();
  void save();

  std::string file_;
  std::function<bool()> may_write_;
  std::vector<Entry> entries_;  // the latest processes last
};

}  // namespace optile::daemon
