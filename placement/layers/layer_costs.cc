#include "placement/layers/layer_costs.h"

#include <algorithm>

namespace optile::placement {
namespace {

constexpr std::int64_t kNumber = 4;  // bytes of an element
constexpr std::int64_t kBothWays = 2;

bool has_parameters(const Layer& layer) {
  return parameters_per_channel(layer) > 0;
}

// The coordinates of a part.
Degrees coordinates(std::int64_t part, const Degrees& degrees) {
  Degrees at{};
  for (std::size_t d = kDimensions; d-- > 0;) {
    at[d] = part % degrees[d];
    part /= degrees[d];
  }
  return at;
}

// The coordinates of the next part.
void advance(Degrees& at, const Degrees& degrees) {
  for (std::size_t d = kDimensions; d-- > 0;) {
    if (++at[d] < degrees[d]) return;
    at[d] = 0;
  }
}

// The channels that the reader's range has of a tensor which begins at `offset` in its input.
Range of_tensor(Range range, std::int64_t offset, std::int64_t extent) {
  return {std::clamp<std::int64_t>(range.begin - offset, 0, extent),
          std::clamp<std::int64_t>(range.end - offset, 0, extent)};
}

void add_ways(const Layer& layer, std::int64_t left, std::size_t dimension, Degrees& degrees,
              std::vector<Degrees>& ways) {
  if (dimension == dimensions_of(layer)) {
    if (left == 1) ways.push_back(degrees);
    return;
  }
  for (std::int64_t degree = std::min(left, layer.output[dimension]); degree >= 1; --degree) {
    if (left % degree != 0) continue;
    degrees[dimension] = degree;
    add_ways(layer, left / degree, dimension + 1, degrees, ways);
    degrees[dimension] = 1;
  }
}

}  // namespace

std::int64_t parts_of(const Degrees& degrees) {
  std::int64_t parts = 1;
  for (const std::int64_t degree : degrees) parts *= degree;
  return parts;
}

std::string text_of(const Layer& layer, const Degrees& degrees) {
  std::string text;
  for (std::size_t d = 0; d < dimensions_of(layer); ++d) {
    if (degrees[d] == 1) continue;
    if (!text.empty()) text += ' ';
    text += std::string(letter_of(layer, d)) + "=" + std::to_string(degrees[d]);
  }
  return text.empty() ? "1" : text;
}

std::vector<Degrees> ways_to_split(const Layer& layer, int devices) {
  std::vector<Degrees> ways;
  for (std::int64_t parts = 1; parts <= devices; ++parts) {
    if (devices % parts != 0) continue;
    Degrees degrees{1, 1, 1, 1, 1};
    add_ways(layer, parts, 0, degrees, ways);
  }
  return ways;
}

double seconds_of(const Moved& moved, const TrainingSetting& setting) {
  return static_cast<double>(moved.within_host) / setting.within_host +
         static_cast<double>(moved.between_hosts) / setting.between_hosts;
}

double compute_seconds(const Layer& layer, const Degrees& degrees, const TrainingSetting& setting) {
  double outputs = 1;
  double inputs = 1;
  double channels = 1;
  for (std::size_t d = 0; d < kDimensions; ++d) {
    std::int64_t largest = 0;
    std::int64_t largest_read = 0;
    for (std::int64_t part = 0; part < degrees[d]; ++part) {
      const Range range = part_of(layer.output[d], part, degrees[d]);
      largest = std::max(largest, range.size());
      largest_read = std::max(largest_read, read_for(layer, d, range).size());
    }
    outputs *= static_cast<double>(largest);
    inputs *= static_cast<double>(largest_read);
    if (d == kChannel) channels = static_cast<double>(largest);
  }
  const double parameters = channels * static_cast<double>(parameters_per_channel(layer));
  const double operations = outputs * static_cast<double>(operations_per_element(layer));
  const double bytes = (outputs + inputs + parameters) * static_cast<double>(kNumber);
  // Backward once more, and once more again where there are gradients of parameters too.
  const double passes = has_parameters(layer) ? 3 : 2;
  return passes * std::max(operations / setting.operations, bytes / setting.memory_bandwidth);
}

Moved synchronised(const Layer& layer, const Degrees& degrees, const TrainingSetting& setting) {
  Moved moved;
  if (!has_parameters(layer)) return moved;
  const std::int64_t per_channel = parameters_per_channel(layer) * kNumber * kBothWays;
  // The server of a slice of the channels is the first device that has it.
  std::vector<std::int64_t> server(static_cast<std::size_t>(degrees[kChannel]), -1);
  for (std::int64_t device = 0; device < parts_of(degrees); ++device) {
    const std::int64_t slice = coordinates(device, degrees)[kChannel];
    std::int64_t& owner = server[static_cast<std::size_t>(slice)];
    if (owner < 0) {
      owner = device;
      continue;
    }
    const std::int64_t bytes =
        part_of(layer.output[kChannel], slice, degrees[kChannel]).size() * per_channel;
    const bool same_host = owner / setting.devices_per_host == device / setting.devices_per_host;
    (same_host ? moved.within_host : moved.between_hosts) += bytes;
  }
  return moved;
}

TensorMoves::TensorMoves(const Layer& producer, const Layer& reader, std::int64_t channel,
                         const TrainingSetting& setting)
    : producer_(producer),
      reader_(reader),
      channel_(channel),
      devices_per_host_(setting.devices_per_host) {
  for (int degree = 1; degree <= setting.devices; ++degree) {
    if (setting.devices % degree != 0) continue;
    index_[static_cast<std::size_t>(degree)] = static_cast<std::uint8_t>(divisors_++);
  }
  for (auto& of_dimension : common_) of_dimension.resize(divisors_ * divisors_);
}

const std::int64_t* TensorMoves::common(std::size_t dimension, std::int64_t from, std::int64_t to) {
  const std::size_t row = index_[static_cast<std::size_t>(from)];
  const std::size_t column = index_[static_cast<std::size_t>(to)];
  std::vector<std::int64_t>& elements = common_[dimension][row * divisors_ + column];
  if (!elements.empty()) return elements.data();
  const std::int64_t extent = producer_.output[dimension];
  const bool offset = dimension == kChannel && reader_.kind == LayerKind::kConcatenation;
  for (std::int64_t part = 0; part < to; ++part) {
    Range needed = read_for(reader_, dimension, part_of(reader_.output[dimension], part, to));
    needed = of_tensor(needed, offset ? channel_ : 0, extent);
    for (std::int64_t made = 0; made < from; ++made) {
      const Range has = part_of(extent, made, from);
      elements.push_back(
          Range{std::max(needed.begin, has.begin), std::min(needed.end, has.end)}.size());
    }
    elements.push_back(needed.size());
  }
  return elements.data();
}

Moved TensorMoves::moved(const Degrees& from, const Degrees& to) {
  std::array<const std::int64_t*, kDimensions> tables{};
  for (std::size_t d = 0; d < kDimensions; ++d) tables[d] = common(d, from[d], to[d]);
  const std::int64_t parts = parts_of(from);
  const std::int64_t readers = parts_of(to);
  std::array<Degrees, kMostTrainingDevices> made;
  made[0] = {};
  for (std::size_t part = 1; part < static_cast<std::size_t>(parts); ++part) {
    made[part] = made[part - 1];
    advance(made[part], from);
  }
  Moved moved;
  Degrees at{};
  for (std::int64_t reader = 0; reader < readers; ++reader, advance(at, to)) {
    std::int64_t needed = 1;
    std::array<const std::int64_t*, kDimensions> rows{};
    for (std::size_t d = 0; d < kDimensions; ++d) {
      rows[d] = tables[d] + at[d] * (from[d] + 1);
      needed *= rows[d][from[d]];
    }
    const std::int64_t host = reader / devices_per_host_ * devices_per_host_;
    std::int64_t own = 0;
    std::int64_t of_host = 0;
    for (std::int64_t maker = host; maker < std::min(host + devices_per_host_, parts); ++maker) {
      const Degrees& part = made[static_cast<std::size_t>(maker)];
      std::int64_t elements = 1;
      for (std::size_t d = 0; d < kDimensions; ++d) elements *= rows[d][part[d]];
      of_host += elements;
      if (maker == reader) own = elements;
    }
    moved.within_host += (of_host - own) * kNumber * kBothWays;
    moved.between_hosts += (needed - of_host) * kNumber * kBothWays;
  }
  return moved;
}

}  // namespace optile::placement
