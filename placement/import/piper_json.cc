#include <unordered_map>

#include "placement/import/formats.h"
#include "placement/import/json_reader.h"
#include "placement/import/layer_costs.h"

namespace optile::placement {
namespace {

Node read_layer_node(const Json& json, const std::string& where, JsonReader& reader) {
  Node node;
  node.name = reader.text_or(json, "name", "node", where);
  const Json& ways = reader.member(json, "TMPCs", where);
  const Json& alone = reader.list(ways, "1", where + ".TMPCs");
  if (reader.ok() && alone.empty()) reader.fail(where + ".TMPCs.1", "the list is empty");
  if (!reader.ok()) return node;
  const std::string way = where + ".TMPCs.1[0]";
  node.accelerator_ms = reader.number(alone[0], "timePerSample", way);
  node.cpu_ms = node.accelerator_ms * kCpuSlowdown;
  node.memory_bytes = reader.number_or(alone[0], "memoryUsageA", 0, way) +
                      reader.number_or(alone[0], "memoryUsageB", 0, way);
  return node;
}

}  // namespace

base::Result<Model> read_piper(const Json& file) {
  JsonReader reader;
  const long long devices = reader.integer(file, "maxDevices", "the file");
  const double memory = reader.number(file, "maxMemoryPerDevice", "the file");
  const double bandwidth = reader.number(file, "bandwidth", "the file");
  if (devices < 1 || devices > kMaxDevices) {
    reader.fail("maxDevices", "has to be from 1 to 4096");
  }
  if (reader.ok() && bandwidth <= 0) reader.fail("bandwidth", "has to be above 0");
  if (memory < 0) reader.fail("maxMemoryPerDevice", "it is negative");
  std::vector<Node> nodes;
  std::unordered_map<long long, NodeId> ids;
  const Json& listed = reader.list(file, "nodes", "the file");
  for (std::size_t i = 0; i < listed.size() && reader.ok(); ++i) {
    const std::string where = place_in("nodes", i);
    const long long id = reader.integer(listed[i], "id", where);
    nodes.push_back(read_layer_node(listed[i], where, reader));
    if (!ids.emplace(id, static_cast<NodeId>(i)).second) {
      reader.fail(where + ".id", "there is another node " + std::to_string(id));
    }
  }
  std::vector<Edge> edges;
  const Json& arrows = reader.list(file, "edges", "the file");
  for (std::size_t i = 0; i < arrows.size() && reader.ok(); ++i) {
    const std::string where = place_in("edges", i);
    const auto from = ids.find(reader.integer(arrows[i], "sourceId", where));
    const auto to = ids.find(reader.integer(arrows[i], "destId", where));
    const double bytes = reader.number_or(arrows[i], "communicationCost", 0, where);
    if (from == ids.end() || to == ids.end()) reader.fail(where, "an end is no node");
    if (bytes < 0) reader.fail(where + ".communicationCost", "it is negative");
    if (!reader.ok()) break;
    Node& source = nodes[static_cast<std::size_t>(from->second)];
    source.output_bytes = std::max(source.output_bytes, bytes);
    edges.push_back({from->second, to->second, false});
  }
  if (!reader.ok()) return reader.error();
  base::Result<Graph> graph = Graph::make(
      std::move(nodes), edges, [](std::size_t i) { return place_in("nodes", i); },
      [](std::size_t i) { return place_in("edges", i); });
  if (!graph.ok()) return graph.error();
  Cluster cluster = Cluster::uniform(static_cast<int>(devices), 0, memory);
  cluster.bytes_per_ms = bandwidth / 1e3;
  return Model{std::move(graph).value(), "piper", std::move(cluster), {}};
}

}  // namespace optile::placement
