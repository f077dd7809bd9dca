// The one file that knows hwloc.
#include <hwloc.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "perfmodel/machine/built_in_machines.h"
#include "perfmodel/machine/machine.h"

namespace optile::perfmodel {
namespace {

constexpr int kSyntheticTextBytes = 1024;
constexpr std::uintmax_t kMostXmlBytes = 64U << 20;
// The largest machines have a quarter of that; hwloc takes minutes for ten times as many.
constexpr uint64_t kMostUnits = 8192;

// Of a synthetic description, "pack:2 core:8 pu:2": the product of its numbers. What it says of
// sizes and memory, in brackets, does not count; what is no number is left for hwloc to refuse.
uint64_t described_units(const std::string& description) {
  uint64_t units = 1;
  int brackets = 0;
  std::string number;
  const auto level_ends = [&] {
    if (!number.empty()) {
      const uint64_t count = number.size() > 6 ? 1000000 : std::stoull(number);
      units = std::min(units * std::max<uint64_t>(1, count), kMostUnits + 1);
    }
    number.clear();
  };
  for (const char c : description) {
    if (c == '(' || c == '[') ++brackets;
    if (c == ')' || c == ']') --brackets;
    if (brackets > 0) continue;
    if (c == ':' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
      number.clear();  // a digit of a name, as in l2
    } else if (c >= '0' && c <= '9') {
      number += c;
    } else {
      level_ends();
    }
  }
  level_ends();
  return units;
}

// hwloc's topology with its owner.
class Topology {
 public:
  Topology() { ready_ = hwloc_topology_init(&topology_) == 0; }
  ~Topology() {
    if (ready_) hwloc_topology_destroy(topology_);
  }
  Topology(const Topology&) = delete;
  Topology& operator=(const Topology&) = delete;

  bool ready() const { return ready_; }
  hwloc_topology_t get() const { return topology_; }

 private:
  hwloc_topology_t topology_ = nullptr;
  bool ready_ = false;
};

int cores_below(hwloc_topology_t topology, hwloc_obj_t object) {
  return hwloc_get_nbobjs_inside_cpuset_by_type(topology, object->cpuset, HWLOC_OBJ_CORE);
}

hwloc_obj_t numa_object(hwloc_topology_t topology, hwloc_obj_t core) {
  hwloc_obj_t node = nullptr;
  while ((node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node)) != nullptr) {
    if (node->cpuset != nullptr && hwloc_bitmap_isincluded(core->cpuset, node->cpuset) != 0) {
      return node;
    }
  }
  return nullptr;
}

// The smallest cache over this core that at least one other core shares. Where that cache is wider
// than the core's NUMA node (a socket that is split into clusters), or where there is none, the
// node, if it is a part of the machine; else the core itself.
hwloc_obj_t tile_object(hwloc_topology_t topology, hwloc_obj_t core) {
  hwloc_obj_t cache = nullptr;
  for (hwloc_obj_t up = core->parent; up != nullptr && cache == nullptr; up = up->parent) {
    if (hwloc_obj_type_is_cache(up->type) != 0 && cores_below(topology, up) >= 2) cache = up;
  }
  const hwloc_obj_t wider = cache != nullptr ? cache : hwloc_get_root_obj(topology);
  const hwloc_obj_t node = numa_object(topology, core);
  const bool is_cluster = node != nullptr && cores_below(topology, node) >= 2 &&
                          hwloc_bitmap_isincluded(node->cpuset, wider->cpuset) != 0 &&
                          cores_below(topology, node) < cores_below(topology, wider);
  if (is_cluster) return node;
  return cache != nullptr ? cache : core;
}

int package_of(hwloc_topology_t topology, hwloc_obj_t core) {
  const hwloc_obj_t package = hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_PACKAGE, core);
  return package == nullptr ? 0 : static_cast<int>(package->logical_index);
}

// Highest clock of each kind of core, by hwloc's rank (ascending efficiency); 0 where it is not
// said.
std::vector<double> kind_clocks(hwloc_topology_t topology) {
  std::vector<double> clocks;
  const int kinds = std::max(0, hwloc_cpukinds_get_nr(topology, 0));
  for (int kind = 0; kind < kinds; ++kind) {
    unsigned infos = 0;
    hwloc_info_s* info = nullptr;
    double clock = 0;
    if (hwloc_cpukinds_get_info(topology, static_cast<unsigned>(kind), nullptr, nullptr, &infos,
                                &info, 0) == 0) {
      for (unsigned i = 0; i < infos; ++i) {
        if (std::string(info[i].name) == "FrequencyMaxMHz") {
          clock = std::strtod(info[i].value, nullptr);
        }
      }
    }
    clocks.push_back(clock);
  }
  return clocks;
}

// Kinds are told apart by rank; speeds only where every kind says its clock.
void read_kinds(hwloc_topology_t topology, const std::vector<hwloc_obj_t>& objects,
                Machine* machine) {
  const std::vector<double> clocks = kind_clocks(topology);
  if (clocks.size() < 2) return;
  const auto [slowest, fastest] = std::minmax_element(clocks.begin(), clocks.end());
  for (std::size_t i = 0; i < objects.size(); ++i) {
    const int kind = hwloc_cpukinds_get_by_cpuset(topology, objects[i]->cpuset, 0);
    if (kind < 0) continue;
    machine->cores[i].kind = kind;
    if (*slowest > 0) machine->cores[i].speed = clocks[static_cast<std::size_t>(kind)] / *fastest;
  }
}

std::string model_name(hwloc_topology_t topology) {
  const hwloc_obj_t root = hwloc_get_root_obj(topology);
  const char* model = hwloc_obj_get_info_by_name(root, "CPUModel");
  if (model == nullptr) {
    const hwloc_obj_t package = hwloc_get_obj_by_type(topology, HWLOC_OBJ_PACKAGE, 0);
    if (package != nullptr) model = hwloc_obj_get_info_by_name(package, "CPUModel");
  }
  return model == nullptr ? "unknown processor" : model;
}

// Without attributes: with them the text embeds exact memory sizes, which change between boots.
std::string shape_text(hwloc_topology_t topology) {
  char text[kSyntheticTextBytes] = "";
  const int written =
      hwloc_topology_export_synthetic(topology, text, sizeof text,
                                      HWLOC_TOPOLOGY_EXPORT_SYNTHETIC_FLAG_NO_ATTRS |
                                          HWLOC_TOPOLOGY_EXPORT_SYNTHETIC_FLAG_NO_EXTENDED_TYPES);
  if (written > 0) return text;
  // Asymmetric machines have no synthetic text: counts still tell them apart.
  const int cores = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE);
  const int units = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU);
  return "asymmetric cores:" + std::to_string(cores) + " units:" + std::to_string(units);
}

Machine machine_from(hwloc_topology_t topology, const std::string& description) {
  Machine machine;
  machine.name = description == "host" ? model_name(topology) : description;
  machine.fingerprint = machine.name + " | " + shape_text(topology);
  machine.numa_nodes = std::max(1, hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_NUMANODE));

  machine.packages = std::max(1, hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PACKAGE));

  std::map<hwloc_obj_t, int> tile_of;
  std::vector<hwloc_obj_t> objects;  // of the cores, in their order
  hwloc_const_cpuset_t allowed = hwloc_topology_get_allowed_cpuset(topology);
  hwloc_obj_t object = nullptr;
  while ((object = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_CORE, object)) != nullptr) {
    const int core_index = static_cast<int>(machine.cores.size());
    const auto [tile, is_new] =
        tile_of.try_emplace(tile_object(topology, object), static_cast<int>(machine.tiles.size()));
    if (is_new) {
      const hwloc_obj_t node = numa_object(topology, object);
      const int numa_node = node == nullptr ? 0 : static_cast<int>(node->logical_index);
      machine.tiles.push_back({{}, numa_node, package_of(topology, object)});
    }
    machine.tiles[static_cast<std::size_t>(tile->second)].cores.push_back(core_index);

    Core core;
    core.tile = tile->second;
    int rank = 0;
    for (int unit = hwloc_bitmap_first(object->cpuset); unit >= 0;
         unit = hwloc_bitmap_next(object->cpuset, unit)) {
      core.units.push_back(static_cast<int>(machine.units.size()));
      const bool is_allowed = hwloc_bitmap_isset(allowed, static_cast<unsigned>(unit)) != 0;
      machine.units.push_back({unit, core_index, rank, is_allowed});
      ++rank;
    }
    machine.cores.push_back(std::move(core));
    objects.push_back(object);
  }
  read_kinds(topology, objects, &machine);
  return machine;
}

class HwlocMachineSource : public MachineSource {
 public:
  explicit HwlocMachineSource(std::string description) : description_(std::move(description)) {}

  base::Result<Machine> read() override {
    Topology topology;
    if (!topology.ready()) {
      return base::Error{base::ErrorKind::kUnavailable, "hwloc: out of memory"};
    }
    // Disallowed cores belong to the machine's identity, whatever cpuset we were started in.
    hwloc_topology_set_flags(topology.get(), HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
    const base::Status described = describe(topology.get());
    if (!described.ok()) return described.error();
    if (hwloc_topology_load(topology.get()) != 0) {
      if (is_file()) return no_topology();
      return base::Error{base::ErrorKind::kUnavailable, "hwloc cannot read the topology of \"" +
                                                            description_ + "\"; check with lstopo"};
    }
    Machine machine = machine_from(topology.get(), description_);
    if (machine.cores.empty() || machine.allowed_cores() == 0) {
      return base::Error{base::ErrorKind::kInvalid, "machine description \"" + description_ +
                                                        "\" has no cores that may be used"};
    }
    return machine;
  }

 private:
  bool is_file() const {
    return description_.ends_with(".xml") || description_.find('/') != std::string::npos;
  }

  base::Status describe(hwloc_topology_t topology) const {
    if (description_ == "host") return {};
    if (is_file()) return describe_by_file(topology);
    if (described_units(description_) > kMostUnits) {
      return base::Error{base::ErrorKind::kInvalid,
                         "machine description \"" + description_ + "\" has more than " +
                             std::to_string(kMostUnits) + " processing units"};
    }
    if (hwloc_topology_set_synthetic(topology, description_.c_str()) == 0) return {};
    std::string names;
    for (const std::string& name : built_in_machine_names()) names += name + ", ";
    return base::Error{base::ErrorKind::kInvalid,
                       "machine description \"" + description_ + "\" is none of host, " + names +
                           "an XML file of lstopo, or an hwloc synthetic string such as "
                           "\"pack:1 l2:34 core:2 pu:4\""};
  }

  base::Status describe_by_file(hwloc_topology_t topology) const {
    std::error_code problem;
    const std::uintmax_t bytes = std::filesystem::file_size(description_, problem);
    if (problem) return base::errno_error("cannot read " + description_, problem.value());
    if (bytes > kMostXmlBytes) {
      return base::Error{
          base::ErrorKind::kInvalid,
          description_ + " is larger than any topology: " + std::to_string(bytes) + " bytes"};
    }
    if (hwloc_topology_set_xml(topology, description_.c_str()) == 0) return {};
    return no_topology();
  }

  // After a call of hwloc that failed: it says only that.
  base::Error no_topology() const {
    return base::invalid(base::errno_error(description_ + " is no topology", errno).message +
                         "; `lstopo FILE.xml` writes one, `xmllint --noout " + description_ +
                         "` finds where it is no XML, HWLOC_XML_VERBOSE=1 has hwloc say what it "
                         "does not like");
  }

  std::string description_;
};

class BuiltInMachineSource : public MachineSource {
 public:
  explicit BuiltInMachineSource(Machine machine) : machine_(std::move(machine)) {}
  base::Result<Machine> read() override { return machine_; }

 private:
  Machine machine_;
};

}  // namespace

int Machine::allowed_cores() const {
  return static_cast<int>(std::count_if(cores.begin(), cores.end(), [this](const Core& core) {
    return std::any_of(core.units.begin(), core.units.end(),
                       [this](int unit) { return units[static_cast<std::size_t>(unit)].allowed; });
  }));
}

std::unique_ptr<MachineSource> make_machine_source(const std::string& description) {
  std::optional<Machine> known = built_in_machine(description);
  if (known.has_value()) return std::make_unique<BuiltInMachineSource>(std::move(*known));
  return std::make_unique<HwlocMachineSource>(description);
}

}  // namespace optile::perfmodel
