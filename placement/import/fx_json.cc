// What bindings/python/optile/fx.py writes of a model's FX graph.
#include <algorithm>
#include <array>
#include <unordered_map>

#include "placement/import/formats.h"
#include "placement/import/json_reader.h"
#include "placement/import/layer_costs.h"

namespace optile::placement {
namespace {

constexpr int kVersion = 2;  // 1 has no ops, which are not for us
constexpr std::array<std::string_view, 5> kOps = {"placeholder", "get_attr", "call_module",
                                                  "call_function", "call_method"};

class FxReader {
 public:
  base::Result<Model> read(const Json& file) {
    const long long version = reader_.integer(file, "version", "the file");
    if (version < 1 || version > kVersion) {
      reader_.fail("version", "this optile reads 1 and 2");
    }
    const std::string on = reader_.text_or(file, "measured_on", "", "the file");
    if (!on.empty() && on != "cpu" && on != "cuda") {
      reader_.fail("measured_on", "cpu or cuda is expected");
    }
    const Json& listed = reader_.list(file, "nodes", "the file");
    for (std::size_t i = 0; i < listed.size() && reader_.ok(); ++i) read_node(listed[i], i);
    for (std::size_t i = 0; i < listed.size() && reader_.ok(); ++i) read_inputs(listed[i], i);
    for (std::size_t i = 0; i < listed.size() && reader_.ok(); ++i) set_time(listed[i], i, on);
    if (!reader_.ok()) return reader_.error();
    base::Result<Graph> graph = Graph::make(
        std::move(nodes_), edges_, [](std::size_t i) { return place_in("nodes", i); },
        [&](std::size_t i) { return wheres_[i]; });
    if (!graph.ok()) return graph.error();
    return Model{std::move(graph).value(), "fx", std::nullopt, {}};
  }

 private:
  void read_node(const Json& json, std::size_t index) {
    const std::string where = place_in("nodes", index);
    const Json& name = reader_.member(json, "name", where);
    if (reader_.ok() && !name.is_string()) reader_.fail(where + ".name", "a text is expected");
    const std::string op = reader_.text_or(json, "op", "", where);
    if (std::find(kOps.begin(), kOps.end(), op) == kOps.end()) {
      reader_.fail(where + ".op",
                   "placeholder, get_attr, call_module, call_function or call_method is expected");
    }
    Node node;
    node.kind = reader_.text_or(json, "kind", op, where);
    node.output_bytes = reader_.number_or(json, "output_bytes", 0, where);
    const double parameters = reader_.number_or(json, "parameter_bytes", 0, where);
    // Each for itself: a sum would hide one.
    if (parameters < 0) reader_.fail(where + ".parameter_bytes", "it is negative");
    if (node.output_bytes < 0) reader_.fail(where + ".output_bytes", "it is negative");
    node.memory_bytes = node.output_bytes + parameters;
    const long long colour = reader_.integer_or(json, "colour", -1, where);
    if (colour < -1 || colour > INT32_MAX) reader_.fail(where + ".colour", "it is out of range");
    if (!reader_.ok()) return;
    node.colour = static_cast<std::int32_t>(colour);
    node.name = name.get<std::string>();
    if (!ids_.emplace(node.name, static_cast<NodeId>(index)).second) {
      reader_.fail(where + ".name", "there is another node " + node.name);
    }
    nodes_.push_back(std::move(node));
    read_bytes_.push_back(0);
  }

  void read_inputs(const Json& json, std::size_t index) {
    const std::string where = place_in("nodes", index) + ".inputs";
    const Json& inputs = reader_.list(json, "inputs", place_in("nodes", index));
    for (std::size_t i = 0; i < inputs.size() && reader_.ok(); ++i) {
      const auto found =
          inputs[i].is_string() ? ids_.find(inputs[i].get<std::string>()) : ids_.end();
      if (found == ids_.end()) {
        reader_.fail(place_in(where, i), "no node has this name");
        return;
      }
      edges_.push_back({found->second, static_cast<NodeId>(index), false});
      wheres_.push_back(place_in(where, i));
      read_bytes_[index] += nodes_[static_cast<std::size_t>(found->second)].output_bytes;
    }
  }

  // As it was measured, else by operations and bytes on the reference accelerator.
  void set_time(const Json& json, std::size_t index, const std::string& on) {
    const std::string where = place_in("nodes", index);
    Node& node = nodes_[index];
    const double flops = reader_.number_or(json, "flops", 0, where);
    if (flops < 0) reader_.fail(where + ".flops", "it is negative");
    const double bytes = read_bytes_[index] + node.memory_bytes;
    const std::string op = reader_.text_or(json, "op", "", where);
    const bool works = op != "placeholder" && op != "get_attr";
    node.accelerator_ms =
        reader_.number_or(json, "ms", works ? roofline_ms(flops, bytes) : 0, where);
    const bool as_measured = on == "cpu" && json.contains("ms");
    node.cpu_ms = as_measured ? node.accelerator_ms : node.accelerator_ms * kCpuSlowdown;
  }

  JsonReader reader_;
  std::vector<Node> nodes_;
  std::vector<double> read_bytes_;
  std::vector<Edge> edges_;
  std::vector<std::string> wheres_;  // of each edge
  std::unordered_map<std::string, NodeId> ids_;
};

}  // namespace

base::Result<Model> read_fx(const Json& file) {
  return FxReader().read(file);
}

}  // namespace optile::placement
