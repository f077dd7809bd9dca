// The method `ilp` of the objective step: DLPlacer's integer program, solved by CBC stretch by
// stretch.
#pragma once

#include <vector>

#include "placement/place.h"
#include "placement/step/step.h"

namespace optile::placement {

inline constexpr int kMostIlpDevices = 16;

struct IlpFound {
  std::vector<DeviceId> assignment;  // of each node; the best that was simulated
  // Proven for both kinds of links that has_program() lets in: no schedule of any placement ends
  // earlier, not even one that chooses among ready nodes as it likes.
  double lower_bound = 0;
};

// Each stretch is annealed and then solved for each way in which its waists can lie: on one device
// or on two, of each kind of device. The cheapest chain of stretches is the bound, and of what was
// found the placement. Seeded by the list methods. With a limit on evaluations alone, a node of
// CBC's tree being one, the answer depends on the seed only. Only where has_program().
IlpFound by_program(const Graph& graph, const Cluster& cluster, const StepSetting& setting,
                    const Request& request, Budget& budget);

}  // namespace optile::placement
