#include "placement/parallelism/hybrid.h"

#include <cmath>
#include <iterator>
#include <string>

#include "base/result.h"

namespace optile::placement {
namespace {

using base::invalid;

base::Status check(const ParallelismProblem& problem, int devices) {
  if (devices < 1) return invalid("the number of devices has to be at least 1");
  if (problem.epochs.empty()) return invalid("epochs are needed for some number of replicas");
  for (const auto& [replicas, epochs] : problem.epochs) {
    const bool good = !epochs || (std::isfinite(*epochs) && *epochs > 0);
    if (replicas < 1 || !good) return invalid("numbers of replicas and epochs are above 0");
  }
  for (const auto& [count, speedup] : problem.model_speedup) {
    const bool good = count > 1 && std::isfinite(speedup) && speedup > 0;
    if (!good) return invalid("a model's speed-up is above 0, on at least 2 devices");
  }
  for (const auto& [replicas, efficiency] : problem.scaling_efficiency) {
    const bool good = replicas > 1 ? std::isfinite(efficiency) && efficiency > 0
                                   : replicas == 1 && efficiency == 1;
    if (!good) return invalid("an efficiency is above 0, of at least 1 replica, whose own is 1");
  }
  return {};
}

// Between two numbers of replicas, over the logarithm of both.
double between(const std::pair<const int, double>& below, const std::pair<const int, double>& above,
               int replicas) {
  const double part = std::log(static_cast<double>(replicas) / below.first) /
                      std::log(static_cast<double>(above.first) / below.first);
  return below.second * std::pow(above.second / below.second, part);
}

// An inner nullopt: does not converge. A number next to one that does not is not guessed.
base::Result<std::optional<double>> epochs_at(const ParallelismProblem& problem, int replicas) {
  const auto above = problem.epochs.lower_bound(replicas);
  if (above == problem.epochs.end()) {
    return base::Error{base::ErrorKind::kNotFound,
                       "epochs are not known for " + std::to_string(replicas) + " replicas"};
  }
  if (above->first == replicas || above == problem.epochs.begin()) return above->second;
  const auto below = std::prev(above);
  if (!below->second) return std::optional<double>();
  if (!above->second) {
    return base::Error{
        base::ErrorKind::kNotFound,
        "epochs are not known for " + std::to_string(replicas) + " replicas: more do not converge"};
  }
  return std::optional<double>(
      between({below->first, *below->second}, {above->first, *above->second}, replicas));
}

base::Result<double> efficiency_at(const ParallelismProblem& problem, int replicas) {
  if (problem.scaling_efficiency.empty()) return 1.0;
  std::map<int, double> known = problem.scaling_efficiency;
  known[1] = 1;
  const auto above = known.lower_bound(replicas);
  if (above == known.end()) {
    return base::Error{base::ErrorKind::kNotFound, "the scaling efficiency is not known for " +
                                                       std::to_string(replicas) + " replicas"};
  }
  if (above->first == replicas) return above->second;
  return between(*std::prev(above), *above, replicas);
}

}  // namespace

base::Result<ParallelismAdvice> advise(const ParallelismProblem& problem, int devices) {
  if (auto status = check(problem, devices); !status.ok()) return status.error();
  const auto all = epochs_at(problem, devices);
  if (!all.ok()) return all.error();
  const base::Result<double> all_efficiency = efficiency_at(problem, devices);
  if (!all_efficiency.ok()) return all_efficiency.error();
  ParallelismAdvice advice;
  advice.devices = devices;
  std::map<int, double> speedups = problem.model_speedup;
  speedups[1] = 1;
  double best = 0;
  for (const auto& [split, speedup] : speedups) {
    if (devices % split != 0) continue;
    ParallelismChoice choice;
    choice.model_devices = split;
    choice.replicas = devices / split;
    choice.over_same_replicas = speedup;
    const auto epochs = epochs_at(problem, choice.replicas);
    if (!epochs.ok()) return epochs.error();
    const base::Result<double> efficiency = efficiency_at(problem, choice.replicas);
    if (!efficiency.ok()) return efficiency.error();
    choice.converges = epochs.value().has_value();
    if (choice.converges) {
      // Samples a second of all replicas, over epochs: 1 / C but for a constant.
      const double rate = choice.replicas * speedup * efficiency.value() / *epochs.value();
      if (all.value()) {
        choice.needed_speedup = split * (all_efficiency.value() / efficiency.value()) *
                                (*epochs.value() / *all.value());
        choice.over_data_parallel = speedup / *choice.needed_speedup;
      }
      if (rate > best) {
        best = rate;
        advice.best = advice.choices.size();
      }
    }
    advice.choices.push_back(choice);
  }
  return advice;
}

}  // namespace optile::placement
