// Graphs and clusters from files of others. The format is recognised from the content, compressed
// or not; whatever is wrong is said with its position (a line, or the path of a JSON value).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "placement/cluster.h"
#include "placement/graph.h"

namespace optile::placement {

inline constexpr std::size_t kMaxFileBytes = std::size_t{256} << 20;

// The content of a file, unpacked where it is gzip. kInvalid where it is larger than
// kMaxFileBytes, truncated or damaged.
base::Result<std::string> read_whole_file(const std::string& path);
base::Result<std::string> unpacked(std::string bytes);

// A graph in any of the known formats: dnn-partitioning, piper, exprimo, our own graphs and step
// graphs, PyTorch's FX graphs and execution traces (JSON); pipedream and dapple profiles, doppler
// (text).
base::Result<Model> read_model(std::string_view text);

// A cluster: our own JSON, or exprimo's device graph.
base::Result<Cluster> read_cluster(std::string_view text);

// A published split of a graph (dnn-partitioning's experts, exprimo's assignments, or a list of
// devices, one a node, such as --json prints): the device of each node.
base::Result<std::vector<DeviceId>> read_assignment(std::string_view text, const Model& model,
                                                    const Cluster& cluster);

// What `optile place --json` printed for a graph that has changed since: the device of each node
// by the names of both, -1 for a node that is new and for one whose device is gone.
base::Result<std::vector<DeviceId>> read_earlier_answer(std::string_view text, const Graph& graph,
                                                        const Cluster& cluster);

}  // namespace optile::placement
