#include <string_view>
#include <unordered_map>

#include "base/result.h"
#include "placement/import/importer.h"
#include "placement/import/json_reader.h"

namespace optile::placement {
namespace {

using base::invalid;

// Names need not be unique: the second node of a name is the second of that name there, too.
class Numbering {
 public:
  // Each call for a name gives the next of its numbers; -1 when there are no more.
  int next(const std::string& name) {
    const auto found = of_name_.find(name);
    if (found == of_name_.end()) return -1;
    auto& [taken, numbers] = found->second;
    return taken < numbers.size() ? numbers[taken++] : -1;
  }
  void add(const std::string& name, int number) { of_name_[name].second.push_back(number); }

 private:
  std::unordered_map<std::string, std::pair<std::size_t, std::vector<int>>> of_name_;
};

// The earlier numbers of the earlier devices as those of today; -1 where one is gone.
base::Result<std::vector<DeviceId>> devices_of(const Json& file, const Cluster& cluster) {
  JsonReader reader;
  const Json& names = reader.list(file, "devices", "the answer");
  if (!reader.ok()) return reader.error();
  Numbering now;
  for (DeviceId d = 0; d < cluster.size(); ++d) now.add(cluster.device(d).name, d);
  std::vector<DeviceId> today;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!names[i].is_string()) {
      return invalid("devices[" + std::to_string(i) + "]: a name is expected");
    }
    today.push_back(now.next(names[i].get<std::string>()));
  }
  return today;
}

}  // namespace

base::Result<std::vector<DeviceId>> read_earlier_answer(std::string_view text, const Graph& graph,
                                                        const Cluster& cluster) {
  const base::Result<Json> parsed = parse_json(text);
  if (!parsed.ok()) return parsed.error();
  const Json& file = parsed.value();
  JsonReader reader;
  const Json& names = reader.list(file, "nodes", "the answer");
  const Json& devices = reader.list(file, "assignment", "the answer");
  if (!reader.ok()) {
    return invalid(reader.error().message + "; what optile place --json printed is expected");
  }
  const base::Result<std::vector<DeviceId>> today = devices_of(file, cluster);
  if (!today.ok()) return today.error();
  if (names.size() != devices.size()) {
    return invalid("there are " + std::to_string(devices.size()) + " devices for " +
                   std::to_string(names.size()) + " nodes");
  }
  Numbering earlier;
  std::vector<DeviceId> places;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!names[i].is_string()) {
      return invalid("nodes[" + std::to_string(i) + "]: a name is expected");
    }
    const long long device = devices[i].is_number_integer() ? devices[i].get<long long>() : -1;
    if (device < 0 || device >= static_cast<long long>(today.value().size())) {
      return invalid("assignment[" + std::to_string(i) + "]: one of the " +
                     std::to_string(today.value().size()) + " devices is expected");
    }
    earlier.add(names[i].get<std::string>(), static_cast<int>(i));
    places.push_back(today.value()[static_cast<std::size_t>(device)]);
  }
  std::vector<DeviceId> kept;
  for (const Node& node : graph.nodes()) {
    const int number = earlier.next(node.name);
    kept.push_back(number < 0 ? -1 : places[static_cast<std::size_t>(number)]);
  }
  return kept;
}

}  // namespace optile::placement
