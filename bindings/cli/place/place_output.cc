#include "bindings/cli/place/place_output.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace optile::cli {
namespace {

using Json = nlohmann::json;
using placement::Answer;

constexpr std::size_t kShownDevices = 32;
constexpr int kBar = 24;

// JSON has no infinity.
Json json_number(double value) {
  return std::isfinite(value) ? Json(value) : Json();
}

// The rule that the figure follows, since objectives must not be mixed up.
std::string rule_of(placement::Objective objective) {
  if (objective == placement::Objective::kLoad) {
    return "largest load of a device: its nodes' times and the tensors that leave or arrive, each "
           "once";
  }
  if (objective == placement::Objective::kLatency) {
    return "time of one sample: a part begins when all its inputs are there, then moves them, "
           "computes, and moves what others read";
  }
  return "end of the last node, by simulation of one step";
}

std::string padded(std::string text, std::size_t width) {
  text.resize(std::max(text.size(), width), ' ');
  return text;
}

}  // namespace

std::string format(const char* pattern, double value) {
  char text[64];
  std::snprintf(text, sizeof text, pattern, value);
  return text;
}

nlohmann::json answer_fields(const Answer& answer, const std::string& objective) {
  return {{"objective", objective},
          {"cost", json_number(answer.cost)},
          {"lower_bound", json_number(answer.lower_bound)},
          {"gap", json_number(answer.gap())},
          {"seconds", answer.seconds},
          {"evaluations", answer.evaluations},
          {"method", answer.method},
          {"seed", answer.seed},
          {"feasible", answer.feasible},
          {"violation", answer.violation}};
}

std::string answer_json(const Answer& answer, const placement::Model& model,
                        const placement::Cluster& cluster, placement::Objective objective) {
  Json json = answer_fields(answer, placement::name_of(objective));
  if (answer.moved >= 0) json["moved"] = answer.moved;
  if (answer.bound_seconds > 0) json["bound_seconds"] = answer.bound_seconds;
  for (const placement::Node& node : model.graph.nodes()) json["nodes"].push_back(node.name);
  json["assignment"] = answer.assignment;
  for (const double load : answer.load) json["load"].push_back(json_number(load));
  for (const double bytes : answer.memory) json["memory"].push_back(json_number(bytes));
  for (const placement::Device& device : cluster.devices) json["devices"].push_back(device.name);
  // Names in a profile's text may be no UTF-8.
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string answer_table(const Answer& answer, const placement::Model& model,
                         const placement::Cluster& cluster, placement::Objective objective) {
  std::string out = "optile place: " + std::to_string(model.graph.size()) + " nodes (" +
                    model.format + ") on " + std::to_string(cluster.size()) + " devices\n";
  out +=
      "  cost           " + format("%12.6g ms", answer.cost) + "  (" + rule_of(objective) + ")\n";
  out += "  lower bound    " + format("%12.6g ms", answer.lower_bound);
  if (std::isfinite(answer.gap())) out += "  gap " + format("%.2f %%", answer.gap() * 100);
  if (answer.bound_seconds > 0)
    out += "  after " + format("%.2f s", answer.bound_seconds) + " more";
  out += "\n  by " + answer.method + ", seed " + std::to_string(answer.seed) + ", " +
         std::to_string(answer.evaluations) + " evaluations in " +
         format("%.2f s", answer.seconds) + "\n";
  if (answer.moved >= 0) {
    out += "  moved          " + std::to_string(answer.moved) + " nodes that were elsewhere\n";
  }
  if (!answer.feasible) out += "  NOT FEASIBLE: " + answer.violation + "\n";
  std::vector<std::size_t> nodes(answer.load.size());
  for (const auto device : answer.assignment) ++nodes[static_cast<std::size_t>(device)];
  const double most = *std::max_element(answer.load.begin(), answer.load.end());
  for (std::size_t d = 0; d < answer.load.size() && d < kShownDevices; ++d) {
    const double part = most > 0 ? answer.load[d] / most : 0;
    const int filled = static_cast<int>(std::lround(part * kBar));
    out += "  " + padded(cluster.devices[d].name, 16) + format("%12.6g ms", answer.load[d]) +
           format("%10.3f GB", answer.memory[d] / 1e9) + "  " +
           padded(std::string(static_cast<std::size_t>(filled), '#'), kBar) + "  " +
           std::to_string(nodes[d]) + " nodes\n";
  }
  if (answer.load.size() > kShownDevices) {
    out += "  ... and " + std::to_string(answer.load.size() - kShownDevices) + " more devices\n";
  }
  return out;
}

}  // namespace optile::cli
