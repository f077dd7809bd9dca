// Training steps of known networks as graphs, by name. Pure; any thread.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "perfmodel/machine/machine.h"
#include "perfmodel/networks/framework_ops.h"
#include "perfmodel/synthetic/step_graph.h"

namespace optile::perfmodel {

std::vector<std::string> network_names();  // in the order in which they are listed to a user

// The step of this network with its times on this machine: curves fitted to the paper's Tables II
// and VI (docs/results/curves.md), on other machines as if their cores were those of `knl`. An
// unknown name: kNotFound, and the message lists those there are.
base::Result<StepGraph> network_graph(const std::string& name, const Machine& machine);

// The ops of its step at the paper's batch and image size, as network_graph() sees them.
base::Result<std::vector<networks::FrameworkOp>> network_ops(const std::string& name);

// What this op of the network costs on this machine, by the same curves. An op that only passes its
// tensors on, or whose kind no table of the network has, costs the dispatch and opens no team.
OpInstance network_instance(const std::string& network, const networks::FrameworkOp& op,
                            const Machine& machine);

}  // namespace optile::perfmodel
