// The text profiles of pipedream and dapple, and doppler's lists of operations.
#include <charconv>
#include <cmath>
#include <string>
#include <unordered_map>

#include "placement/import/formats.h"
#include "placement/import/layer_costs.h"

namespace optile::placement {
namespace {

constexpr std::string_view kSeparator = " -- ";

base::Error invalid(std::size_t line, const std::string& what) {
  return {base::ErrorKind::kInvalid, "line " + std::to_string(line) + ": " + what};
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

bool parse_number(std::string_view text, double& value) {
  text = trimmed(text);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && std::isfinite(value) &&
         value >= 0;
}

// "12.5" or "[12; 5]", which adds up.
bool parse_size(std::string_view text, double& value) {
  text = trimmed(text);
  if (text.empty() || text.front() != '[') return parse_number(text, value);
  if (text.back() != ']') return false;
  text = text.substr(1, text.size() - 2);
  value = 0;
  while (!text.empty()) {
    const std::size_t end = text.find(';');
    double one = 0;
    if (!parse_number(text.substr(0, end), one)) return false;
    value += one;
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return true;
}

// The value behind "key=", up to a comma outside brackets.
bool find_value(std::string_view fields, std::string_view key, double& value) {
  const std::size_t at = fields.find(std::string(key) + "=");
  if (at == std::string_view::npos) return false;
  std::string_view rest = fields.substr(at + key.size() + 1);
  const std::size_t bracket = rest.starts_with("[") ? rest.find(']') : 0;
  return parse_size(rest.substr(0, rest.find(',', bracket)), value);
}

// Calls `take(number, text)` for each line, until it answers with an error.
template <typename Take>
base::Status each_line(std::string_view text, Take take) {
  std::size_t number = 0;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    base::Status taken = take(++number, line);
    if (!taken.ok()) return taken;
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return {};
}

struct Profile {
  std::vector<Node> nodes;
  std::vector<std::size_t> node_lines;
  std::unordered_map<std::string, NodeId> ids;
  struct Arrow {
    std::string source, target;
    std::size_t line;
  };
  std::vector<Arrow> arrows;
};

base::Status read_node_line(std::size_t number, std::string_view line, Profile& profile) {
  const std::size_t first = line.find(kSeparator);
  const std::size_t last = line.rfind(kSeparator);
  if (first == std::string_view::npos || first == last) {
    return invalid(number, "a node is written NAME -- LAYER -- forward_compute_time=, ...");
  }
  const std::string_view fields = line.substr(last + kSeparator.size());
  double forward = 0;
  double backward = 0;
  double activation = 0;
  double parameters = 0;
  const std::pair<const char*, double*> wanted[] = {{"forward_compute_time", &forward},
                                                    {"backward_compute_time", &backward},
                                                    {"activation_size", &activation},
                                                    {"parameter_size", &parameters}};
  for (const auto& [key, value] : wanted) {
    if (!find_value(fields, key, *value)) {
      return invalid(number, std::string(key) + " is missing or no number from 0 on");
    }
  }
  Node node;
  node.name = trimmed(line.substr(0, first));
  node.kind = line.substr(first + kSeparator.size(), last - first - kSeparator.size());
  node.accelerator_ms = forward + backward;
  node.cpu_ms = node.accelerator_ms * kCpuSlowdown;
  node.output_bytes = activation;
  node.memory_bytes = activation + parameters;
  if (!profile.ids.emplace(node.name, static_cast<NodeId>(profile.nodes.size())).second) {
    return invalid(number, "there is another node " + node.name);
  }
  profile.nodes.push_back(std::move(node));
  profile.node_lines.push_back(number);
  return {};
}

base::Status read_profile_line(std::size_t number, std::string_view line, Profile& profile) {
  if (trimmed(line).empty()) return {};
  if (line.front() != '\t' && line.front() != ' ') return read_node_line(number, line, profile);
  const std::size_t middle = line.find(kSeparator);
  if (middle == std::string_view::npos) return invalid(number, "an edge is written A -- B");
  profile.arrows.push_back({std::string(trimmed(line.substr(0, middle))),
                            std::string(trimmed(line.substr(middle + kSeparator.size()))), number});
  return {};
}

}  // namespace

base::Result<Model> read_profile(std::string_view text) {
  Profile profile;
  const base::Status read = each_line(text, [&](std::size_t number, std::string_view line) {
    return read_profile_line(number, line, profile);
  });
  if (!read.ok()) return read.error();
  std::vector<Edge> edges;
  for (const Profile::Arrow& arrow : profile.arrows) {
    const auto from = profile.ids.find(arrow.source);
    const auto to = profile.ids.find(arrow.target);
    if (from == profile.ids.end()) return invalid(arrow.line, "no node " + arrow.source);
    if (to == profile.ids.end()) return invalid(arrow.line, "no node " + arrow.target);
    edges.push_back({from->second, to->second, false});
  }
  const auto line_of = [](std::size_t line) { return "line " + std::to_string(line); };
  base::Result<Graph> graph = Graph::make(
      std::move(profile.nodes), edges,
      [&](std::size_t i) { return line_of(profile.node_lines[i]); },
      [&](std::size_t i) { return line_of(profile.arrows[i].line); });
  if (!graph.ok()) return graph.error();
  return Model{std::move(graph).value(), "profile", std::nullopt, {}};
}

namespace {

base::Status read_ids(std::size_t number, std::string_view line, std::size_t nodes,
                      std::vector<NodeId>& ids) {
  line = trimmed(line);
  while (!line.empty()) {
    const std::size_t end = line.find(',');
    const std::string_view word = trimmed(line.substr(0, end));
    double value = 0;
    if (!word.empty()) {
      if (!parse_number(word, value) || value != std::floor(value) ||
          value >= static_cast<double>(nodes)) {
        return invalid(number, "\"" + std::string(word.substr(0, 20)) + "\" is the id of no node");
      }
      ids.push_back(static_cast<NodeId>(value));
    }
    if (end == std::string_view::npos) break;
    line.remove_prefix(end + 1);
  }
  return {};
}

struct Operations {
  std::size_t count = 0;
  std::vector<NodeId> lists[3];  // inputs, sources, targets
  std::vector<std::pair<double, double>> costs;
  std::vector<std::size_t> cost_lines;
};

base::Status read_operation_line(std::size_t number, std::string_view line, Operations& read) {
  if (number == 1) {
    double count = 0;
    if (!parse_number(line, count) || count < 1 || count > static_cast<double>(kMaxNodes) ||
        count != std::floor(count)) {
      return invalid(number, "the number of nodes is expected");
    }
    read.count = static_cast<std::size_t>(count);
    return {};
  }
  if (number <= 4) return read_ids(number, line, read.count, read.lists[number - 2]);
  if (trimmed(line).empty()) return {};
  const std::size_t comma = line.find(',');
  double compute = 0;
  double bytes = 0;
  if (comma == std::string_view::npos || !parse_number(line.substr(0, comma), compute)) {
    return invalid(number, "compute,communication is expected");
  }
  const std::string_view rest = line.substr(comma + 1);
  if (!parse_number(rest.substr(0, rest.find(',')), bytes)) {
    return invalid(number, "compute,communication is expected");
  }
  read.costs.emplace_back(compute, bytes);
  read.cost_lines.push_back(number);
  return {};
}

}  // namespace

base::Result<Model> read_doppler(std::string_view text) {
  Operations read;
  const base::Status lines = each_line(text, [&](std::size_t number, std::string_view line) {
    return read_operation_line(number, line, read);
  });
  if (!lines.ok()) return lines.error();
  if (read.lists[1].size() != read.lists[2].size()) {
    return invalid(4, "there are " + std::to_string(read.lists[2].size()) + " targets for " +
                          std::to_string(read.lists[1].size()) + " sources");
  }
  std::vector<Node> nodes(read.count);
  std::vector<bool> is_input(read.count);
  for (const NodeId id : read.lists[0]) is_input[static_cast<std::size_t>(id)] = true;
  std::size_t next = 0;
  for (std::size_t i = 0; i < read.count; ++i) {
    nodes[i].name = std::to_string(i);
    if (is_input[i]) continue;
    if (next == read.costs.size()) {
      return invalid(4 + next, "the file ends before the costs of node " + std::to_string(i));
    }
    const auto& [compute, bytes] = read.costs[next++];
    nodes[i].accelerator_ms = roofline_ms(compute, 0);
    nodes[i].cpu_ms = nodes[i].accelerator_ms * kCpuSlowdown;
    nodes[i].output_bytes = bytes;
    nodes[i].memory_bytes = bytes;
  }
  if (next != read.costs.size()) {
    return invalid(read.cost_lines[next], "there are more costs than nodes without inputs");
  }
  std::vector<Edge> edges;
  for (std::size_t i = 0; i < read.lists[1].size(); ++i) {
    edges.push_back({read.lists[1][i], read.lists[2][i], false});
  }
  base::Result<Graph> graph = Graph::make(
      std::move(nodes), edges, [](std::size_t i) { return "node " + std::to_string(i); },
      [](std::size_t i) { return "lines 3 and 4, entry " + std::to_string(i + 1); });
  if (!graph.ok()) return graph.error();
  return Model{std::move(graph).value(), "doppler", std::nullopt, {}};
}

}  // namespace optile::placement
