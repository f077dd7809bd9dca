// exprimo's networks: layers with shapes, some of them in blocks. Times are analytic.
#include <cmath>
#include <unordered_map>

#include "placement/import/formats.h"
#include "placement/import/layer_costs.h"

namespace optile::placement {
namespace {

struct Shape {
  double batch = 0, height = 1, width = 1, channels = 1;
  double values() const { return batch * height * width * channels; }
};

struct Layer {
  std::string name;
  const Json* json = nullptr;
  std::vector<std::string> parents;
  long long device = -1;
};

std::string path_of(const std::string& name) {
  return "layers." + name;
}

// Four entries, for data in the order of TensorFlow: batch, height, width, channels; for filters
// height, width, channels in (-1: those that come in), channels out.
bool four(const Json& json, const char* key, double (&values)[4]) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_array() || found->size() != 4) return false;
  for (std::size_t i = 0; i < 4; ++i) {
    const Json& one = (*found)[i];
    if (!one.is_number()) return false;
    values[i] = one.get<double>();
    const bool open = i == 2 && values[i] == -1;
    if (!open && (values[i] < 1 || values[i] > 1e9)) return false;
  }
  return true;
}

// Of data, which may have been made flat: batch and values.
bool data_shape(const Json& json, double (&values)[4]) {
  if (four(json, "tensor", values)) return values[2] > 0;
  const auto found = json.find("tensor");
  if (found == json.end() || !found->is_array() || found->size() != 2) return false;
  Json whole = json;
  whole["tensor"] = {(*found)[0], 1, 1, (*found)[1]};
  return four(whole, "tensor", values);
}

class ExprimoReader {
 public:
  base::Result<Model> read(const Json& file);

 private:
  void add(const std::string& name, const Json& json, std::vector<std::string> parents,
           long long device);
  void add_block(const std::string& name, const Json& json, const std::vector<std::string>& parents,
                 long long device);
  std::vector<std::string> parents_of(const Json& json, const std::string& where);
  // Sets the node's costs; the output's shape.
  Shape cost(const Layer& layer, const std::vector<Shape>& inputs, Node& node);
  Shape windowed(const Json& json, const char* window, const Shape& input,
                 const std::string& where);

  JsonReader reader_;
  std::vector<Layer> layers_;
  std::unordered_map<std::string, std::string> ends_;  // of blocks: the layer with their output
};

std::vector<std::string> ExprimoReader::parents_of(const Json& json, const std::string& where) {
  std::vector<std::string> parents;
  for (const Json& parent : reader_.list(json, "parents", where)) {
    if (!parent.is_string()) {
      reader_.fail(where + ".parents", "names of layers are expected");
      break;
    }
    parents.push_back(parent.get<std::string>());
  }
  return parents;
}

void ExprimoReader::add_block(const std::string& name, const Json& json,
                              const std::vector<std::string>& parents, long long device) {
  const std::string where = path_of(name);
  const Json& layers = reader_.member(json, "layers", where);
  const std::string end = reader_.text_or(json, "endpoint", "", where);
  if (reader_.ok() && (!layers.is_object() || !layers.contains(end))) {
    reader_.fail(where + ".endpoint", "it has to be one of the block's layers");
  }
  if (!reader_.ok()) return;
  ends_[name] = name + "/" + end;
  const std::string block = name + "/";
  for (const auto& [inner, layer] : layers.items()) {
    const std::string full = block + inner;
    std::vector<std::string> inside = parents_of(layer, path_of(full));
    for (std::string& parent : inside) parent.insert(0, block);
    add(full, layer, inside.empty() ? parents : inside,
        reader_.integer_or(layer, "device", device, path_of(full)));
    if (!reader_.ok()) return;
  }
}

void ExprimoReader::add(const std::string& name, const Json& json, std::vector<std::string> parents,
                        long long device) {
  if (layers_.size() >= kMaxNodes) reader_.fail(path_of(name), "there are too many layers");
  layers_.push_back({name, &json, std::move(parents), device});
}

Shape ExprimoReader::windowed(const Json& json, const char* window, const Shape& input,
                              const std::string& where) {
  double size[4] = {};
  double stride[4] = {};
  if (!four(json, window, size)) reader_.fail(where + "." + window, "four numbers are expected");
  if (!four(json, "strides", stride)) reader_.fail(where + ".strides", "four numbers are expected");
  if (!reader_.ok()) return input;
  const bool filter = std::string_view(window) == "filter";
  const double high = filter ? size[0] : size[1];
  const double wide = filter ? size[1] : size[2];
  const bool same = reader_.text_or(json, "padding", "SAME", where) == "SAME";
  Shape out = input;
  out.height = std::ceil((input.height - (same ? 0 : high - 1)) / stride[1]);
  out.width = std::ceil((input.width - (same ? 0 : wide - 1)) / stride[2]);
  out.height = std::max(out.height, 1.0);
  out.width = std::max(out.width, 1.0);
  if (filter) out.channels = size[3];
  return out;
}

Shape ExprimoReader::cost(const Layer& layer, const std::vector<Shape>& inputs, Node& node) {
  const std::string where = path_of(layer.name);
  const Json& json = *layer.json;
  node.kind = reader_.text_or(json, "type", "", where);
  Shape out = inputs.empty() ? Shape() : inputs.front();
  double read = 0;
  for (const Shape& input : inputs) read += input.values();
  double operations = read;
  double parameters = 0;
  if (node.kind == "Input") {
    double shape[4] = {};
    if (!data_shape(json, shape)) {
      reader_.fail(where + ".tensor", "two or four numbers are expected");
    }
    out = {shape[0], shape[1], shape[2], shape[3]};
    operations = 0;
  } else if (node.kind == "Convolution") {
    double filter[4] = {};
    const double in = out.channels;
    out = windowed(json, "filter", out, where);
    if (!four(json, "filter", filter)) return out;
    parameters = filter[0] * filter[1] * in * filter[3];
    operations = 2 * out.values() * filter[0] * filter[1] * in;
  } else if (json.contains("ksize")) {
    out = windowed(json, "ksize", out, where);
  } else if (node.kind == "InnerProduct") {
    const double in = out.height * out.width * out.channels;
    const double width = reader_.number(json, "num_outputs", where);
    if (reader_.ok() && (width < 1 || width > 1e9)) reader_.fail(where, "num_outputs is wrong");
    out = {out.batch, 1, 1, width};
    parameters = in * width;
    operations = 2 * out.batch * parameters;
  } else if (node.kind == "Concatenate") {
    out.channels = 0;
    for (const Shape& input : inputs) out.channels += input.channels;
  }
  const double moved = (read + out.values() + parameters) * kBytesPerValue;
  node.accelerator_ms = node.kind == "Input" ? 0 : kPasses * roofline_ms(operations, moved);
  node.cpu_ms = node.accelerator_ms * kCpuSlowdown;
  node.output_bytes = out.values() * kBytesPerValue;
  node.memory_bytes = node.output_bytes + parameters * kBytesPerValue;
  return out;
}

base::Result<Model> ExprimoReader::read(const Json& file) {
  const Json& layers = reader_.member(file, "layers", "the file");
  if (reader_.ok() && !layers.is_object()) reader_.fail("layers", "an object is expected");
  if (!reader_.ok()) return reader_.error();
  for (const auto& [name, json] : layers.items()) {
    const std::string where = path_of(name);
    std::vector<std::string> parents = parents_of(json, where);
    const long long device = reader_.integer_or(json, "device", -1, where);
    if (reader_.ok() && reader_.text_or(json, "type", "", where) == "Block") {
      add_block(name, json, parents, device);
    } else if (reader_.ok()) {
      add(name, json, std::move(parents), device);
    }
    if (!reader_.ok()) return reader_.error();
  }
  std::unordered_map<std::string, NodeId> ids;
  std::vector<Node> nodes(layers_.size());
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    nodes[i].name = layers_[i].name;
    ids.emplace(layers_[i].name, static_cast<NodeId>(i));
  }
  std::vector<Edge> edges;
  std::vector<std::size_t> edge_layers;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    for (const std::string& parent : layers_[i].parents) {
      const auto end = ends_.find(parent);
      const auto found = ids.find(end == ends_.end() ? parent : end->second);
      if (found == ids.end()) {
        reader_.fail(path_of(layers_[i].name), "no layer " + parent);
        return reader_.error();
      }
      edges.push_back({found->second, static_cast<NodeId>(i), false});
      edge_layers.push_back(i);
    }
  }
  const auto where_node = [&](std::size_t i) { return path_of(layers_[i].name); };
  const auto where_edge = [&](std::size_t i) { return path_of(layers_[edge_layers[i]].name); };
  // Once for the order in which shapes are known, once with the costs.
  const base::Result<Graph> bare = Graph::make(nodes, edges, where_node, where_edge);
  if (!bare.ok()) return bare.error();
  std::vector<Shape> shapes(nodes.size());
  std::vector<DeviceId> assignment;
  for (const NodeId id : bare.value().order()) {
    const auto at = static_cast<std::size_t>(id);
    std::vector<Shape> inputs;
    for (const NodeId input : bare.value().inputs(id)) {
      inputs.push_back(shapes[static_cast<std::size_t>(input)]);
    }
    shapes[at] = cost(layers_[at], inputs, nodes[at]);
    if (!reader_.ok()) return reader_.error();
  }
  bool placed = true;
  for (const Layer& layer : layers_) {
    placed = placed && layer.device >= 0 && layer.device < kMaxDevices;
    if (placed) assignment.push_back(static_cast<DeviceId>(layer.device));
  }
  if (!placed) assignment.clear();
  base::Result<Graph> graph = Graph::make(std::move(nodes), edges, where_node, where_edge);
  if (!graph.ok()) return graph.error();
  return Model{std::move(graph).value(), "exprimo", std::nullopt, std::move(assignment)};
}

}  // namespace

base::Result<Model> read_exprimo(const Json& file) {
  return ExprimoReader().read(file);
}

base::Result<Cluster> read_exprimo_cluster(const Json& file) {
  constexpr double kGbitPerSecondInBytesPerMs = 1e9 / 8 / 1e3;
  JsonReader reader;
  Cluster cluster;
  const Json& channels = reader.list(file, "comm_channels", "the file");
  const Json& devices = reader.list(file, "devices", "the file");
  for (std::size_t i = 0; i < devices.size() && reader.ok(); ++i) {
    const std::string where = "devices[" + std::to_string(i) + "]";
    Device device;
    device.name = reader.text_or(devices[i], "model", where, where);
    device.kind = reader.text_or(devices[i], "type", "gpu", where) == "cpu"
                      ? DeviceKind::kCpu
                      : DeviceKind::kAccelerator;
    const double flops = reader.number(devices[i], "peak_gflops", where) * 1e6;
    device.speed = flops / kReferenceFlopsPerMs;
    if (device.kind == DeviceKind::kCpu) device.speed *= kCpuSlowdown;
    device.memory_bytes = reader.number(devices[i], "memory", where) * 1e9;
    cluster.devices.push_back(device);
    const Json& neighbours = reader.list(devices[i], "neighbours", where);
    for (std::size_t j = 0; j < neighbours.size() && reader.ok(); ++j) {
      const std::string here = where + ".neighbours[" + std::to_string(j) + "]";
      const long long other = reader.integer(neighbours[j], "device", here);
      const long long channel = reader.integer(neighbours[j], "comm_channel", here);
      if (channel < 0 || channel >= static_cast<long long>(channels.size())) {
        reader.fail(here + ".comm_channel", "there is no such channel");
      }
      if (other < 0 || other > kMaxDevices) reader.fail(here + ".device", "no such device");
      if (!reader.ok()) break;
      const double rate =
          reader.number(channels[static_cast<std::size_t>(channel)], "bandwidth", here);
      // Each link is listed from both ends.
      if (static_cast<long long>(i) < other) {
        cluster.links.push_back(
            {static_cast<int>(i), static_cast<int>(other), rate * kGbitPerSecondInBytesPerMs, 0});
      }
    }
  }
  if (!reader.ok()) return reader.error();
  if (!cluster.links.empty()) cluster.bytes_per_ms = cluster.links.front().bytes_per_ms;
  const base::Status good = cluster.check();
  if (!good.ok()) return good.error();
  return cluster;
}

}  // namespace optile::placement
