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
// The graph in a file; its errors name it, like all of these.
base::Result<placement::Model> read_graph(const std::string& file);
// The devices of the options, else of the graph's file.
base::Result<placement::Cluster> cluster_of(const ClusterOptions& options, const std::string& graph,
                                            const placement::Model& model);
base::Result<std::shared_ptr<const placement::policy::SavedPolicy>> read_policy_file(
    const std::string& file);
// The device of each node of a published split.
base::Result<std::vector<placement::DeviceId>> read_split(const std::string& file,
                                                          const placement::Model& model,
                                                          const placement::Cluster& cluster);
// What the options ask for, of a method.
placement::Request request_of(const ProblemOptions& options, placement::Method method);

}  // namespace optile::cli
