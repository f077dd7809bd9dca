// What `optile place` and `optile compare` read before a method is called.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "bindings/cli/place/place_options.h"
#include "placement/cluster.h"
#include "placement/place.h"

namespace optile::cli {

// The first Ctrl-C ends the search, a second one the program.
void listen_to_interrupts();
bool was_interrupted();
const std::atomic<bool>& interruption();  // for a search to look at

// All files below a folder, sorted. An error where it, or a folder in it, cannot be read.
base::Result<std::vector<std::string>> files_of(const std::string& folder);
// The graph in `text`, the unpacked content of the options' file.
base::Result<placement::Model> model_of(const PlaceOptions& options, const std::string& text);
// The devices of the options, else of the graph's file.
base::Result<placement::Cluster> cluster_of(const PlaceOptions& options,
                                            const placement::Model& model);
// Not of strategies, which are no placement.
placement::Objective objective_of(const PlaceOptions& options);
placement::StepLinks links_of(const PlaceOptions& options);
// The trained policy of the options, which name one.
base::Result<std::shared_ptr<const placement::policy::SavedPolicy>> policy_of(
    const PlaceOptions& options);
base::Result<placement::Request> request_of(const PlaceOptions& options,
                                            const placement::Model& model,
                                            const placement::Cluster& cluster);

}  // namespace optile::cli
