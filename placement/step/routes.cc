#include "placement/step/routes.h"

#include <algorithm>
#include <queue>
#include <tuple>

#include "base/at.h"
#include "placement/infinity.h"
#include "placement/step/step.h"

namespace optile::placement {
namespace {

using base::at;

}  // namespace

base::Result<Routes> Routes::of(const Cluster& cluster) {
  if (cluster.size() > kMostRouted) {
    return base::Error{base::ErrorKind::kInvalid,
                       "routed links take at most " + std::to_string(kMostRouted) + " devices"};
  }
  Routes made;
  made.devices_ = cluster.devices.size();
  made.routes_.resize(made.devices_ * made.devices_);
  if (!cluster.links.empty()) {
    for (const Link& link : cluster.links) {
      made.bandwidths_.insert(made.bandwidths_.end(), 2, link.bytes_per_ms);
    }
    Ways ways(made.devices_ + at(cluster.routers));
    for (std::size_t i = 0; i < cluster.links.size(); ++i) {
      const Link& link = cluster.links[i];
      const int channel = 2 * static_cast<int>(i);
      ways[at(link.from)].emplace_back(link.to, channel);
      ways[at(link.to)].emplace_back(link.from, channel + 1);
    }
    for (DeviceId from = 0; from < cluster.size(); ++from) {
      const base::Status found = made.find(cluster, ways, from);
      if (!found.ok()) return found.error();
    }
    made.find_extremes();
    return made;
  }
  made.bandwidths_.assign(2 * made.devices_, cluster.bytes_per_ms);
  for (DeviceId from = 0; from < cluster.size(); ++from) {
    for (DeviceId to = 0; to < cluster.size(); ++to) {
      if (to == from) continue;
      made.routes_[at(from) * made.devices_ + at(to)] = {cluster.latency_ms,
                                                         {2 * from, 2 * to + 1}};
    }
  }
  made.find_extremes();
  return made;
}

void Routes::find_extremes() {
  for (const Route& route : routes_) {
    longest_latency_ms_ = std::max(longest_latency_ms_, route.latency_ms);
    for (const int channel : route.channels) {
      slowest_ = std::min(slowest_, bandwidths_[at(channel)]);
    }
  }
}

StepSetting with_routes(const Cluster& cluster, StepSetting setting) {
  if (setting.links == StepLinks::kRouted && !setting.routes) {
    setting.routes = std::make_shared<const Routes>(Routes::of(cluster).value());
  }
  return setting;
}

// Dijkstra's algorithm from one device.
base::Status Routes::find(const Cluster& cluster, const Ways& ways, DeviceId from) {
  const std::size_t ends = ways.size();
  using Reached = std::tuple<double, int, int>;  // latency, links, end
  std::vector<Reached> best(ends, {kInfinity, 0, 0});
  std::vector<std::pair<int, int>> by(ends,
                                      {-1, -1});  // the end before, and the channel from there
  std::priority_queue<Reached, std::vector<Reached>, std::greater<>> queue;
  best[at(from)] = {0, 0, from};
  queue.push(best[at(from)]);
  while (!queue.empty()) {
    const Reached here = queue.top();
    queue.pop();
    const auto [latency, links, end] = here;
    if (here != best[at(end)]) continue;
    for (const auto& [next, channel] : ways[at(end)]) {
      const double more = cluster.links[at(channel / 2)].latency_ms;
      const Reached there = {latency + more, links + 1, next};
      if (there >= best[at(next)]) continue;
      best[at(next)] = there;
      by[at(next)] = {end, channel};
      queue.push(there);
    }
  }
  for (DeviceId to = 0; to < cluster.size(); ++to) {
    if (to == from) continue;
    if (!(std::get<0>(best[at(to)]) < kInfinity)) {
      return base::Error{
          base::ErrorKind::kInvalid,
          "no links lead from " + cluster.device(from).name + " to " + cluster.device(to).name};
    }
    Route& route = routes_[at(from) * devices_ + at(to)];
    route.latency_ms = std::get<0>(best[at(to)]);
    for (int end = to; end != from; end = by[at(end)].first) {
      route.channels.push_back(by[at(end)].second);
    }
    std::reverse(route.channels.begin(), route.channels.end());
  }
  return {};
}

double Routes::alone_ms(DeviceId from, DeviceId to, double bytes) const {
  if (!(bytes > 0)) return 0;
  const Route& route = between(from, to);
  double slowest = kInfinity;
  for (const int channel : route.channels) {
    slowest = std::min(slowest, bandwidths_[at(channel)]);
  }
  return route.latency_ms + bytes / slowest;
}

FairRates::FairRates(const std::vector<double>& bandwidths)
    : bandwidths_(bandwidths), channels_(bandwidths.size()) {}

void FairRates::share(const std::vector<const Routes::Route*>& routes, std::vector<double>& rates) {
  used_.clear();
  for (const Routes::Route* route : routes) {
    for (const int channel : route->channels) {
      Channel& one = channels_[at(channel)];
      if (one.flows++ > 0) continue;
      one.left = bandwidths_[at(channel)];
      used_.push_back(channel);
    }
  }
  rates.assign(routes.size(), -1);
  for (std::size_t given = 0; given < routes.size();) {
    // The channel that is full first.
    double least = kInfinity;
    int fullest = -1;
    for (const int channel : used_) {
      const Channel& one = channels_[at(channel)];
      if (one.flows == 0 || one.left / one.flows >= least) continue;
      least = one.left / one.flows;
      fullest = channel;
    }
    for (std::size_t i = 0; i < routes.size(); ++i) {
      const std::vector<int>& route = routes[i]->channels;
      if (rates[i] >= 0 || std::find(route.begin(), route.end(), fullest) == route.end()) continue;
      rates[i] = least;
      ++given;
      for (const int channel : route) {
        Channel& one = channels_[at(channel)];
        one.left = std::max(one.left - least, 0.0);
        --one.flows;
      }
    }
  }
}

}  // namespace optile::placement
