// The machine as optile sees it: processing units, cores, tiles, NUMA nodes. Plain value, immutable
// once built, any thread. Built by a MachineSource: hwloc for the host, a built-in name, an XML
// file of lstopo or one of hwloc's synthetic descriptions for machines that are not here.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"

namespace optile::perfmodel {

// A processing unit: what the kernel schedules on (a hardware thread).
struct ProcessingUnit {
  int os_index = 0;      // the kernel's number, for masks
  int core = 0;          // index into Machine::cores
  int sibling_rank = 0;  // 0 = first hardware thread of its core
  bool allowed = true;   // in the process's allowed set when the machine was read
};

struct Core {
  std::vector<int> units;  // indices into Machine::units, sibling_rank ascending
  int tile = 0;            // index into Machine::tiles
  int kind = 0;            // rank among the machine's kinds of cores, 0 = the slowest
  double speed = 1.0;      // of one thread, over that of the fastest kind; in (0, 1]
};

// The smallest group of two or more cores that share a cache; where none is shared, the cluster of
// cores with a NUMA node of its own inside the machine; where there is none either, a core.
struct Tile {
  std::vector<int> cores;  // indices into Machine::cores, hwloc's logical order
  int numa_node = 0;
  int package = 0;  // socket
};

struct Machine {
  std::string name;         // CPU model or synthetic description
  std::string fingerprint;  // hwloc synthetic export without attributes plus CPU model: store key
  std::vector<ProcessingUnit> units;
  std::vector<Core> cores;
  std::vector<Tile> tiles;
  int numa_nodes = 1;
  int packages = 1;

  int allowed_cores() const;  // cores with at least one allowed unit
};

class MachineSource {
 public:
  virtual ~MachineSource() = default;
  virtual base::Result<Machine> read() = 0;
};

// "host" for this machine; a built-in name (built_in_machines.h); what ends in ".xml" or has a "/"
// in it as a file that `lstopo FILE.xml` wrote, with the cores that were disallowed there; anything
// else as an hwloc synthetic string ("pack:1 l2:34 core:2 pu:4").
std::unique_ptr<MachineSource> make_machine_source(const std::string& description);

}  // namespace optile::perfmodel
