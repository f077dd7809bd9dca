// Whole steps decide: candidates (the program's default widths, the best uniform width, the planned
// widths) run interleaved in scheduled steps, every block holds each of them once in random order.
// Compared are ratios within a block, so that a slow minute hits all alike; the test is a signed
// rank test on their logarithms, looked at after every page, with a bounded number of steps.
// Candidates are given simplest first: a later one wins only when its gain is settled. Pure; the
// order comes from the seed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <random>
#include <vector>

#include "perfmodel/profile/profile.h"

namespace optile::tuner {

// 0 of none.
double median(std::vector<double> values);

// Signed rank statistic of `values` against zero, in standard deviations; positive when they tend
// to be above. Zeroes are left out; 0 when nothing remains.
double signed_rank_z(std::vector<double> values);

struct ComparisonOptions {
  int candidates = 2;
  int most_steps = 48;        // counted ones
  bool keep_last = false;     // the last candidate stays unless it is settled worse than the first
  double least_gain = 0.003;  // gains that look smaller are given up early
  // What a step of each candidate takes less once nothing is compared any more; empty = nothing.
  std::vector<perfmodel::Nanoseconds> saves = {};
  uint64_t seed = 1;
};

class StepComparison {
 public:
  explicit StepComparison(ComparisonOptions options);

  // The candidate of every scheduled step of the next page, at most 16; a page begins with a step
  // that does not count (caches and threads of the first candidate after a pause). `most_blocks`
  // runs of every candidate, at most.
  std::vector<int> next_page(int most_blocks = std::numeric_limits<int>::max());
  // Of a step of the current page; steps that were lost are simply not recorded.
  void record(int column, perfmodel::Nanoseconds duration);
  void close_page();

  bool decided() const { return decided_; }
  int winner() const { return winner_; }
  std::size_t blocks() const { return blocks_.size(); }
  // Median of time(from) / time(to) − 1 over the blocks: how much faster `to` is.
  double gain(int from, int to) const;
  bool settled_faster(int from, int to) const;

 private:
  using Block = std::vector<double>;  // seconds by candidate

  std::vector<double> log_ratios(int from, int to) const;
  bool hopeless(int from, int to) const;
  void decide();

  ComparisonOptions options_;
  std::mt19937_64 random_;
  std::vector<int> page_;  // candidate by column
  std::map<int, perfmodel::Nanoseconds> times_;
  std::vector<Block> blocks_;
  int steps_ = 0;  // counted ones that were scheduled
  bool decided_ = false;
  int winner_ = 0;
};

}  // namespace optile::tuner
