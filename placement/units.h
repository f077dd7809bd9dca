// What moves as one: nodes of one colour, or a whole coarse piece of a graph, with the tensors
// between them. Built once for a problem; several threads may read it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "placement/cluster.h"
#include "placement/graph.h"

namespace optile::placement {

using UnitId = std::int32_t;

// Tensors with one producer and the same readers, taken together.
struct Net {
  UnitId producer = 0;
  double ms = 0;  // of moving them over the default link
  double bytes = 0;
};

class Units {
 public:
  // One unit for each colour and each node without one, in the order of their first nodes.
  static Units of(const Graph& graph, const Cluster& cluster);
  // Each unit becomes part of `to[unit]`, which are 0 to count-1.
  Units contracted(const std::vector<UnitId>& to, int count) const;

  int size() const { return static_cast<int>(memory_.size()); }
  int devices() const { return devices_; }
  const std::vector<UnitId>& of_node() const { return of_node_; }
  UnitId of(NodeId node) const { return of_node_[static_cast<std::size_t>(node)]; }

  // Infinite where it cannot run.
  double time_ms(UnitId unit, DeviceId device) const {
    return time_[static_cast<std::size_t>(unit) * static_cast<std::size_t>(devices_) +
                 static_cast<std::size_t>(device)];
  }
  double memory(UnitId unit) const { return memory_[static_cast<std::size_t>(unit)]; }
  bool stateful(UnitId unit) const { return stateful_[static_cast<std::size_t>(unit)]; }

  const std::vector<Net>& nets() const { return nets_; }
  // Units other than the producer that read the net.
  std::span<const UnitId> readers(int net) const { return readers_.of(net); }
  std::span<const std::int32_t> produced(UnitId unit) const { return produced_.of(unit); }
  std::span<const std::int32_t> read(UnitId unit) const { return read_.of(unit); }

  // The nodes' assignment from the units', and back (of each unit's first node).
  std::vector<DeviceId> to_nodes(const std::vector<DeviceId>& units) const;
  std::vector<DeviceId> from_nodes(const std::vector<DeviceId>& nodes) const;

 private:
  struct Lists {
    std::vector<std::int32_t> first;
    std::vector<std::int32_t> items;
    std::span<const std::int32_t> of(std::int32_t index) const {
      const auto at = static_cast<std::size_t>(index);
      return {items.data() + first[at], static_cast<std::size_t>(first[at + 1] - first[at])};
    }
  };
  struct RawNet {
    UnitId producer;
    std::vector<UnitId> readers;  // sorted, without the producer
    double ms, bytes;
  };
  static Lists lists(int count, const std::vector<std::pair<std::int32_t, std::int32_t>>& pairs);
  void set_nets(std::vector<RawNet> raw);

  int devices_ = 0;
  std::vector<UnitId> of_node_;
  std::vector<double> time_;
  std::vector<double> memory_;
  std::vector<bool> stateful_;
  std::vector<Net> nets_;
  Lists readers_;
  Lists produced_;
  Lists read_;
};

}  // namespace optile::placement
