#include <algorithm>

#include "placement/import/formats.h"
#include "placement/import/json_reader.h"
#include "placement/import/layer_costs.h"

namespace optile::placement {
namespace {

Bound read_bound(const Json& json, const std::string& where, JsonReader& reader) {
  const std::string word = reader.text_or(json, "bound", "unknown", where);
  if (word == "compute") return Bound::kCompute;
  if (word == "memory") return Bound::kMemory;
  if (word == "network") return Bound::kNetwork;
  if (word != "unknown") {
    reader.fail(where + ".bound", "compute, memory, network or unknown is expected");
  }
  return Bound::kUnknown;
}

Node read_node(const Json& json, const std::string& where, JsonReader& reader) {
  Node node;
  node.name = reader.text_or(json, "name", where, where);
  node.kind = reader.text_or(json, "kind", "", where);
  node.accelerator_ms = reader.number(json, "accelerator_ms", where);
  node.cpu_ms = reader.number_or(json, "cpu_ms", node.accelerator_ms * kCpuSlowdown, where);
  node.runs_on_accelerator = reader.flag_or(json, "runs_on_accelerator", true, where);
  node.memory_bytes = reader.number_or(json, "memory_bytes", 0, where);
  node.output_bytes = reader.number_or(json, "output_bytes", 0, where);
  node.output_ms = reader.number_or(json, "output_ms", -1, where);
  node.stateful = reader.flag_or(json, "stateful", false, where);
  node.backward = reader.flag_or(json, "backward", false, where);
  const long long colour = reader.integer_or(json, "colour", -1, where);
  if (colour < -1 || colour > INT32_MAX) reader.fail(where + ".colour", "it is out of range");
  node.colour = static_cast<std::int32_t>(colour);
  node.bound = read_bound(json, where, reader);
  return node;
}

int end_of(const Json& json, const char* key, const std::string& where, JsonReader& reader) {
  const long long end = reader.integer(json, key, where);
  if (end < 0 || end > INT32_MAX) reader.fail(where + "." + key, "it is out of range");
  return reader.ok() ? static_cast<int>(end) : 0;
}

Device read_device(const Json& json, const std::string& where, JsonReader& reader) {
  Device device;
  device.name = reader.text_or(json, "name", where, where);
  const std::string kind = reader.text_or(json, "kind", "accelerator", where);
  if (kind != "accelerator" && kind != "cpu") {
    reader.fail(where + ".kind", "accelerator or cpu is expected");
  }
  device.kind = kind == "cpu" ? DeviceKind::kCpu : DeviceKind::kAccelerator;
  device.speed = reader.number_or(json, "speed", 1, where);
  device.memory_bytes = reader.number_or(json, "memory_bytes", device.memory_bytes, where);
  const long long host = reader.integer_or(json, "host", 0, where);
  if (host < 0 || host > kMaxDevices) reader.fail(where + ".host", "it is out of range");
  device.host = static_cast<int>(host);
  return device;
}

}  // namespace

base::Result<Cluster> read_own_cluster(const Json& file, const std::string& where) {
  JsonReader reader;
  Cluster cluster;
  const Json& devices = reader.list(file, "devices", where);
  if (devices.size() > static_cast<std::size_t>(kMaxDevices)) {
    reader.fail(where + ".devices", "at most 4096 are taken");
  }
  for (std::size_t i = 0; i < devices.size() && reader.ok(); ++i) {
    cluster.devices.push_back(read_device(devices[i], place_in(where + ".devices", i), reader));
  }
  const long long routers = reader.integer_or(file, "routers", 0, where);
  if (routers < 0 || routers > kMaxDevices) reader.fail(where + ".routers", "it is out of range");
  cluster.routers = static_cast<int>(routers);
  cluster.bytes_per_ms =
      reader.number_or(file, "bytes_per_second", cluster.bytes_per_ms * 1e3, where) / 1e3;
  cluster.latency_ms = reader.number_or(file, "latency_ms", cluster.latency_ms, where);
  if (reader.ok() && file.contains("links")) {
    const Json& links = reader.list(file, "links", where);
    for (std::size_t i = 0; i < links.size() && reader.ok(); ++i) {
      const std::string here = place_in(where + ".links", i);
      Link link;
      link.from = end_of(links[i], "from", here, reader);
      link.to = end_of(links[i], "to", here, reader);
      link.bytes_per_ms = reader.number(links[i], "bytes_per_second", here) / 1e3;
      link.latency_ms = reader.number_or(links[i], "latency_ms", 0, here);
      cluster.links.push_back(link);
    }
  }
  if (!reader.ok()) return reader.error();
  const base::Status good = cluster.check();
  if (!good.ok()) return good.error();
  return cluster;
}

base::Result<Model> read_own_graph(const Json& file) {
  JsonReader reader;
  std::vector<Node> nodes;
  const Json& listed = reader.list(file, "nodes", "the file");
  for (std::size_t i = 0; i < listed.size() && reader.ok(); ++i) {
    nodes.push_back(read_node(listed[i], place_in("nodes", i), reader));
  }
  std::vector<Edge> edges;
  const Json& arrows = reader.list(file, "edges", "the file");
  for (std::size_t i = 0; i < arrows.size() && reader.ok(); ++i) {
    const std::string where = place_in("edges", i);
    edges.push_back({end_of(arrows[i], "source", where, reader),
                     end_of(arrows[i], "target", where, reader),
                     reader.flag_or(arrows[i], "control", false, where)});
  }
  if (!reader.ok()) return reader.error();
  base::Result<Graph> graph = Graph::make(
      std::move(nodes), edges, [](std::size_t i) { return place_in("nodes", i); },
      [](std::size_t i) { return place_in("edges", i); });
  if (!graph.ok()) return graph.error();
  Model model{std::move(graph).value(), "optile-graph", std::nullopt, {}};
  if (file.contains("cluster")) {
    base::Result<Cluster> cluster = read_own_cluster(file["cluster"], "cluster");
    if (!cluster.ok()) return cluster.error();
    model.cluster = std::move(cluster).value();
  }
  return model;
}

}  // namespace optile::placement
