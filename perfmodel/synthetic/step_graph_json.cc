// The one file of this folder that knows JSON.
#include "perfmodel/synthetic/step_graph_json.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <fstream>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>

#include "base/result.h"

namespace optile::perfmodel {
namespace {

using base::invalid;

using Json = nlohmann::json;

constexpr const char* kFormat = "optile step graph";
constexpr int kVersion = 3;        // what is written; it counts changes of the models too
constexpr int kOldestVersion = 1;  // with fewer fields, as 2
constexpr int kDeepest = 6;  // a list of times lies in an object in an object in a list in the file

// Thrown to leave the parser, caught in this file.
struct Refused {
  std::string what;
};

// Told of every event of the parser: refuses what a document must not have, before it is stored.
class Gate {
 public:
  bool operator()(int depth, Json::parse_event_t event, Json& value) {
    if (depth > kDeepest) throw Refused{"nested more than " + std::to_string(kDeepest) + " deep"};
    if (event == Json::parse_event_t::object_start) keys_.emplace_back();
    if (event == Json::parse_event_t::object_end) keys_.pop_back();
    if (event == Json::parse_event_t::key) {
      const auto& key = value.get_ref<const std::string&>();
      if (!keys_.back().insert(key).second) throw Refused{"the field \"" + key + "\" occurs twice"};
    }
    return true;
  }

 private:
  std::vector<std::set<std::string>> keys_;  // of the objects that are open
};

// One object of the file with its place, for messages. Every reader returns the first error.
class Fields {
 public:
  Fields(const Json& object, std::string place) : object_(object), place_(std::move(place)) {}

  base::Status only(std::initializer_list<std::string_view> known) const {
    if (!object_.is_object()) return invalid(place_, "an object is expected here");
    for (const auto& [key, value] : object_.items()) {
      if (std::find(known.begin(), known.end(), key) == known.end()) {
        return invalid(of(key), "there is no such field");
      }
    }
    return {};
  }
  std::string of(std::string_view key) const {
    return place_ + (place_.empty() ? "" : ".") + std::string(key);
  }
  const Json* find(const char* key) const {
    const auto found = object_.find(key);
    return found == object_.end() ? nullptr : &*found;
  }
  base::Status text(const char* key, bool needed, std::string* out) const {
    const Json* value = find(key);
    if (value == nullptr) return missing(key, needed);
    if (!value->is_string()) return invalid(of(key), "a text is expected here");
    *out = value->get<std::string>();
    return {};
  }
  base::Status whole(const char* key, bool needed, int* out) const {
    const Json* value = find(key);
    return value == nullptr ? missing(key, needed) : whole_number(*value, of(key), out);
  }
  base::Status real(const char* key, double* out) const {
    const Json* value = find(key);
    if (value == nullptr) return {};
    if (!value->is_number()) return invalid(of(key), "a number is expected here");
    *out = value->get<double>();
    return {};
  }
  base::Status truth(const char* key, bool* out) const {
    const Json* value = find(key);
    if (value == nullptr) return {};
    if (!value->is_boolean()) return invalid(of(key), "true or false is expected here");
    *out = value->get<bool>();
    return {};
  }
  static base::Status whole_number(const Json& value, const std::string& place, int* out) {
    constexpr std::int64_t kMost = 1 << 30;
    if (!value.is_number_integer()) return invalid(place, "a whole number is expected here");
    const bool too_large = value.is_number_unsigned() && value.get<std::uint64_t>() > kMost;
    if (too_large || value.get<std::int64_t>() < -kMost) {
      return invalid(place, "the number is too large");
    }
    *out = value.get<int>();
    return {};
  }

 private:
  base::Status missing(const char* key, bool needed) const {
    if (!needed) return {};
    return invalid(place_.empty() ? "the file" : place_, std::string("has no \"") + key + "\"");
  }

  const Json& object_;
  std::string place_;
};

base::Status first_of(std::initializer_list<base::Status> all) {
  for (const base::Status& one : all) {
    if (!one.ok()) return one;
  }
  return {};
}

base::Status read_seconds(const Fields& times, const char* key, std::vector<double>* out) {
  const Json* list = times.find(key);
  if (list == nullptr) return {};
  if (!list->is_array()) return invalid(times.of(key), "a list of seconds is expected here");
  for (const Json& value : *list) {
    if (!value.is_null() && !value.is_number()) {
      return invalid(times.of(key) + "[" + std::to_string(out->size()) + "]",
                     "seconds or null is expected here");
    }
    out->push_back(value.is_null() ? kInfinity : value.get<double>());
  }
  return {};
}

base::Status read_instance(const Json& json, const std::string& place, OpInstance* out) {
  const Fields fields(json, place);
  base::Status status = fields.only({"op", "shape", "tunable", "default_width", "memory_share",
                                     "output_bytes", "backward", "estimated", "times"});
  if (!status.ok()) return status;
  status = first_of({fields.text("op", true, &out->op), fields.text("shape", false, &out->shape),
                     fields.truth("tunable", &out->tunable),
                     fields.whole("default_width", false, &out->default_width),
                     fields.real("memory_share", &out->memory_share),
                     fields.real("output_bytes", &out->output_bytes),
                     fields.truth("backward", &out->backward),
                     fields.truth("estimated", &out->estimated)});
  if (!status.ok()) return status;
  const Json* times = fields.find("times");
  if (times == nullptr) return invalid(place, "has no \"times\"");
  const Fields lists(*times, fields.of("times"));
  status = lists.only({"spread", "compact", "mixed"});
  if (!status.ok()) return status;
  return first_of({read_seconds(lists, "spread", &out->times.spread),
                   read_seconds(lists, "compact", &out->times.compact),
                   read_seconds(lists, "mixed", &out->times.mixed)});
}

base::Status read_node(const Json& json, const std::string& place, OpNode* out) {
  const Fields fields(json, place);
  base::Status status = fields.only({"instance", "inputs", "name", "colour"});
  if (!status.ok()) return status;
  status = first_of({fields.whole("instance", true, &out->instance),
                     fields.text("name", false, &out->name),
                     fields.whole("colour", false, &out->colour)});
  if (!status.ok()) return status;
  const Json* inputs = fields.find("inputs");
  if (inputs == nullptr) return {};
  if (!inputs->is_array()) return invalid(fields.of("inputs"), "a list of nodes is expected here");
  for (const Json& value : *inputs) {
    int input = 0;
    const std::string here = fields.of("inputs") + "[" + std::to_string(out->inputs.size()) + "]";
    status = Fields::whole_number(value, here, &input);
    if (!status.ok()) return status;
    out->inputs.push_back(input);
  }
  return {};
}

template <typename Item, typename Reader>
base::Status read_list(const Fields& fields, const char* key, std::size_t most, Reader reader,
                       std::vector<Item>* out) {
  const Json* list = fields.find(key);
  if (list == nullptr || !list->is_array()) return invalid(key, "a list is expected here");
  if (list->size() > most) return invalid(key, "more than " + std::to_string(most));
  out->resize(list->size());
  for (std::size_t i = 0; i < list->size(); ++i) {
    const std::string place = std::string(key) + "[" + std::to_string(i) + "]";
    base::Status status = reader((*list)[i], place, &(*out)[i]);
    if (!status.ok()) return status;
  }
  return {};
}

base::Result<StepGraph> graph_from(const Json& json) {
  // Else what is said of a file of another kind is only its first field.
  if (json.is_object() && json.value("format", Json()) != kFormat) {
    return invalid("format", "\"" + std::string(kFormat) +
                                 "\" is expected; docs/results/simulator.md has such a file");
  }
  const Fields fields(json, "");
  base::Status status = fields.only({"format", "version", "name", "machine", "instances", "nodes"});
  if (!status.ok()) return status.error();
  StepGraph graph;
  int version = 0;
  status =
      first_of({fields.whole("version", true, &version), fields.text("name", false, &graph.name),
                fields.text("machine", false, &graph.machine)});
  if (!status.ok()) return status.error();
  if (version < kOldestVersion || version > kVersion) {
    return invalid("version", std::to_string(version) + " is not known; this optile reads " +
                                  std::to_string(kOldestVersion) + " to " +
                                  std::to_string(kVersion));
  }
  status =
      first_of({read_list(fields, "instances", kMaxStepInstances, read_instance, &graph.instances),
                read_list(fields, "nodes", kMaxStepNodes, read_node, &graph.nodes)});
  if (!status.ok()) return status.error();
  return graph;
}

Json seconds_json(const std::vector<double>& list) {
  Json json = Json::array();
  for (const double seconds : list) json.push_back(seconds == kInfinity ? Json() : Json(seconds));
  return json;
}

Json instance_json(const OpInstance& instance) {
  Json json = {{"op", instance.op}, {"shape", instance.shape}};
  if (!instance.tunable) {
    json["tunable"] = false;
    json["default_width"] = instance.default_width;
  }
  json["memory_share"] = instance.memory_share;
  if (instance.output_bytes >= 0) json["output_bytes"] = instance.output_bytes;
  if (instance.backward) json["backward"] = true;
  if (instance.estimated) json["estimated"] = true;
  json["times"] = {{"spread", seconds_json(instance.times.spread)},
                   {"compact", seconds_json(instance.times.compact)},
                   {"mixed", seconds_json(instance.times.mixed)}};
  return json;
}

Json node_json(const OpNode& node) {
  Json json = {{"instance", node.instance}, {"inputs", node.inputs}};
  if (!node.name.empty()) json["name"] = node.name;
  if (node.colour >= 0) json["colour"] = node.colour;
  return json;
}

std::string quoted(const std::string& text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

base::Result<StepGraph> parse_step_graph(const std::string& text) {
  if (text.size() > kMaxStepGraphBytes) {
    return invalid("", "larger than " + std::to_string(kMaxStepGraphBytes >> 20) + " MiB");
  }
  try {
    return graph_from(Json::parse(text, Gate()));
  } catch (const Refused& refused) {
    return invalid("", refused.what);
  } catch (const Json::exception& error) {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: …"
    const std::string_view what = error.what();
    const std::size_t end_of_name = what.find("] ");
    return invalid(
        "", std::string(what.substr(end_of_name == std::string_view::npos ? 0 : end_of_name + 2)));
  }
}

base::Result<StepGraph> read_step_graph(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return base::errno_error("cannot open " + path, errno);
  std::string text;
  std::array<char, 1 << 16> part{};
  // Not by the file's size: what is no regular file has none.
  while (file.read(part.data(), part.size()) || file.gcount() > 0) {
    text.append(part.data(), static_cast<std::size_t>(file.gcount()));
    if (text.size() > kMaxStepGraphBytes) break;
  }
  if (file.bad()) return base::errno_error("cannot read " + path, errno);
  auto graph = parse_step_graph(text);
  if (!graph.ok()) return invalid(path, graph.message());
  return graph;
}

std::string step_graph_text(const StepGraph& graph) {
  std::string text = "{\"format\": " + quoted(kFormat) +
                     ", \"version\": " + std::to_string(kVersion) +
                     ",\n\"name\": " + quoted(graph.name) +
                     ", \"machine\": " + quoted(graph.machine) + ",\n\"instances\": [";
  const char* separator = "\n";
  for (const OpInstance& instance : graph.instances) {
    text += separator;
    text += instance_json(instance).dump(-1, ' ', false, Json::error_handler_t::replace);
    separator = ",\n";
  }
  text += "\n],\n\"nodes\": [";
  separator = "\n";
  for (const OpNode& node : graph.nodes) {
    text += separator + node_json(node).dump(-1, ' ', false, Json::error_handler_t::replace);
    separator = ",\n";
  }
  return text + "\n]}\n";
}

}  // namespace optile::perfmodel
