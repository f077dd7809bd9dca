// A recognised step as the session works on it: its places in order, each distinct place once with
// its samples and its search. Steps with more distinct places than a plan page can hold are steered
// by key alone (context 0). Owned by the session, one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

#include "tuner/plan/op_samples.h"
#include "tuner/search/search.h"
#include "tuner/steps/period_detector.h"

namespace optile::tuner {

// One op place of the step.
struct Site {
  perfmodel::OpPlace place;
  int per_step = 0;
  bool leave = false;  // observed only
  OpSamples samples;
  std::unique_ptr<Search> search;  // null: nothing to search
  int steerable_seen = 0;
  int unsteerable_seen = 0;
};

// By most of its executions so far.
inline bool cannot_be_set(const Site& site) {
  return site.unsteerable_seen > site.steerable_seen;
}

class StepModel {
 public:
  static constexpr std::size_t kMostPlaces = 4096;  // entries of a plan page

  explicit StepModel(const RecognisedStep& step);
  // Keeps the samples of places that `earlier` knows too.
  void adopt_samples(StepModel& earlier);

  const Marker& marker() const { return marker_; }
  uint64_t fingerprint() const { return fingerprint_; }
  const std::vector<int>& order() const { return order_; }  // site of the i-th op of a step
  std::deque<Site>& sites() { return sites_; }              // never moves: searches point into it
  const std::deque<Site>& sites() const { return sites_; }
  Site* find(const perfmodel::OpPlace& place);
  // The other's step is repeated inside this one.
  bool holds_loop(const StepModel& other) const;

 private:
  perfmodel::OpPlace steered(const perfmodel::OpPlace& place) const;

  Marker marker_;
  uint64_t fingerprint_ = 0;
  bool by_key_ = false;
  std::vector<int> order_;
  std::deque<Site> sites_;
  std::unordered_map<perfmodel::OpPlace, int, PlaceHash> index_;
};

}  // namespace optile::tuner
