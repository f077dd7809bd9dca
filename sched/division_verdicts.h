// What is known of cores that passed from one program to another: what it gained, and until when
// that is believed. Programs are told apart by a text of the caller's, so that what one run found
// holds for the next. Owned by the division trials; one thread.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>

namespace optile::sched {

struct DivisionKey {
  std::string giver;
  std::string taker;
  int giver_cores = 0;  // before
  int taker_cores = 0;
  int cores = 0;         // that pass
  double weights = 1.0;  // the giver's over the taker's

  auto operator<=>(const DivisionKey&) const = default;
};

struct DivisionVerdict {
  DivisionKey key;
  bool pays = false;
  double gain = 0;  // of the weighted progress of the two; with its interval
  double low = 0;
  double high = 0;
  int rounds = 0;
};

class DivisionVerdicts {
 public:
  // Replaces what was known of that key. Believed until that tick.
  void note(DivisionVerdict verdict, uint64_t until);
  // Null: nothing is known, or it is too old.
  const DivisionVerdict* find(const DivisionKey& key, uint64_t tick) const;
  void forget(const DivisionKey& key) { known_.erase(key); }
  bool empty() const { return known_.empty(); }

 private:
  struct Known {
    DivisionVerdict verdict;
    uint64_t until = 0;
  };
  std::map<DivisionKey, Known> known_;
};

}  // namespace optile::sched
