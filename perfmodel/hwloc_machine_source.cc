// The one file that knows hwloc.
#include <hwloc.h>

#include <algorithm>
#include <map>

#include "perfmodel/machine.h"

namespace optile::perfmodel {
namespace {

constexpr int kSyntheticTextBytes = 1024;

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

// The smallest cache over this core that at least one other core shares; else the core itself.
hwloc_obj_t tile_object(hwloc_topology_t topology, hwloc_obj_t core) {
  for (hwloc_obj_t up = core->parent; up != nullptr; up = up->parent) {
    if (hwloc_obj_type_is_cache(up->type) != 0 && cores_below(topology, up) >= 2) return up;
  }
  return core;
}

int numa_node_of(hwloc_topology_t topology, hwloc_obj_t core) {
  hwloc_obj_t node = nullptr;
  while ((node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node)) != nullptr) {
    if (node->cpuset != nullptr && hwloc_bitmap_isincluded(core->cpuset, node->cpuset) != 0) {
      return static_cast<int>(node->logical_index);
    }
  }
  return 0;
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

  std::map<hwloc_obj_t, int> tile_of;
  hwloc_const_cpuset_t allowed = hwloc_topology_get_allowed_cpuset(topology);
  hwloc_obj_t object = nullptr;
  while ((object = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_CORE, object)) != nullptr) {
    const int core_index = static_cast<int>(machine.cores.size());
    const auto [tile, is_new] =
        tile_of.try_emplace(tile_object(topology, object), static_cast<int>(machine.tiles.size()));
    if (is_new) machine.tiles.push_back({{}, numa_node_of(topology, object)});
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
  }
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
    if (description_ == "host") {
      // Disallowed cores belong to the machine's identity, whatever cpuset we were started in.
      hwloc_topology_set_flags(topology.get(), HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
    } else if (hwloc_topology_set_synthetic(topology.get(), description_.c_str()) != 0) {
      return base::Error{base::ErrorKind::kInvalid,
                         "machine description \"" + description_ +
                             "\" is neither \"host\" nor an hwloc synthetic string such as "
                             "\"pack:1 l2:34 core:2 pu:4\""};
    }
    if (hwloc_topology_load(topology.get()) != 0) {
      return base::Error{base::ErrorKind::kUnavailable, "hwloc cannot read the topology of \"" +
                                                            description_ + "\"; check with lstopo"};
    }
    Machine machine = machine_from(topology.get(), description_);
    if (machine.cores.empty()) {
      return base::Error{base::ErrorKind::kInvalid,
                         "machine description \"" + description_ + "\" has no cores"};
    }
    return machine;
  }

 private:
  std::string description_;
};

}  // namespace

int Machine::allowed_cores() const {
  return static_cast<int>(std::count_if(cores.begin(), cores.end(), [this](const Core& core) {
    return std::any_of(core.units.begin(), core.units.end(),
                       [this](int unit) { return units[static_cast<std::size_t>(unit)].allowed; });
  }));
}

std::unique_ptr<MachineSource> make_machine_source(const std::string& description) {
  return std::make_unique<HwlocMachineSource>(description);
}

}  // namespace optile::perfmodel
