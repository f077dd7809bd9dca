// The readers of single formats, for recognise.cc and their tests.
#pragma once

#include <string_view>

#include "base/result.h"
#include "placement/cluster.h"
#include "placement/import/json_reader.h"

namespace optile::placement {

// dnn-partitioning: maxFPGAs, maxCPUs, maxSizePerFPGA, nodes, edges.
base::Result<Model> read_partitioning(const Json& file);
// piper: nodes with TMPCs. The first way to run a node without tensor parallelism is taken, its
// memory for one sample in flight.
base::Result<Model> read_piper(const Json& file);
// exprimo: layers with shapes; times by layer_costs.h.
base::Result<Model> read_exprimo(const Json& file);
// Our own.
base::Result<Model> read_own_graph(const Json& file);
base::Result<Cluster> read_own_cluster(const Json& file, const std::string& where);
base::Result<Cluster> read_exprimo_cluster(const Json& file);
// Step graphs of perfmodel/synthetic/step_graph_json.h: of each op its fastest case, and its result
// as 4-byte values by its shape. A device is a machine like the one that the times are of.
base::Result<Model> read_step(std::string_view text);
// bindings/python/optile/fx.py: times as measured, else by layer_costs.h.
base::Result<Model> read_fx(const Json& file);
// PyTorch's execution traces: the outermost ops; times where the trace has them, else by
// layer_costs.h.
base::Result<Model> read_execution_trace(const Json& file);
// pipedream and dapple: a node's time is forward and backward together.
base::Result<Model> read_profile(std::string_view text);
// doppler: operations and bytes; on the reference accelerator of layer_costs.h.
base::Result<Model> read_doppler(std::string_view text);

}  // namespace optile::placement
