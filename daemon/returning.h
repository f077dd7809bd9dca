// Processes that an earlier daemon held to cores and that have not attached to this one yet: for a
// while their cores are kept from whoever is back before them. Owned by the leases; the daemon's
// one thread.
#pragma once

#include <chrono>
#include <functional>
#include <set>
#include <utility>
#include <vector>

namespace optile::daemon {

// A process that lives, and the processing units (os indices) that its threads were held to.
struct HeldProcess {
  int pid = 0;
  std::vector<int> units;
};

class Returning {
 public:
  using Time = std::chrono::milliseconds;
  using Read = std::function<std::vector<HeldProcess>()>;
  // The longest pause of a shim between two attempts, with its jitter, and a little more. Who comes
  // later was asleep, or inside one op for that long.
  static constexpr Time kLongest{13000};

  // `read`: all of them, whether they have come back or not; empty: there was no earlier daemon.
  Returning(Read read, Time began) : read_(std::move(read)), until_(began + kLongest) {}

  // Who is attached now. True where what is kept has changed.
  bool look(const std::set<int>& attached, Time now);
  // Units of those that are still to come. Where somebody who is back had nothing but what is among
  // them (a core in turns, or all that it had lent when the daemon ended) it has that again.
  const std::set<int>& units() const { return units_; }
  bool keeps_some() const { return !units_.empty(); }

 private:
  Read read_;  // empty once nobody is waited for
  Time until_;
  std::set<int> units_;
};

}  // namespace optile::daemon
