// Files with graphs, clusters, splits and earlier answers, as `optile place` reads them.
#include <cmath>

#include "placement/import/importer.h"
#include "placement/place.h"
#include "tests/fuzz/fuzz_target.h"

namespace {

constexpr const char* kSplitGraph =
    R"({"maxSizePerFPGA": 100, "maxFPGAs": 2, "maxCPUs": 1, "nodes": [
        {"id": 7, "name": "a", "cpuLatency": 10, "fpgaLatency": 1},
        {"id": 9, "name": "b", "cpuLatency": 20, "fpgaLatency": 2}],
        "edges": [{"sourceId": 7, "destId": 9, "cost": 0.5}]})";

// Of a graph that others may have divided otherwise than it can be.
void read_split(const std::string& text) {
  using namespace optile::placement;
  using optile::fuzz::require;
  static const Model model = read_model(kSplitGraph).value();
  const auto split = read_assignment(text, model, *model.cluster);
  require(split.ok() || !split.message().empty(), "a refusal says why");
  require(!split.ok() || split.value().size() == 2, "every node has a device");
  for (const DeviceId device : split.ok() ? split.value() : std::vector<DeviceId>()) {
    require(device >= 0 && device < model.cluster->size(), "a device is one of the cluster");
  }
  const auto earlier = read_earlier_answer(text, model.graph, *model.cluster);
  require(earlier.ok() || !earlier.message().empty(), "a refusal says why");
  for (const DeviceId device : earlier.ok() ? earlier.value() : std::vector<DeviceId>()) {
    require(device >= -1 && device < model.cluster->size(), "a device is one of the cluster");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  using namespace optile::placement;
  using optile::fuzz::require;
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  const auto text = unpacked(bytes);
  if (!text.ok()) {
    require(!text.message().empty(), "a refusal says why");
    return 0;
  }
  read_split(text.value());
  const auto cluster = read_cluster(text.value());
  if (cluster.ok()) require(cluster.value().check().ok(), "a cluster that was read is valid");
  const auto model = read_model(text.value());
  if (!model.ok()) {
    require(!model.message().empty(), "a refusal says why");
    return 0;
  }
  const Graph& graph = model.value().graph;
  require(graph.size() > 0 && graph.order().size() == graph.nodes().size(), "all is ordered");
  const Cluster devices =
      model.value().cluster ? *model.value().cluster : Cluster::uniform(2, 0, 1e9);
  if (graph.size() > 200 || devices.size() > 16) return 0;
  for (const Objective objective : {Objective::kLoad, Objective::kLatency, Objective::kStep}) {
    Request request;
    request.objective = objective;
    request.method = Method::kBlock;
    const auto answer = place(graph, devices, request);
    require(answer.ok(), "every graph can be answered for");
    require(answer.value().assignment.size() == graph.nodes().size(), "every node has a device");
    require(!answer.value().feasible || std::isfinite(answer.value().cost), "a cost is finite");
    require(answer.value().lower_bound <= answer.value().cost * (1 + 1e-9), "a bound is below");
  }
  return 0;
}

std::vector<std::string> optile::fuzz::seeds() {
  return {R"({"maxSizePerFPGA": 100, "maxFPGAs": 2, "maxCPUs": 1, "nodes": [
           {"id": 7, "cpuLatency": 10, "fpgaLatency": 1, "colorClass": 3, "size": 5},
           {"id": 9, "supportedOnFpga": 0, "cpuLatency": 20, "fpgaLatency": 2, "size": 6}],
           "edges": [{"sourceId": 7, "destId": 9, "cost": 0.5, "size": 40}]})",
          R"({"nodes": [{"accelerator_ms": 1}, {"accelerator_ms": 2}], "edges":
           [{"source": 0, "target": 1}], "cluster": {"devices": [{"speed": 2}, {"kind": "cpu"}],
           "links": [{"from": 0, "to": 1, "bytes_per_second": 1000}]}})",
          R"({"maxDevices": 3, "maxMemoryPerDevice": 1000, "bandwidth": 2000, "nodes": [
           {"id": 0, "TMPCs": {"1": [{"timePerSample": 4}]}}], "edges": []})",
          R"({"layers": {"d": {"parents": [], "type": "Input", "tensor": [2, 8, 8, 3]},
           "c": {"parents": ["d"], "type": "Convolution", "filter": [3, 3, -1, 4],
           "padding": "VALID", "strides": [1, 1, 1, 1]}}})",
          R"({"comm_channels": [{"bandwidth": 8}], "devices": [{"type": "gpu", "peak_gflops": 100,
           "memory": 4, "neighbours": [{"device": 1, "comm_channel": 0}]},
           {"type": "cpu", "peak_gflops": 10, "memory": 4, "neighbours": []}]})",
          ("a -- A -- forward_compute_time=1, backward_compute_time=2, activation_size=[3; 4], "
           "parameter_size=5\nb -- B -- forward_compute_time=1, backward_compute_time=2, "
           "activation_size=3, parameter_size=5\n\ta -- b\n"),
          "3\n0, \n0, 0, 1, \n1, 2, 2, \n56,10\n112,20\n",
          R"J({"format": "optile step graph", "version": 1, "instances": [
           {"op": "Conv", "shape": "(2,3)->(2,4)", "times": {"spread": [0.4], "mixed": [null]}}],
           "nodes": [{"instance": 0}, {"instance": 0, "inputs": [0]}]})J",
          R"J({"format": "optile fx graph", "version": 1, "measured_on": "cpu", "nodes": [
           {"name": "x", "op": "placeholder", "inputs": [], "output_bytes": 480},
           {"name": "fc", "op": "call_module", "inputs": ["x"], "ms": 0.25, "colour": 2,
            "parameter_bytes": 900}]})J",
          R"J({"schema": "1.1.0-chakra.0.0.4", "nodes": [{"id": 3, "name": "aten::mm",
           "ctrl_deps": 2, "dur": 5, "inputs": {"values": [[10, 110, 0, 6, 4, "cpu"], [[7]]],
           "shapes": [[2, 3], []], "types": ["Tensor(float)", "GenericList[Tensor(float)]"]},
           "outputs": {"values": [], "shapes": [], "types": []}}]})J",
          R"J({"schema": "1.0.1", "nodes": [{"name": "aten::relu_", "id": 2, "parent": 1,
           "inputs": [[3, 4, 0, 6, 4]], "input_shapes": [[6]], "input_types": ["Tensor(int)"],
           "outputs": [[3, 4, 0, 6, 4]], "output_shapes": [[6]],
           "output_types": ["Tensor(int)"]}]})J",
          R"({"fpgas": [{"nodes": [7]}, {"nodes": []}], "cpus": [{"nodes": [9]}]})",
          R"({"a": 0, "b": 2})",
          "[0, 1]",
          R"({"nodes": ["b", "new", "a"], "assignment": [1, 0, 2],
           "devices": ["accelerator 0", "cpu 0", "gone"]})"};
}
