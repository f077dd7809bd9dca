// What it costs to split a layer over devices: the analytic model of docs/design/0021. Times are
// seconds, rates a second, bytes those of 4-byte numbers.
// Source: OptCNN, section 5.1, with formulas in place of its measurements.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "placement/layers/layer_graph.h"

namespace optile::placement {

inline constexpr int kMostTrainingDevices = 64;

// The paper's setting: 4 hosts of 4 P100 with NVLink, 100 Gb/s between hosts. Rates are those that
// the makers promise.
struct TrainingSetting {
  int devices = 4;
  int devices_per_host = 4;
  std::int64_t samples_per_device = 32;
  double operations = 10.6e12;
  double memory_bandwidth = 732e9;
  double within_host = 20e9;  // between two devices of a host, each way
  double between_hosts = 12.5e9;

  std::int64_t samples() const { return samples_per_device * devices; }
};

// In how many parts each dimension is split. Parts are numbered with the sample slowest, and part i
// is on device i.
using Degrees = std::array<std::int64_t, kDimensions>;
std::int64_t parts_of(const Degrees& degrees);
std::string text_of(const Layer& layer, const Degrees& degrees);  // such as "n=2 c=2"; "1" for none

// All ways to split a layer whose number of parts divides the number of devices, those of fewest
// parts first; none splits a dimension into more parts than its extent.
std::vector<Degrees> ways_to_split(const Layer& layer, int devices);

struct Moved {
  std::int64_t within_host = 0;
  std::int64_t between_hosts = 0;

  std::int64_t bytes() const { return within_host + between_hosts; }
  Moved& operator+=(const Moved& other) {
    within_host += other.within_host;
    between_hosts += other.between_hosts;
    return *this;
  }
};
double seconds_of(const Moved& moved, const TrainingSetting& setting);

// t_C: forward and backward pass of the largest part.
double compute_seconds(const Layer& layer, const Degrees& degrees, const TrainingSetting& setting);
// Of t_S: gradients to the parameter server and parameters back.
Moved synchronised(const Layer& layer, const Degrees& degrees, const TrainingSetting& setting);

// Of t_X, for one tensor: what parts of the reader need and their devices do not have, and the
// gradients of that on the way back. Knows how ranges overlap, so that one pair of degrees costs a
// few operations for each part and device of its host.
class TensorMoves {
 public:
  // The layers must outlive it. At most kMostTrainingDevices devices.
  TensorMoves(const Layer& producer, const Layer& reader, std::int64_t channel,
              const TrainingSetting& setting);

  // Degrees of the producer and of the reader; each divides the number of devices.
  Moved moved(const Degrees& from, const Degrees& to);

 private:
  // A row for each part of the reader: for one dimension, elements in common of what it needs and
  // what each part of the producer has; at the end of the row their sum.
  const std::int64_t* common(std::size_t dimension, std::int64_t from, std::int64_t to);

  const Layer& producer_;
  const Layer& reader_;
  std::int64_t channel_;
  std::int64_t devices_per_host_;
  std::array<std::uint8_t, kMostTrainingDevices + 1> index_{};  // of each divisor
  std::size_t divisors_ = 0;
  std::array<std::vector<std::vector<std::int64_t>>, kDimensions> common_;  // empty: not asked for
};

}  // namespace optile::placement
