// Which colour stands for a device, in all parts of a picture. Pure.
#pragma once

#include <string>
#include <vector>

#include "placement/cluster.h"

namespace optile::cli {

// "#rrggbb" of each device: accelerators differ as far as eyes tell them apart, CPUs are grey.
std::vector<std::string> device_colours(const placement::Cluster& cluster);

// The same colour on the way to white: 0 leaves it, 1 is white.
std::string lighter(const std::string& colour, double part);

}  // namespace optile::cli
