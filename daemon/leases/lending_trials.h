// Whether a program gains from cores that another one lends it while that one waits. Its curve
// cannot tell: wider teams for moments cost what they leave behind. So of the first pauses some
// are lent and some are not, and what it got done in them is compared: ops begun a second, the
// neighbour being quiet in both. Pure; the daemon's one thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace optile::daemon {

class LendingTrials {
 public:
  // So many pauses of each kind tell it by their medians; fewer where they lie far apart.
  static constexpr std::size_t kPausesEach = 4;
  static constexpr std::size_t kFewestEach = 2;
  // A pause that has been held back is lent after so long, sooner where everybody has begun so many
  // ops in it, and shorter ones are no measurement.
  static constexpr std::chrono::milliseconds kLongestHeld{2000};
  static constexpr std::chrono::milliseconds kHeldLong{1000};
  static constexpr std::chrono::milliseconds kShortest{300};
  static constexpr uint64_t kManyOps = 20;
  // Nothing is held back for one that was lent nothing in so many pauses on end, nor for one of
  // which so many have told nothing: short ones, say.
  static constexpr int kFruitless = 4;
  static constexpr int kMostHeld = 24;
  // What lent cores must bring; moving in and out costs the next steps of both.
  static constexpr double kLeastGain = 1.05;
  // Far apart: what the worst pause with lent cores brings over the best without, at least, or the
  // best with over the worst without, at most.
  static constexpr double kClearGain = 1.15;
  static constexpr double kClearLoss = 0.95;

  // One that works while another waits.
  struct Worker {
    uint64_t client = 0;
    uint64_t progress = 0;  // ops begun
    int own_cores = 0;
    int lent = 0;         // that it uses now
    bool sampled = true;  // every op is counted
  };

  // What came of it for one of them; its cores lie there.
  struct Verdict {
    uint64_t client = 0;
    int own_cores = 0;
    double gain = 1;  // work done a second with lent cores, over that without
    bool borrows = true;
    std::string text() const;  // for people
  };

  // `waiter` begins to wait. Whether its cores are to be lent at once; else after kLongestHeld.
  bool begin(uint64_t waiter, std::chrono::milliseconds now, const std::vector<Worker>& workers);
  // It works again; tells what is known from now on.
  std::vector<Verdict> end(uint64_t waiter, std::chrono::milliseconds now,
                           const std::vector<Worker>& workers);
  // Its cores were held back, and are to be lent now: for long enough, or there is nothing to
  // compare any more since another one waits, too; tells the same.
  bool holds_back(uint64_t waiter) const { return held_back_.contains(waiter); }
  bool held_long_enough(uint64_t waiter, std::chrono::milliseconds now,
                        const std::vector<Worker>& workers) const;  // one that is held back
  std::vector<Verdict> release(uint64_t waiter, std::chrono::milliseconds now,
                               const std::vector<Worker>& workers);

  // Its ops are compared in pauses to come, so every one of them has to be counted.
  bool measures(uint64_t client, int own_cores) const;
  // Whether it is to be lent anything while it has so many cores of its own; true until it is known
  // better.
  bool borrows(uint64_t client, int own_cores) const;
  // Of an earlier run of its program.
  void recall(uint64_t client, int own_cores, bool borrows);
  void forget(uint64_t client);

 private:
  struct Record {
    int lent_pauses = 0;  // begun, whatever came of them
    int held_pauses = 0;
    int fruitless = 0;              // on end, in which it was lent nothing
    std::vector<double> lent = {};  // ops a second, by pause
    std::vector<double> held = {};
    bool few_ops = false;  // in some pause, so that one op more or less is a difference
    std::optional<bool> borrows = {};
    bool undecided() const { return !borrows && fruitless < kFruitless && held_pauses < kMostHeld; }
  };
  struct Pause {
    uint64_t waiter = 0;
    std::chrono::milliseconds since{0};
    bool lent = true;
    std::map<uint64_t, Worker> workers = {};  // by client, at its begin
  };
  Record& record_of(const Worker& worker);
  // What lent cores bring by these pauses, once they are enough to tell.
  static std::optional<double> gain_by(const Record& record);

  // By client and cores of its own: on others it may be another matter.
  std::map<std::pair<uint64_t, int>, Record> records_;
  std::optional<Pause> pause_;  // where exactly one waits
  std::set<uint64_t> waiters_;
  std::set<uint64_t> held_back_;  // of them, those whose cores are not lent yet
};

}  // namespace optile::daemon
