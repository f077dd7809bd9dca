#include "placement/cluster.h"

#include <cmath>

#include "base/result.h"

namespace optile::placement {
namespace {

using base::invalid;

bool positive(double value) {
  return std::isfinite(value) && value > 0;
}

}  // namespace

double Cluster::time_ms(const Node& node, DeviceId id) const {
  const Device& where = device(id);
  if (where.kind == DeviceKind::kCpu) return node.cpu_ms / where.speed;
  return node.runs_on_accelerator ? node.accelerator_ms / where.speed
                                  : std::numeric_limits<double>::infinity();
}

double Cluster::output_ms(const Node& node) const {
  if (node.output_ms >= 0) return node.output_ms;
  return node.output_bytes > 0 ? node.output_bytes / bytes_per_ms + latency_ms : 0;
}

base::Status Cluster::check() const {
  if (devices.empty()) return invalid("the cluster has no devices");
  if (size() > kMaxDevices) {
    return invalid("the cluster has " + std::to_string(size()) + " devices, at most " +
                   std::to_string(kMaxDevices) + " are taken");
  }
  for (const Device& one : devices) {
    if (!positive(one.speed)) return invalid("device " + one.name + " needs a speed above 0");
    if (!(one.memory_bytes >= 0)) return invalid("device " + one.name + " has negative memory");
  }
  if (!positive(bytes_per_ms) || !(latency_ms >= 0) || !std::isfinite(latency_ms)) {
    return invalid("bandwidth has to be above 0 and latency at least 0");
  }
  const int ends = size() + routers;
  for (std::size_t i = 0; i < links.size(); ++i) {
    const Link& link = links[i];
    const std::string where = "links[" + std::to_string(i) + "]";
    if (link.from < 0 || link.from >= ends || link.to < 0 || link.to >= ends) {
      return invalid(where + " has an end that is no device and no router");
    }
    if (!positive(link.bytes_per_ms) || !(link.latency_ms >= 0) ||
        !std::isfinite(link.latency_ms)) {
      return invalid(where + ": bandwidth has to be above 0 and latency at least 0");
    }
  }
  return {};
}

Cluster Cluster::uniform(int accelerators, int cpus, double memory_bytes) {
  Cluster made;
  for (int i = 0; i < accelerators; ++i) {
    Device device;
    device.name = "accelerator " + std::to_string(i);
    device.memory_bytes = memory_bytes;
    made.devices.push_back(device);
  }
  for (int i = 0; i < cpus; ++i) {
    Device device;
    device.name = "cpu " + std::to_string(i);
    device.kind = DeviceKind::kCpu;
    made.devices.push_back(device);
  }
  return made;
}

}  // namespace optile::placement
