// What is known of one op place: samples by case, first touches (never samples), and how often a
// case was asked for. Owned by the step model; searches read it. One thread.
#pragma once

#include <cstddef>
#include <map>
#include <optional>

#include "perfmodel/profile/configuration.h"
#include "perfmodel/profile/profile.h"

namespace optile::tuner {

struct OpSamples {
  perfmodel::Profile profile;
  std::map<perfmodel::Configuration, perfmodel::Nanoseconds> touched;  // fastest first touch
  // Executions that contain a change of width; samples only where there are no others.
  std::map<perfmodel::Configuration, perfmodel::SampleSet> with_change;
  std::map<perfmodel::Configuration, int> asked;  // scheduled steps that were to run it
};

// A time with its uncertainty.
struct Estimate {
  double ns = 0;
  double error_ns = 0;  // standard error
  std::size_t samples = 0;
};

// Asked for this often without one sample: the case cannot be had (clipped, refused, dropped).
inline constexpr int kAskedInVain = 4;

// Median of the samples; nullopt without any. With few samples the spread is not known: it is taken
// from `reference` (the control), but never below a tenth of the time.
// An execution takes no longer than that, as far as samples tell: what it takes at the nearest
// wider case of the same binding, or at the program's own, as if all of it scaled. 0 = not known.
double longest_ns(const OpSamples& samples, perfmodel::Configuration at,
                  perfmodel::Configuration own);

std::optional<Estimate> measured(const OpSamples& samples, perfmodel::Configuration at,
                                 perfmodel::Configuration reference);

// Standard error of a difference.
double error_of_difference(const Estimate& a, const Estimate& b);

}  // namespace optile::tuner
