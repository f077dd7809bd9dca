// Where the work may go: devices, the hosts they belong to, and the links between them. Immutable
// once made; several threads may read it.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "placement/graph.h"

namespace optile::placement {

using DeviceId = std::int32_t;

inline constexpr int kMaxDevices = 4096;

enum class DeviceKind { kAccelerator, kCpu };

struct Device {
  std::string name;
  DeviceKind kind = DeviceKind::kAccelerator;
  double speed = 1;  // divides times
  double memory_bytes = std::numeric_limits<double>::infinity();
  int host = 0;
};

// Both ways, each with the whole bandwidth. The ends are devices, or routers behind them:
// `devices.size()` is the first router.
struct Link {
  int from = 0;
  int to = 0;
  double bytes_per_ms = 0;
  double latency_ms = 0;
};

struct Cluster {
  std::vector<Device> devices;
  int routers = 0;
  std::vector<Link> links;
  // Between any two devices where no links are given.
  double bytes_per_ms = 25e6;  // 25 GB/s
  double latency_ms = 0;

  int size() const { return static_cast<int>(devices.size()); }
  const Device& device(DeviceId id) const { return devices[static_cast<std::size_t>(id)]; }
  // Infinite where the node cannot run there.
  double time_ms(const Node& node, DeviceId id) const;
  // Of one node's output over the default link, or as the node's file says.
  double output_ms(const Node& node) const;

  base::Status check() const;
  // Accelerators 0 to n-1, then CPUs.
  static Cluster uniform(int accelerators, int cpus, double memory_bytes);
};

// What a file may hold besides its graph.
struct Model {
  Graph graph;
  std::string format;              // as it was recognised
  std::optional<Cluster> cluster;  // devices and caps, where the file has them
  // The device of each node, where the file has one; empty otherwise.
  std::vector<DeviceId> assignment;
};

}  // namespace optile::placement
