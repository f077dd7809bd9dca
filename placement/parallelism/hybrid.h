// Data or model parallelism (Pal et al., section 3): the time to converge is C = T * S * E, and on
// D devices each model may be split over M of them with N = D / M replicas. Against D replicas the
// split wins where SU^M > M * (SE_MN / SE_N) * (E_N / E_MN) (equation 6). Pure.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "base/result.h"

namespace optile::placement {

struct ParallelismProblem {
  // E: epochs to converge by the number of replicas (whose batch grows with it); nullopt says that
  // it does not converge. Any unit, since only ratios count.
  std::map<int, std::optional<double>> epochs;
  // SU^M: how much faster M devices run one replica's step than one; of our placement or pipeline,
  // or measured. 1 needs no entry.
  std::map<int, double> model_speedup;
  // SE: what N replicas do over N times what one does, by N; of N = 1 it is 1 and needs no entry.
  // Empty: replicas scale without loss, as the paper takes it.
  std::map<int, double> scaling_efficiency;
};

struct ParallelismChoice {
  int model_devices = 1;  // M
  int replicas = 1;       // N
  bool converges = false;
  // Against all devices as replicas of their own; nullopt where those do not converge.
  std::optional<double> over_data_parallel;
  // Against the same N replicas, each on one device.
  double over_same_replicas = 1;
  // What SU^M has to exceed (equation 6); nullopt where data parallelism does not converge.
  std::optional<double> needed_speedup;
};

struct ParallelismAdvice {
  int devices = 0;
  std::vector<ParallelismChoice> choices;  // by M, ascending; M = 1 first
  std::optional<std::size_t> best;         // of those that converge; nullopt where none does
};

// For one number of devices. An M that does not divide it is left out. Epochs between two known
// numbers of replicas are interpolated over the logarithm of both; below the least they are the
// least's; above the greatest nothing is known, which is an error (kNotFound). Efficiencies alike,
// but that one replica's is 1.
base::Result<ParallelismAdvice> advise(const ParallelismProblem& problem, int devices);

}  // namespace optile::placement
