// Processes that an earlier daemon held to cores and that have not attached to this one yet: for a
// while their cores are kept from whoever is back before them. Owned by the leases; the daemon's
// one thread.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace optile::daemon {

// A process that lives, and the processing units (os indices) that its threads were held to.
struct HeldProcess {
  int pid = 0;
  std::vector<int> units;
};

class RestartReservations {
 public:
  using Time = std::chrono::milliseconds;
  using Read = std::function<std::vector<HeldProcess>()>;
  // The longest pause of a shim between two attempts, with its jitter, and a little more. Who comes
  // later was asleep, or inside one op for that long.
  static constexpr Time kLongest{13000};
  // Whether they still live is read no more often: that opens files of each of them.
  static constexpr Time kReadEvery{500};

  // `read`: all of them, whether they have come back or not; empty: there was no earlier daemon.
  RestartReservations(Read read, Time began) : read_(std::move(read)), until_(began + kLongest) {}

  // Who still lives is to be read again, by look().
  bool due(Time now) const;
  // Who is attached now. True where what is kept has changed.
  bool look(const std::set<int>& attached, Time now);
  // This one has attached since: looks at nobody else. True where what is kept has changed.
  bool came(int pid);
  // Units of those that are still to come. Where somebody who is back had nothing but what is among
  // them (a core in turns, or all that it had lent when the daemon ended) it has that again.
  const std::set<int>& units() const { return kept_; }
  bool keeps_some() const { return !kept_.empty(); }

 private:
  struct Process {
    std::vector<int> units;
    bool back = false;
    int elsewhere = 0;  // of its units, those that nobody is to come for; only where it is back
  };
  struct Unit {
    int to_come = 0;        // so many had it that are not back
    std::vector<int> back;  // pids of those that had it too
    int claimed = 0;        // by so many of these, which had nothing that nobody is to come for
  };
  void add(HeldProcess process);
  void take_back(int pid, Process& process);
  void nobody_comes_for(const Unit& unit);
  void refresh(int number, const Unit& unit);
  void end_if_all_are_back();

  Read read_;  // empty once nobody is waited for
  Time until_;
  std::optional<Time> read_at_;
  std::map<int, Process> processes_;  // by pid, as last read
  std::map<int, Unit> units_;
  std::size_t awaited_ = 0;  // processes that are to come
  std::set<int> kept_;
  bool changed_ = false;
};

}  // namespace optile::daemon
