// Processes of the same `optile run` as a client that are not attached, such as ranks that are
// still loading their libraries, a launcher's daemons, and the launcher. They carry the run's id in
// their environment, which alone makes them its; one that shows no environment (it may not be
// asked, or has written its title over it) is of its parent's run.
//
// Looked for in the whole subtree below the run's topmost process, whichever threads started them,
// and among the children of all processes above that: whose parent has ended is a child of one of
// these, init or a subreaper. Reading takes a root folder like perfmodel/machine/budget.h. One
// thread.
//
// What a look costs at most: the `stat` of 512 processes, 64 environments (those left over are read
// by the next looks) and the lists of children of 1024 threads. Nothing where the kernel has
// started nothing since the two looks before, and an environment is read once for each program that
// a process executes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace optile::daemon {

class RunProcesses {
 public:
  static constexpr std::size_t kMost = 256;  // a run of more is found in part
  static constexpr std::size_t kMostClients = 64;
  static constexpr std::size_t kMostVisits = 512;
  static constexpr std::size_t kMostEnvironments = 64;
  static constexpr std::size_t kMostThreads = 1024;

  explicit RunProcesses(std::string root) : root_(std::move(root)) {}

  // `forks`: that the kernel has counted since boot; nullopt: it is not known.
  const std::vector<int>& find(const std::vector<int>& clients,
                               std::optional<uint64_t> forks = std::nullopt);

 private:
  class Search;
  // As long as neither changes it is the same process, and executes the same program.
  struct Identity {
    uint64_t start_ticks = 0;
    uint64_t environment_start = 0;
    bool operator==(const Identity&) const = default;
  };
  struct Process {
    Identity identity;
    int parent = 0;
    std::optional<std::string> run;  // "": of none; nullopt: it shows no environment
  };

  bool is_unchanged(const std::vector<int>& clients, std::optional<uint64_t> forks);

  std::string root_;
  std::map<int, Process> known_;  // those that the latest look came by
  std::vector<int> found_;
  std::vector<int> clients_;
  std::optional<uint64_t> forks_;
  int same_looks_ = 0;
};

}  // namespace optile::daemon
