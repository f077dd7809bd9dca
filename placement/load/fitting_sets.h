// What a device could hold at most under E1: the set of units with the highest prices whose load,
// transfers to and from the rest included, fits. Units are gone through in an order that keeps few
// nets open; of an open net it counts whether its units so far were all in, all out, or divided,
// which is paid once (a path decomposition of the hypergraph). Loads are kept in cells and only
// ever rounded down, and nets that would make the states too many are left out, so that `best` is
// never below the truth: what a proof needs.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "placement/units.h"

namespace optile::placement {

// The order and its states, which no price changes. Immutable once made; several threads may read.
class FittingPlan {
 public:
  // `most_states` at a time; at least 1.
  FittingPlan(const Units& units, std::size_t most_states);

  struct Move {
    std::int32_t from = 0;
    std::int32_t to = 0;
    bool in = false;    // whether the unit joins the set
    double cut_ms = 0;  // of nets that are divided by that
  };
  struct Step {
    UnitId unit = 0;
    std::int32_t states = 0;       // after it
    std::size_t first_target = 0;  // into `first_moves`; there are states + 1 entries
  };
  const std::vector<Step>& steps() const { return steps_; }
  const std::vector<Move>& moves() const { return moves_; }
  // Of each state after each step, where the moves to it begin.
  const std::vector<std::size_t>& first_moves() const { return first_moves_; }
  std::size_t states() const { return states_; }  // of all steps
  int left_out() const { return left_out_; }      // nets that cost nothing here

 private:
  friend class FittingPlanner;

  std::vector<Step> steps_;
  std::vector<Move> moves_;
  std::vector<std::size_t> first_moves_;
  std::size_t states_ = 0;
  int left_out_ = 0;
};

// For devices of one kind. Of one thread.
class FittingSets {
 public:
  // Of a state and a cell: while it is priced, and what is kept of it.
  static constexpr double kValueBytes = sizeof(double);
  static constexpr double kChoiceBytes = sizeof(std::uint16_t);

  explicit FittingSets(const FittingPlan& plan) : plan_(&plan) {}

  // `time` of each unit, infinite where it cannot run; `price`, which may be below 0; loads up to
  // `most`, which is above 0, in so many cells.
  void price(const std::vector<double>& time, const std::vector<double>& price, double most,
             int cells);
  // No set of at most this load, which is at most `most`, has higher prices.
  double best(double load) const;
  // The set with these prices, and its load as it was counted: at most its true one.
  struct Set {
    std::vector<UnitId> units;
    double load = 0;
  };
  Set set(double load) const;

 private:
  // Of a state: the highest prices by load, which is `offset` + (index - 1) cells.
  struct List {
    double offset = 0;
    int lowest = 0;    // the first index with a value
    int highest = -1;  // the last; below `lowest` where there is none
    double top = 0;    // the largest value
    std::vector<double> value;
  };
  void fill(const std::vector<List>& before, std::size_t target, double time, double price,
            List& list);
  double offset_of(const std::vector<List>& before, std::size_t target, double time,
                   double price) const;
  int index_of(double load) const;

  const FittingPlan* plan_;
  int cells_ = 0;
  double cell_ = 1;
  List last_;
  std::vector<double> best_;  // of all loads up to that of the index
  std::vector<int> best_at_;
  std::vector<int> shifts_;               // of each move
  std::vector<std::uint16_t> choices_;    // of each state of each step and each index: which move
  std::vector<std::size_t> first_cells_;  // of each step, into choices_
};

}  // namespace optile::placement
