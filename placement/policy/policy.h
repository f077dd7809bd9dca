// Learned placements (spec 2): what all policies have in common. Of one thread; the same seed and
// tasks give the same policy. It remembers tasks by their address: they live as long as it does.
#pragma once

#include <memory>

#include "placement/method.h"
#include "placement/policy/parameters.h"
#include "placement/policy/task.h"
#include "placement/random.h"

namespace optile::placement::policy {

class Policy {
 public:
  virtual ~Policy() = default;
  // The most groups that it takes a graph in.
  virtual int most_groups() const = 0;
  // Tries placements of the task and learns from what they cost, once. `used` is the part of all
  // learning that has been done, from 0 to 1.
  virtual void learn(Task& task, double used, Random& random, Budget& budget) = 0;
  // Places the task without learning: likeliest devices, or drawn ones.
  virtual void answer(Task& task, bool drawn, Random& random, Budget& budget) = 0;

  Parameters& parameters() { return parameters_; }
  const Parameters& parameters() const { return parameters_; }

 protected:
  Parameters parameters_;
};

// Untrained, for so many devices; null for a method that does not learn.
std::unique_ptr<Policy> make_policy(Method method, int devices, std::uint64_t seed);

}  // namespace optile::placement::policy
