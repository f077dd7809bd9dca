// Laws that say what an op costs in every case of a machine, for simulations and for scoring
// searches against known answers. docs/results/curves.md has the formulas and the fixed standard
// laws. Plain values; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "perfmodel/machine/machine.h"
#include "perfmodel/synthetic/configuration_times.h"
#include "perfmodel/synthetic/noise.h"

namespace optile::perfmodel {

enum class CurveFamily : uint8_t {
  kConvex,     // one minimum: overhead by thread against work by thread
  kFlat,       // no gain beyond a knee
  kSawTooth,   // convex, and a half filled tile holds up the rest
  kCliff,      // convex, and dearer once threads cross a socket
  kTwoMinima,  // convex, with a ridge in the middle
};

const char* curve_family_name(CurveFamily family);  // "saw_tooth"

// Seconds at width w: serial + parallel / w + per_thread * w, then what the family adds.
struct OpLaw {
  CurveFamily family = CurveFamily::kConvex;
  double serial = 0;      // seconds that no width shortens
  double parallel = 0;    // seconds of work at width 1
  double per_thread = 0;  // seconds that each further thread costs
  // kFlat: the knee as a share of the cores. kSawTooth, kCliff, kTwoMinima: how much dearer a case
  // is at the tooth, beyond the socket, on top of the ridge (0.2: by a fifth).
  double depth = 0;
  // How much dearer a case is that leaves fewer than kSparedCores to the system.
  double crowding = 0;
};

inline constexpr int kSparedCores = 2;

// kInfinity where the machine does not admit the case.
double law_seconds(const OpLaw& law, const Machine& machine, Configuration at);
ConfigurationTimes law_times(const OpLaw& law, const Machine& machine);

struct NamedLaw {
  std::string name;
  OpLaw law;
};
struct NamedNoise {
  std::string name;
  Noise noise;  // its seed is whoever scores'
};
// The fixed sets that docs/results/curves.md lists.
const std::vector<NamedLaw>& standard_laws();
const std::vector<NamedNoise>& standard_noise();

}  // namespace optile::perfmodel
