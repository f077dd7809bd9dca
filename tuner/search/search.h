// The search for the best case of one op place. Two siblings: the hill climb (the paper's) and
// StatisticalSearch. The session owns one per op place; the samples arrive in the OpSamples that a
// search reads; review() is called once after every page of scheduled steps, nothing else changes a
// search. Pure, one thread.
#pragma once

#include <cstdint>
#include <vector>

#include "perfmodel/profile/configuration.h"
#include "tuner/plan/plan.h"

namespace optile::tuner {

enum class SearchKind : uint8_t { kAuto, kPaper };

// A case worth running, and in how many scheduled steps of the next page.
struct Wish {
  perfmodel::Configuration at;
  int runs = 1;

  bool operator==(const Wish&) const = default;
};

class Search {
 public:
  virtual ~Search() = default;

  // New samples have arrived.
  virtual void review() = 0;
  // Empty: decided.
  virtual std::vector<Wish> wishes() const = 0;
  // May the op be taken along when a scheduled step runs `at` for others? Yes when it is not known
  // to cost more than `slack_ns` per execution.
  virtual bool tolerates(perfmodel::Configuration at, double slack_ns) const = 0;
  // Best case so far; the program's own case while nothing is settled.
  virtual perfmodel::Configuration best() const = 0;
  virtual Rule rule() const = 0;
};

}  // namespace optile::tuner
