#include "bindings/cli/place/assistants_command.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <istream>
#include <optional>
#include <ostream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bindings/cli/place/refusal.h"
#include "bindings/cli/support/json_fields.h"
#include "placement/assistants/assisted_devices.h"

namespace optile::cli {
namespace {

using placement::AssistantRule;
using placement::AssistantSample;
using placement::NodeChoice;
using placement::PlacedNode;
using placement::Resource;

constexpr std::size_t kMostDevices = 4096;
constexpr int kMostSteps = 1'000'000;

template <typename Choice, std::size_t count>
using Names = std::array<std::pair<const char*, Choice>, count>;

constexpr Names<Resource, placement::kResources> kResources = {
    {{"compute", Resource::kCompute},
     {"memory", Resource::kMemoryBandwidth},
     {"network", Resource::kNetwork}}};
constexpr Names<NodeChoice, 2> kChoices = {{{"smallest-state", NodeChoice::kSmallestState},
                                            {"largest-demand", NodeChoice::kLargestDemand}}};

template <typename Choice, std::size_t count>
Choice named(const Names<Choice, count>& names, const std::string& text) {
  std::string known;
  for (const auto& [name, choice] : names) {
    if (text == name) return choice;
    known += std::string(known.empty() ? "" : ", ") + name;
  }
  throw std::invalid_argument("there is no " + text + "; there are " + known);
}

double finite(const Json& object, const char* key) {
  const double number = object.at(key).get<double>();
  if (!std::isfinite(number) || number < 0) {
    throw std::invalid_argument(std::string(key) + " has to be 0 or above");
  }
  return number;
}

int whole(const Json& object, const char* key, int least, int most) {
  const auto number = object.at(key).get<std::int64_t>();
  if (number < least || number > most) {
    throw std::invalid_argument(std::string(key) + " has to be from " + std::to_string(least) +
                                " to " + std::to_string(most));
  }
  return static_cast<int>(number);
}

AssistantRule rule_of(const Json& json) {
  AssistantRule rule;
  rule.resource = named(kResources, json.at("resource").get<std::string>());
  rule.theta = finite(json, "theta");
  rule.gamma = finite(json, "gamma");
  if (rule.gamma > rule.theta) throw std::invalid_argument("gamma is above theta");
  rule.choice = named(kChoices, json.at("choice").get<std::string>());
  rule.samples = whole(json, "samples", 1, kMostSteps);
  rule.cool_down = static_cast<std::uint64_t>(whole(json, "cool_down", 0, kMostSteps));
  rule.margin = finite(json, "margin");
  if (json.contains("largest")) rule.largest = finite(json, "largest");
  return rule;
}

class Conversation {
 public:
  // Nothing where there is nothing to answer. Throws where a line is none of this program's.
  std::optional<Json> answer(const Json& line) {
    if (!line.is_object()) throw std::invalid_argument("it is no object");
    if (line.contains("nodes")) {
      begin(line);
      return std::nullopt;
    }
    if (!line.contains("samples")) throw std::invalid_argument("it has no nodes and no samples");
    if (names_.empty()) throw std::invalid_argument("samples before nodes");
    return add(line);
  }

 private:
  void begin(const Json& line) {
    const int count = whole(line, "devices", 1, kMostDevices);
    std::vector<AssistantRule> rules;
    for (const Json& one : line.at("rules")) rules.push_back(rule_of(one));
    std::vector<PlacedNode> nodes;
    std::vector<std::string> names;
    for (const Json& one : line.at("nodes")) {
      PlacedNode node;
      const int owner = whole(one, "owner", 0, count - 1);
      node.owner = static_cast<placement::AssistantDevice>(owner);
      node.bound = named(kResources, one.at("bound").get<std::string>());
      node.demand = finite(one, "demand");
      node.bytes = one.at("bytes").get<std::int64_t>();
      nodes.push_back(node);
      names.push_back(one.at("name").get<std::string>());
    }
    if (names.empty()) throw std::invalid_argument("there are no nodes in it");
    if (names_.empty()) {
      names_ = std::move(names);
      count_ = static_cast<std::size_t>(count);
      devices_.emplace(count_);
    } else if (names != names_ || static_cast<std::size_t>(count) != count_) {
      throw std::invalid_argument("other nodes or devices than before");
    }
    devices_->begin(std::move(rules), nodes, line.value("declined", false));
  }

  Json add(const Json& line) {
    std::vector<AssistantSample> samples;
    for (const Json& one : line.at("samples")) {
      AssistantSample sample;
      for (const auto& [name, resource] : kResources) {
        if (one.contains(name)) sample.use[static_cast<std::size_t>(resource)] = finite(one, name);
      }
      sample.free_bytes = one.at("free_bytes").get<std::int64_t>();
      samples.push_back(sample);
    }
    if (samples.size() != count_) {
      throw std::invalid_argument(std::to_string(samples.size()) + " samples of " +
                                  std::to_string(count_) + " devices");
    }
    Json handovers = Json::array();
    for (const auto& one : devices_->add(samples, whole(line, "steps", 1, kMostSteps))) {
      handovers.push_back({{"node", names_[one.offer.node]},
                           {"from", one.offer.owner},
                           {"to", one.taker},
                           {"resource", name_of(one.offer.resource)},
                           {"demand", one.offer.demand}});
    }
    return Json({{"handovers", handovers}, {"owners", devices_->owners()}});
  }

  static const char* name_of(Resource resource) {
    return kResources[static_cast<std::size_t>(resource)].first;
  }

  std::size_t count_ = 0;  // devices
  std::optional<placement::AssistedDevices> devices_;
  std::vector<std::string> names_;
};

}  // namespace

int assist_devices(std::istream& in, std::ostream& out) {
  Conversation conversation;
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    try {
      const std::optional<Json> answer = conversation.answer(Json::parse(line));
      if (answer) out << answer->dump() << std::endl;
    } catch (const std::exception& error) {
      return refuse("line " + std::to_string(number) + ": " + error.what());
    }
    if (!out) return refuse("the answer could not be written");
  }
  return 0;
}

}  // namespace optile::cli
