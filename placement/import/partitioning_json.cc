#include <unordered_map>

#include "placement/import/formats.h"

#include "placement/import/json_reader.h"

namespace optile::placement {
namespace {

struct Read {
  std::vector<Node> nodes;
  std::vector<Edge> edges;
  std::unordered_map<long long, NodeId> ids;
};

void read_node(const Json& json, std::size_t index, JsonReader& reader, Read& read) {
  const std::string where = place_in("nodes", index);
  Node node;
  const long long id = reader.integer(json, "id", where);
  node.name = reader.text_or(json, "name", "node " + std::to_string(id), where);
  node.file_id = id;
  node.kind = reader.text_or(json, "type", "", where);
  node.runs_on_accelerator = reader.flag_or(json, "supportedOnFpga", true, where);
  node.accelerator_ms = reader.number(json, "fpgaLatency", where);
  node.cpu_ms = reader.number(json, "cpuLatency", where);
  node.memory_bytes = reader.number_or(json, "size", 0, where);
  node.backward = reader.flag_or(json, "isBackwardNode", false, where);
  const long long colour = reader.integer_or(json, "colorClass", -1, where);
  if (colour < -1 || colour > INT32_MAX) reader.fail(where + ".colorClass", "it is out of range");
  node.colour = static_cast<std::int32_t>(colour);
  node.output_ms = 0;
  if (!read.ids.emplace(id, static_cast<NodeId>(index)).second) {
    reader.fail(where + ".id", "there is another node " + std::to_string(id));
  }
  read.nodes.push_back(std::move(node));
}

// The cost of a node's edges is that of its one tensor; where edges differ the largest counts.
void read_edge(const Json& json, std::size_t index, JsonReader& reader, Read& read) {
  const std::string where = place_in("edges", index);
  const long long source = reader.integer(json, "sourceId", where);
  const long long target = reader.integer(json, "destId", where);
  const double cost = reader.number(json, "cost", where);
  const double bytes = reader.number_or(json, "size", 0, where);
  if (!reader.ok()) return;
  if (cost < 0 || bytes < 0) reader.fail(where, "its cost or size is negative");
  const auto from = read.ids.find(source);
  const auto to = read.ids.find(target);
  if (from == read.ids.end()) reader.fail(where, "no node has the id " + std::to_string(source));
  if (to == read.ids.end()) reader.fail(where, "no node has the id " + std::to_string(target));
  if (!reader.ok()) return;
  Node& node = read.nodes[static_cast<std::size_t>(from->second)];
  node.output_ms = std::max(node.output_ms, cost);
  node.output_bytes = std::max(node.output_bytes, bytes);
  read.edges.push_back({from->second, to->second, false});
}

}  // namespace

base::Result<Model> read_partitioning(const Json& file) {
  JsonReader reader;
  Read read;
  const long long accelerators = reader.integer(file, "maxFPGAs", "the file");
  const long long cpus = reader.integer_or(file, "maxCPUs", 0, "the file");
  const double memory = reader.number(file, "maxSizePerFPGA", "the file");
  if (accelerators < 0 || cpus < 0 || accelerators + cpus < 1 ||
      accelerators + cpus > kMaxDevices) {
    reader.fail("the file", "maxFPGAs and maxCPUs have to make 1 to 4096 devices");
  }
  if (memory < 0) reader.fail("maxSizePerFPGA", "it is negative");
  const Json& nodes = reader.list(file, "nodes", "the file");
  for (std::size_t i = 0; i < nodes.size() && reader.ok(); ++i) {
    read_node(nodes[i], i, reader, read);
  }
  const Json& edges = reader.list(file, "edges", "the file");
  for (std::size_t i = 0; i < edges.size() && reader.ok(); ++i) {
    read_edge(edges[i], i, reader, read);
  }
  if (!reader.ok()) return reader.error();
  base::Result<Graph> graph = Graph::make(
      std::move(read.nodes), read.edges, [](std::size_t i) { return place_in("nodes", i); },
      [](std::size_t i) { return place_in("edges", i); });
  if (!graph.ok()) return graph.error();
  return Model{std::move(graph).value(),
               "dnn-partitioning",
               Cluster::uniform(static_cast<int>(accelerators), static_cast<int>(cpus), memory),
               {}};
}

}  // namespace optile::placement
