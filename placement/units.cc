#include "placement/units.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace optile::placement {

Units::Lists Units::lists(int count,
                          const std::vector<std::pair<std::int32_t, std::int32_t>>& pairs) {
  Lists made;
  made.first.assign(static_cast<std::size_t>(count) + 1, 0);
  for (const auto& [index, item] : pairs) ++made.first[static_cast<std::size_t>(index) + 1];
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    made.first[i + 1] += made.first[i];
  }
  made.items.resize(pairs.size());
  std::vector<std::int32_t> next(made.first.begin(), made.first.end() - 1);
  for (const auto& [index, item] : pairs) {
    made.items[static_cast<std::size_t>(next[static_cast<std::size_t>(index)]++)] = item;
  }
  return made;
}

void Units::set_nets(std::vector<RawNet> raw) {
  std::erase_if(raw, [](const RawNet& net) { return net.readers.empty(); });
  std::sort(raw.begin(), raw.end(), [](const RawNet& a, const RawNet& b) {
    return std::tie(a.producer, a.readers) < std::tie(b.producer, b.readers);
  });
  std::vector<std::pair<std::int32_t, std::int32_t>> readers;
  std::vector<std::pair<std::int32_t, std::int32_t>> read;
  std::vector<std::pair<std::int32_t, std::int32_t>> produced;
  for (std::size_t i = 0; i < raw.size(); ++i) {
    const RawNet& net = raw[i];
    if (i > 0 && raw[i - 1].producer == net.producer && raw[i - 1].readers == net.readers) {
      nets_.back().ms += net.ms;
      nets_.back().bytes += net.bytes;
      continue;
    }
    const auto id = static_cast<std::int32_t>(nets_.size());
    nets_.push_back({net.producer, net.ms, net.bytes});
    produced.emplace_back(net.producer, id);
    for (const UnitId reader : net.readers) {
      readers.emplace_back(id, reader);
      read.emplace_back(reader, id);
    }
  }
  readers_ = lists(static_cast<int>(nets_.size()), readers);
  produced_ = lists(size(), produced);
  read_ = lists(size(), read);
}

Units Units::of(const Graph& graph, const Cluster& cluster) {
  Units units;
  units.devices_ = cluster.size();
  std::unordered_map<std::int32_t, UnitId> colours;
  UnitId count = 0;
  for (const Node& node : graph.nodes()) {
    UnitId unit = count;
    if (node.colour >= 0) unit = colours.emplace(node.colour, count).first->second;
    if (unit == count) ++count;
    units.of_node_.push_back(unit);
  }
  const auto devices = static_cast<std::size_t>(cluster.size());
  units.time_.assign(static_cast<std::size_t>(count) * devices, 0);
  units.memory_.assign(static_cast<std::size_t>(count), 0);
  units.stateful_.assign(static_cast<std::size_t>(count), false);
  std::vector<RawNet> raw;
  for (NodeId id = 0; id < graph.size(); ++id) {
    const auto unit = static_cast<std::size_t>(units.of(id));
    const Node& node = graph.node(id);
    for (DeviceId device = 0; device < cluster.size(); ++device) {
      units.time_[unit * devices + static_cast<std::size_t>(device)] +=
          cluster.time_ms(node, device);
    }
    units.memory_[unit] += node.memory_bytes;
    units.stateful_[unit] = units.stateful_[unit] || node.stateful;
    RawNet net{units.of(id), {}, cluster.output_ms(node), node.output_bytes};
    for (const NodeId reader : graph.readers(id)) net.readers.push_back(units.of(reader));
    std::sort(net.readers.begin(), net.readers.end());
    net.readers.erase(std::unique(net.readers.begin(), net.readers.end()), net.readers.end());
    std::erase(net.readers, net.producer);
    raw.push_back(std::move(net));
  }
  units.set_nets(std::move(raw));
  return units;
}

Units Units::contracted(const std::vector<UnitId>& to, int count) const {
  Units made;
  made.devices_ = devices_;
  for (const UnitId unit : of_node_) {
    made.of_node_.push_back(to[static_cast<std::size_t>(unit)]);
  }
  const auto devices = static_cast<std::size_t>(devices_);
  made.time_.assign(static_cast<std::size_t>(count) * devices, 0);
  made.memory_.assign(static_cast<std::size_t>(count), 0);
  made.stateful_.assign(static_cast<std::size_t>(count), false);
  for (std::size_t unit = 0; unit < to.size(); ++unit) {
    const auto target = static_cast<std::size_t>(to[unit]);
    for (std::size_t d = 0; d < devices; ++d) {
      made.time_[target * devices + d] += time_[unit * devices + d];
    }
    made.memory_[target] += memory_[unit];
    made.stateful_[target] = made.stateful_[target] || stateful_[unit];
  }
  std::vector<RawNet> raw;
  for (std::size_t i = 0; i < nets_.size(); ++i) {
    RawNet net{to[static_cast<std::size_t>(nets_[i].producer)], {}, nets_[i].ms, nets_[i].bytes};
    for (const UnitId reader : readers(static_cast<int>(i))) {
      net.readers.push_back(to[static_cast<std::size_t>(reader)]);
    }
    std::sort(net.readers.begin(), net.readers.end());
    net.readers.erase(std::unique(net.readers.begin(), net.readers.end()), net.readers.end());
    std::erase(net.readers, net.producer);
    raw.push_back(std::move(net));
  }
  made.set_nets(std::move(raw));
  return made;
}

std::vector<DeviceId> Units::to_nodes(const std::vector<DeviceId>& units) const {
  std::vector<DeviceId> nodes;
  nodes.reserve(of_node_.size());
  for (const UnitId unit : of_node_) nodes.push_back(units[static_cast<std::size_t>(unit)]);
  return nodes;
}

std::vector<DeviceId> Units::from_nodes(const std::vector<DeviceId>& nodes) const {
  std::vector<DeviceId> units(memory_.size(), -1);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    DeviceId& device = units[static_cast<std::size_t>(of_node_[i])];
    if (device < 0) device = nodes[i];
  }
  return units;
}

}  // namespace optile::placement
