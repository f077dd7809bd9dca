// Exact optimisation of some of a core's nodes while the others keep their strategies: bucket
// elimination in an order of least tables (OptCNN's node and edge elimination are its cases with
// one and two neighbours). Where a table would grow past a limit, a node is held at its present
// strategy instead; then the answer is the best among those that agree with it there.
// Memory counts only through the prices in the costs that are given.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "placement/strategy/core.h"

namespace optile::placement {

struct EliminationLimits {
  std::size_t table_entries = 1 << 16;  // the greatest table that is made
  std::size_t total_entries = 1 << 26;  // all tables together
};

// Of one thread; reused for many windows, which saves its memory from being asked for again.
class Elimination {
 public:
  using Values = std::vector<std::uint16_t>;
  using NodeCosts = std::vector<std::vector<double>>;
  using Allowed = std::vector<std::vector<std::uint16_t>>;

  // The core must outlive it.
  Elimination(const Core& core, EliminationLimits limits);

  // Improves `values` on the nodes of `window` (each once), given what every node's strategies cost
  // by themselves. `allowed`, where given, has for each node of the core the strategies to look at;
  // the present one is always looked at. Returns how many nodes were held: 0 says that the window
  // is optimal. `random` chooses among orders of equal merit.
  std::size_t improve(const std::vector<std::uint32_t>& window, const NodeCosts& costs,
                      const Allowed* allowed, std::mt19937_64& random, Values& values);

 private:
  struct Factor {
    std::vector<std::uint32_t> variables;  // ascending
    std::vector<double> own;
    const double* data = nullptr;  // own, or a table of the core
  };
  struct Variable {
    std::uint32_t node = 0;
    std::vector<std::uint16_t> domain;
    std::vector<double> costs;
    std::vector<std::uint32_t> factors;
    std::vector<std::uint32_t> neighbours;  // ascending
    std::uint16_t chosen = 0;               // index in domain
    bool done = false;
  };
  struct Step {
    std::uint32_t variable;
    std::vector<std::uint32_t> factors;
  };
  // One factor as seen from a loop over the scope of a variable that is being eliminated.
  struct View {
    const double* at = nullptr;
    std::size_t own_step = 0;        // per strategy of the variable
    std::vector<std::size_t> steps;  // per strategy of each of the scope
  };

  void load(const std::vector<std::uint32_t>& window, const NodeCosts& costs,
            const Allowed* allowed, const Values& values);
  void load_variable(std::uint32_t variable, const NodeCosts& costs, const Allowed* allowed,
                     const Values& values);
  void load_edges(std::uint32_t variable, const Values& values);
  void add_pair(std::uint32_t variable, const CoreNeighbour& other);
  void join(const std::vector<std::uint32_t>& scope);
  void detach(std::uint32_t variable);
  double merit(std::uint32_t variable, std::mt19937_64& random) const;
  double entries(std::uint32_t variable) const;
  void eliminate(std::uint32_t variable);
  void minimise(const Variable& of, const std::vector<std::uint32_t>& scope,
                std::vector<View>& views, std::vector<double>& out);
  std::vector<View> views_of(std::uint32_t variable, const std::vector<std::uint32_t>& scope) const;
  std::uint32_t to_hold(std::uint32_t least, std::mt19937_64& random) const;
  void hold(std::uint32_t variable);
  void slice(std::uint32_t factor, std::uint32_t variable);
  void add_factor(Factor factor);
  void choose(const Step& step);

  const Core& core_;
  EliminationLimits limits_;
  std::vector<std::int32_t> local_;  // of each node of the core, or -1
  std::vector<Variable> variables_;
  std::vector<Factor> factors_;
  std::vector<Step> steps_;
  std::size_t stored_ = 0;
  double degree_power_ = 1;   // how much many neighbours speak for holding a node
  std::vector<double> sums_;  // scratch
};

}  // namespace optile::placement
