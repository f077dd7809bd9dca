#include "perfmodel/synthetic/op_law.h"

#include <algorithm>
#include <cmath>

namespace optile::perfmodel {
namespace {

constexpr double kRidgeWidth = 0.12;  // of the ridge between two minima, in shares of the cores

// Cores of the package that holds most of them: a wider team crosses a socket in any binding.
int cores_of_a_package(const Machine& machine) {
  std::vector<int> cores(static_cast<std::size_t>(std::max(machine.packages, 1)), 0);
  for (const Tile& tile : machine.tiles) {
    cores[static_cast<std::size_t>(tile.package)] += static_cast<int>(tile.cores.size());
  }
  return *std::max_element(cores.begin(), cores.end());
}

double family_factor(const OpLaw& law, const Machine& machine, const CaseSpace& space,
                     Configuration at) {
  switch (law.family) {
    case CurveFamily::kSawTooth: {
      const bool torn =
          at.binding == Binding::kMixed || (at.binding == Binding::kCompact && at.width % 2 == 1);
      return torn ? 1 + law.depth : 1;
    }
    case CurveFamily::kCliff:
      return at.width > cores_of_a_package(machine) ? 1 + law.depth : 1;
    case CurveFamily::kTwoMinima: {
      const double away = (static_cast<double>(at.width) / space.cores - 0.5) / kRidgeWidth;
      return 1 + law.depth * std::exp(-away * away);
    }
    case CurveFamily::kConvex:
    case CurveFamily::kFlat:
      break;
  }
  return 1;
}

double seconds_of(const OpLaw& law, const Machine& machine, const CaseSpace& space,
                  Configuration at) {
  double workers = at.width;
  if (law.family == CurveFamily::kFlat) {
    workers = std::min(workers, std::max(law.depth * space.cores, 1.0));
  }
  const double plain = law.serial + law.parallel / workers + law.per_thread * at.width;
  const bool crowded = space.cores > kSparedCores && at.width > space.cores - kSparedCores;
  return plain * family_factor(law, machine, space, at) * (crowded ? 1 + law.crowding : 1);
}

}  // namespace

const char* curve_family_name(CurveFamily family) {
  switch (family) {
    case CurveFamily::kConvex:
      return "convex";
    case CurveFamily::kFlat:
      return "flat";
    case CurveFamily::kSawTooth:
      return "saw_tooth";
    case CurveFamily::kCliff:
      return "cliff";
    case CurveFamily::kTwoMinima:
      return "two_minima";
  }
  return "";
}

double law_seconds(const OpLaw& law, const Machine& machine, Configuration at) {
  const CaseSpace space = case_space(machine);
  return space.admits(at) ? seconds_of(law, machine, space, at) : kInfinity;
}

ConfigurationTimes law_times(const OpLaw& law, const Machine& machine) {
  const CaseSpace space = case_space(machine);
  ConfigurationTimes times;
  for (const Configuration at : space.all()) {
    times.set(at, seconds_of(law, machine, space, at));
  }
  return times;
}

const std::vector<NamedLaw>& standard_laws() {
  static const std::vector<NamedLaw> laws{
      {"convex_narrow", {CurveFamily::kConvex, 1e-3, 28e-3, 41e-6, 0, 0}},
      {"convex_wide", {CurveFamily::kConvex, 1e-3, 400e-3, 60e-6, 0, 0}},
      {"convex_serial", {CurveFamily::kConvex, 100e-6, 20e-6, 20e-6, 0, 0}},
      {"flat_early", {CurveFamily::kFlat, 200e-6, 8e-3, 0, 0.1, 0}},
      {"flat_late", {CurveFamily::kFlat, 200e-6, 80e-3, 1e-6, 0.7, 0}},
      {"saw_tooth_shallow", {CurveFamily::kSawTooth, 1e-3, 100e-3, 50e-6, 0.05, 0}},
      {"saw_tooth_deep", {CurveFamily::kSawTooth, 0, 60e-3, 20e-6, 0.4, 0}},
      {"cliff_low", {CurveFamily::kCliff, 1e-3, 200e-3, 5e-6, 0.15, 0}},
      {"cliff_high", {CurveFamily::kCliff, 1e-3, 200e-3, 5e-6, 0.8, 0}},
      {"two_minima_left", {CurveFamily::kTwoMinima, 2e-3, 60e-3, 60e-6, 0.5, 0}},
      {"two_minima_right", {CurveFamily::kTwoMinima, 1e-3, 300e-3, 10e-6, 0.5, 0}},
      {"crowded", {CurveFamily::kConvex, 1e-3, 300e-3, 20e-6, 0, 0.1}},
  };
  return laws;
}

const std::vector<NamedNoise>& standard_noise() {
  static const std::vector<NamedNoise> models{{"none", {}},
                                              {"calm", {0, 0.01, 0, 1}},
                                              {"shared", {0, 0.05, 0.02, 3}},
                                              {"rough", {0, 0.15, 0.1, 5}}};
  return models;
}

}  // namespace optile::perfmodel
