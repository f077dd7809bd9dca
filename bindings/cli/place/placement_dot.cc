#include "bindings/cli/place/placement_dot.h"

#include <algorithm>
#include <cmath>

#include "base/at.h"
#include "bindings/cli/place/place_output.h"

namespace optile::cli {
namespace {

using base::at;
using placement::DeviceId;
using placement::NodeId;

constexpr double kGoldenRatio = 0.618034;  // hues that follow each other lie far apart

// Within double quotes. Graphviz takes backslashes for escapes and ampersands for entities, and XML
// has no control characters.
std::string label_text(const std::string& text) {
  std::string label;
  for (const char letter : text) {
    if (letter == '"' || letter == '\\') label += '\\';
    label += static_cast<unsigned char>(letter) < ' ' || letter == '\x7f' ? ' ' : letter;
    if (letter == '&') label += "amp;";
  }
  return label;
}

std::string ms_text(double ms) {
  if (!std::isfinite(ms)) return "infinite";
  return format("%.3g ms", ms);
}

std::string bytes_text(double bytes) {
  const char* unit = "B";
  for (const char* larger : {"kB", "MB", "GB", "TB"}) {
    if (bytes < 1000) break;
    bytes /= 1000;
    unit = larger;
  }
  return format("%.3g ", bytes) + unit;
}

// Hue, saturation and value, as Graphviz reads them; CPUs are grey.
std::string colour_of(const placement::Cluster& cluster, DeviceId device) {
  const bool cpu = cluster.device(device).kind == placement::DeviceKind::kCpu;
  double whole = 0;
  return format("%.3f", std::modf(device * kGoldenRatio, &whole)) + (cpu ? " 0 0.8" : " 0.4 0.95");
}

std::string heading(const placement::Model& model, const placement::Answer& answer,
                    const std::string& title, placement::Objective objective) {
  std::string text =
      label_text(title) + "\\n" + placement::name_of(objective) + " " + ms_text(answer.cost);
  if (answer.lower_bound > 0) text += ", at least " + ms_text(answer.lower_bound);
  text += ", by " + answer.method + "; " + std::to_string(model.graph.size()) + " nodes, " +
          std::to_string(model.graph.edge_count()) + " edges";
  if (!answer.feasible) text += "\\nnot feasible: " + label_text(answer.violation);
  return text;
}

void add_device(const placement::Graph& graph, const placement::Cluster& cluster, DeviceId device,
                const std::vector<NodeId>& nodes, const placement::Answer& answer,
                std::string* dot) {
  const std::string id = std::to_string(device);
  *dot += "  subgraph cluster_" + id + " {\n    label=\"" +
          label_text(cluster.device(device).name) + ": " + ms_text(answer.load[at(device)]) + ", " +
          bytes_text(answer.memory[at(device)]) + "\";\n    node [fillcolor=\"" +
          colour_of(cluster, device) + "\"];\n";
  for (const NodeId node : nodes) {
    *dot += "    n" + std::to_string(node) + " [label=\"" + label_text(graph.node(node).name) +
            "\\n" + ms_text(cluster.time_ms(graph.node(node), device)) + "\"];\n";
  }
  *dot += "  }\n";
}

void add_edges(const placement::Graph& graph, const std::vector<DeviceId>& assignment, NodeId node,
               std::string* dot) {
  for (const NodeId next : graph.successors(node)) {
    const auto readers = graph.readers(node);
    const bool carries = std::find(readers.begin(), readers.end(), next) != readers.end();
    const bool leaves = assignment[at(node)] != assignment[at(next)];
    *dot += "  n" + std::to_string(node) + " -> n" + std::to_string(next);
    if (!carries) {
      *dot += " [style=dashed]";
    } else if (leaves) {
      *dot += " [color=red, label=\"" + bytes_text(graph.node(node).output_bytes) + "\"]";
    }
    *dot += ";\n";
  }
}

}  // namespace

std::string placement_dot(const placement::Model& model, const placement::Cluster& cluster,
                          const placement::Answer& answer, const std::string& title,
                          placement::Objective objective) {
  const placement::Graph& graph = model.graph;
  std::vector<std::vector<NodeId>> on_device(at(cluster.size()));
  for (NodeId node = 0; node < graph.size(); ++node) {
    on_device[at(answer.assignment[at(node)])].push_back(node);
  }
  std::string dot = "digraph placement {\n  labelloc=t;\n  label=\"" +
                    heading(model, answer, title, objective) +
                    "\";\n  fontname=\"sans-serif\";\n"
                    "  node [shape=box, style=filled, fontname=\"sans-serif\"];\n"
                    "  edge [fontname=\"sans-serif\"];\n";
  for (DeviceId device = 0; device < cluster.size(); ++device) {
    const std::vector<NodeId>& nodes = on_device[at(device)];
    if (!nodes.empty()) add_device(graph, cluster, device, nodes, answer, &dot);
  }
  for (NodeId node = 0; node < graph.size(); ++node) {
    add_edges(graph, answer.assignment, node, &dot);
  }
  return dot + "}\n";
}

}  // namespace optile::cli
