#include <cctype>
#include <unordered_map>

#include "base/result.h"
#include "placement/import/formats.h"
#include "placement/import/importer.h"

namespace optile::placement {
namespace {

using base::invalid;

std::string_view without_space(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())) != 0) {
    text.remove_prefix(1);
  }
  return text;
}

base::Result<Model> read_json_model(const Json& file, std::string_view text) {
  if (!file.is_object()) return invalid("a graph in JSON is an object");
  // Others may use the word for themselves.
  const auto format = file.find("format");
  if (format != file.end() && format->is_string() &&
      format->get_ref<const std::string&>().starts_with("optile ")) {
    if (*format == "optile step graph") return read_step(text);
    if (*format == "optile fx graph") return read_fx(file);
    return invalid("format: \"optile step graph\" or \"optile fx graph\" is expected");
  }
  if (file.contains("schema") && file.contains("nodes")) return read_execution_trace(file);
  if (file.contains("maxFPGAs")) return read_partitioning(file);
  if (file.contains("maxDevices")) return read_piper(file);
  if (file.contains("layers")) return read_exprimo(file);
  if (file.contains("nodes") && file.contains("edges")) return read_own_graph(file);
  if (file.contains("problem")) {
    return invalid("this is a problem of strategies: optile place strategy takes it");
  }
  if (file.contains("devices")) return invalid("this is a cluster and no graph");
  return invalid(
      "no known graph: JSON of dnn-partitioning, piper, exprimo, optile or PyTorch's execution "
      "traces is expected, which have maxFPGAs, maxDevices, layers, nodes and edges or a format, "
      "or schema and nodes");
}

base::Result<std::vector<DeviceId>> numbered(const Json& list, int nodes, int devices) {
  std::vector<DeviceId> assignment;
  if (list.size() != static_cast<std::size_t>(nodes)) {
    return invalid("there are " + std::to_string(list.size()) + " devices for " +
                   std::to_string(nodes) + " nodes");
  }
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Json& one = list[i];
    if (!one.is_number_integer() || one.get<long long>() < 0 || one.get<long long>() >= devices) {
      return invalid("entry " + std::to_string(i) + ": a device from 0 to " +
                     std::to_string(devices - 1) + " is expected");
    }
    assignment.push_back(static_cast<DeviceId>(one.get<long long>()));
  }
  return assignment;
}

// dnn-partitioning's experts name nodes by their numbers.
base::Result<std::vector<DeviceId>> expert_split(const Json& file, const Model& model,
                                                 const Cluster& cluster) {
  std::unordered_map<long long, NodeId> ids;
  for (NodeId id = 0; id < model.graph.size(); ++id) ids.emplace(model.graph.node(id).file_id, id);
  std::vector<DeviceId> assignment(static_cast<std::size_t>(model.graph.size()), -1);
  for (const char* kind : {"fpgas", "cpus"}) {
    const bool cpu = std::string_view(kind) == "cpus";
    DeviceId device = -1;
    if (!file.contains(kind)) continue;
    JsonReader reader;
    const Json& parts = reader.list(file, kind, "the split");
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const std::string where = std::string(kind) + "[" + std::to_string(i) + "]";
      const auto fits = [&](DeviceId id) {
        return (cluster.device(id).kind == DeviceKind::kCpu) == cpu;
      };
      do ++device;
      while (device < cluster.size() && !fits(device));
      const Json& nodes = reader.list(parts[i], "nodes", where);
      if (!reader.ok()) return reader.error();
      if (device >= cluster.size() && !nodes.empty()) {
        return invalid(where + ": the cluster has no such device");
      }
      for (const Json& node : nodes) {
        const auto found = node.is_number_integer() ? ids.find(node.get<long long>()) : ids.end();
        if (found == ids.end()) return invalid(where + ": no node " + node.dump());
        DeviceId& at = assignment[static_cast<std::size_t>(found->second)];
        if (at >= 0) return invalid(where + ": node " + node.dump() + " stands in the split twice");
        at = device;
      }
    }
    if (!reader.ok()) return reader.error();
  }
  for (NodeId id = 0; id < model.graph.size(); ++id) {
    if (assignment[static_cast<std::size_t>(id)] < 0) {
      return invalid("the split leaves node " + model.graph.node(id).name + " out");
    }
  }
  return assignment;
}

// exprimo: {"layer": device}.
base::Result<std::vector<DeviceId>> by_name(const Json& file, const Model& model, int devices) {
  std::vector<DeviceId> assignment;
  for (const Node& node : model.graph.nodes()) {
    const auto found = file.find(node.name);
    if (found == file.end()) return invalid("the file has no device for node " + node.name);
    if (!found->is_number_integer() || found->get<long long>() < 0 ||
        found->get<long long>() >= devices) {
      return invalid("node " + node.name + ": a device from 0 to " + std::to_string(devices - 1) +
                     " is expected");
    }
    assignment.push_back(static_cast<DeviceId>(found->get<long long>()));
  }
  return assignment;
}

}  // namespace

base::Result<Model> read_model(std::string_view text) {
  const std::string_view start = without_space(text);
  if (start.empty()) return invalid("the file is empty");
  if (start.front() == '{' || start.front() == '[') {
    const base::Result<Json> file = parse_json(text);
    if (!file.ok()) return file.error();
    return read_json_model(file.value(), text);
  }
  const std::string_view line = start.substr(0, start.find('\n'));
  if (line.find(" -- ") != std::string_view::npos) return read_profile(text);
  if (std::isdigit(static_cast<unsigned char>(line.front())) != 0) return read_doppler(text);
  return invalid(
      "line 1: no known graph: JSON, a profile (NAME -- LAYER -- ...) or a list of "
      "operations (a number of nodes) is expected");
}

base::Result<Cluster> read_cluster(std::string_view text) {
  const base::Result<Json> file = parse_json(text);
  if (!file.ok()) return file.error();
  if (!file.value().is_object()) return invalid("a cluster is an object");
  if (file.value().contains("comm_channels")) return read_exprimo_cluster(file.value());
  return read_own_cluster(file.value(), "cluster");
}

base::Result<std::vector<DeviceId>> read_assignment(std::string_view text, const Model& model,
                                                    const Cluster& cluster) {
  const base::Result<Json> parsed = parse_json(text);
  if (!parsed.ok()) return parsed.error();
  const Json& file = parsed.value();
  if (file.is_array()) return numbered(file, model.graph.size(), cluster.size());
  if (!file.is_object()) return invalid("a list of devices or an object is expected");
  if (file.contains("assignment") && file["assignment"].is_array()) {
    return numbered(file["assignment"], model.graph.size(), cluster.size());
  }
  if (file.contains("fpgas") && file["fpgas"].is_array()) {
    return expert_split(file, model, cluster);
  }
  return by_name(file, model, cluster.size());
}

}  // namespace optile::placement
