// Annealing, whatever is annealed: acceptance at a temperature that falls as the budget is used,
// and rounds of chains side by side. The same seeds and number of evaluations give the same ends.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <thread>
#include <utility>
#include <vector>

#include "placement/budget.h"
#include "placement/cluster.h"
#include "placement/random.h"

namespace optile::placement {

struct Score {
  double cost = 0;    // infinite where the assignment has no meaning
  double excess = 0;  // memory beyond the caps, as a sum of fractions of them
};

struct Candidate {
  std::vector<DeviceId> assignment;
  Score score;
  bool operator<(const Candidate& other) const {
    return std::pair(score.excess, score.cost) < std::pair(other.score.excess, other.score.cost);
  }
};

struct Cooling {
  double start = 0.02;  // temperatures, as fractions of the cost at the start
  double end = 0.0005;
};

// Of one chain and one thread.
class Metropolis {
 public:
  // It looks at the budget and its temperature once in so many rounds. What is worse by more than
  // `hopeless` temperatures is refused without a random number.
  explicit Metropolis(int rounds_per_look,
                      double hopeless = std::numeric_limits<double>::infinity())
      : rounds_per_look_(static_cast<std::uint64_t>(rounds_per_look)), hopeless_(hopeless) {}

  // `scale` is the cost at the start.
  void start(const Cooling& cooling, double scale);
  // Before each round: whether the budget has one more. A round that tries nothing counts for
  // nothing there, and a chain of such rounds has an end too.
  bool goes_on(Budget& budget);
  std::uint64_t rounds() const { return rounds_; }
  // Whether a move that changes the energy so is to be made.
  bool accepts(double before, double after, Random& random) const;

 private:
  std::uint64_t rounds_per_look_;
  double hopeless_;
  double start_ = 0;  // temperature
  double log_ratio_ = 0;
  double temperature_ = 0;
  std::uint64_t rounds_ = 0;
};

inline constexpr int kChains = 4;
inline constexpr int kRounds = 3;

// Chains of one round begin with the best of the rounds before, the worse ones in the first.
struct RoundPlan {
  double parts[kRounds];  // of the budget that is left
  int wide_rounds;        // in which each chain has a start of its own
  int chains_a_start;     // in the others
};

// Sorts `pool`, the best first, and adds the ends of `run(start, cooling, seed, budget)` to it,
// each chain on a thread of its own.
template <typename Cooling, typename Run>
void anneal_in_rounds(std::vector<Candidate>& pool, const Cooling (&coolings)[kRounds][kChains],
                      const RoundPlan& plan, std::uint64_t seed, Budget& budget, Run run) {
  for (int round = 0; round < kRounds && !budget.spent_now(); ++round) {
    std::vector<Candidate> ends(kChains);
    std::vector<Budget> budgets;
    std::vector<std::thread> threads;
    budgets.reserve(kChains);
    threads.reserve(kChains);
    for (int i = 0; i < kChains; ++i) {
      budgets.push_back(budget.part(plan.parts[round], plan.parts[round] / kChains));
    }
    for (int i = 0; i < kChains; ++i) {
      threads.emplace_back([&, i] {
        const auto from =
            static_cast<std::size_t>(round < plan.wide_rounds ? i : i / plan.chains_a_start);
        const auto at = static_cast<std::size_t>(i);
        ends[at] = run(pool[std::min(from, pool.size() - 1)].assignment, coolings[round][i],
                       seed * 1000 + static_cast<std::uint64_t>(round * kChains + i), budgets[at]);
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (std::size_t i = 0; i < ends.size(); ++i) {
      budget.absorb(budgets[i]);
      pool.push_back(std::move(ends[i]));
    }
    std::stable_sort(pool.begin(), pool.end());
  }
}

}  // namespace optile::placement
