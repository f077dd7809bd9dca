// `optile place --svg FILE`: a placement as a picture that a person can read. Pure.
#pragma once

#include <string>
#include <vector>

#include "placement/answer.h"
#include "placement/cluster.h"
#include "placement/timeline.h"

namespace optile::cli {

// The devices with their load and memory, the graph in their colours, and where there are spans
// what happens when. Of bounded size: large graphs are drawn as stretches of their levels.
// `answer` has a device for each node, feasible or not.
std::string placement_picture(const placement::Model& model, const placement::Cluster& cluster,
                              const placement::Answer& answer,
                              const std::vector<placement::Span>& spans, const std::string& title,
                              const std::string& objective);

}  // namespace optile::cli
