// Which links a transfer passes between two devices, for E2 c. Each link carries both ways, each
// way with its whole bandwidth: a way is a channel. A route has the least latency, of those the
// fewest links. Where a cluster names no links, each device hangs on one switch by a link of the
// default bandwidth, and a transfer has the default latency. Immutable; several threads may read
// it.
#pragma once

#include <limits>
#include <utility>
#include <vector>

#include "base/result.h"
#include "placement/cluster.h"

namespace optile::placement {

struct StepSetting;

inline constexpr int kMostRouted = 512;  // devices

class Routes {
 public:
  // kInvalid where there is no way between two devices, or are too many devices.
  static base::Result<Routes> of(const Cluster& cluster);

  struct Route {
    double latency_ms = 0;
    std::vector<int> channels;
  };
  const Route& between(DeviceId from, DeviceId to) const {
    return routes_[static_cast<std::size_t>(from) * devices_ + static_cast<std::size_t>(to)];
  }
  // Of each channel, in bytes a millisecond.
  const std::vector<double>& bandwidths() const { return bandwidths_; }
  // Of a transfer that shares its channels with none.
  double alone_ms(DeviceId from, DeviceId to, double bytes) const;
  // No transfer takes longer while nothing else happens but transfers, shared equally: some channel
  // that is on a route is full all the time.
  double longest_ms(double bytes) const { return longest_latency_ms_ + bytes / slowest_; }

 private:
  // Of each device and router: the other end, and the channel.
  using Ways = std::vector<std::vector<std::pair<int, int>>>;
  base::Status find(const Cluster& cluster, const Ways& ways, DeviceId from);
  void find_extremes();

  std::size_t devices_ = 0;
  std::vector<Route> routes_;
  std::vector<double> bandwidths_;
  double longest_latency_ms_ = 0;                             // of all routes
  double slowest_ = std::numeric_limits<double>::infinity();  // channel on a route
};

// The setting with its routes, made where it needs them and has none; the cluster has them.
StepSetting with_routes(const Cluster& cluster, StepSetting setting);

// Gives each flow its rate: all grow alike until a channel is full, those that do not pass it grow
// on (max-min fairness). Keeps its scratch memory between calls; of one thread.
class FairRates {
 public:
  explicit FairRates(const std::vector<double>& bandwidths);
  // `routes` are the flows'; in bytes a millisecond.
  void share(const std::vector<const Routes::Route*>& routes, std::vector<double>& rates);

 private:
  struct Channel {
    double left = 0;
    int flows = 0;
  };
  const std::vector<double>& bandwidths_;
  std::vector<Channel> channels_;
  std::vector<int> used_;
};

}  // namespace optile::placement
