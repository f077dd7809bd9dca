#include <algorithm>
#include <tuple>

#include "base/at.h"
#include "placement/infinity.h"
#include "placement/step/routes.h"
#include "placement/step/step_times.h"
#include "tests/placement/step_reference.h"

namespace optile::placement {
namespace {

using base::at;

constexpr double kSame = 1 + 1e-12;

struct Item {
  int batch;
  NodeId id;
};

struct Transfer {
  Item item;
  DeviceId from, to;
  Ticks flows_at;
  double left;  // bytes
  double rate;
};

class RoutedEvaluation {
 public:
  RoutedEvaluation(const Graph& graph, const Cluster& cluster, const StepSetting& setting,
                   const std::vector<DeviceId>& assignment, StepFigures& figures)
      : graph_(graph),
        routes_(Routes::of(cluster).value()),
        times_(graph, cluster, setting),
        assignment_(assignment),
        figures_(figures),
        devices_(cluster.devices.size()),
        running_(devices_, Item{-1, -1}),
        until_(devices_, 0),
        busy_(devices_, 0) {
    const std::size_t items = at(graph.size()) * at(setting.micro_batches);
    figures.start.assign(items, kInfinity);
    for (int batch = 0; batch < setting.micro_batches; ++batch) {
      for (NodeId id = 0; id < graph.size(); ++id) {
        waiting_.push_back(graph.predecessors(id).size());
        if (graph.predecessors(id).empty()) open_.push_back({batch, id});
      }
    }
  }

  void run() {
    for (;;) {
      for (std::size_t d = 0; d < devices_; ++d) begin(static_cast<DeviceId>(d));
      const Ticks next = next_moment();
      if (next == kNoTicks) break;
      const double ms = times_.ms(next - now_);
      for (Transfer& one : transfers_) one.left = std::max(one.left - one.rate * ms, 0.0);
      // Predicted from here, as the next moment was.
      std::vector<Transfer> over;
      for (std::size_t i = 0; i < transfers_.size();) {
        if (done_[i] > next) {
          ++i;
          continue;
        }
        over.push_back(transfers_[i]);
        transfers_.erase(transfers_.begin() + static_cast<std::ptrdiff_t>(i));
        done_.erase(done_.begin() + static_cast<std::ptrdiff_t>(i));
      }
      now_ = next;
      for (const Transfer& one : over) arrive(one);
      for (std::size_t d = 0; d < devices_; ++d) {
        if (running_[d].id >= 0 && until_[d] == now_) finish(static_cast<DeviceId>(d));
      }
      share();
    }
    figures_.cost = times_.ms(now_);
    for (std::size_t d = 0; d < devices_; ++d) figures_.load[d] = times_.ms(busy_[d]);
  }

 private:
  DeviceId on(NodeId id) const { return assignment_[at(id)]; }
  std::size_t number(const Item& item) const {
    return at(item.batch) * at(graph_.size()) + at(item.id);
  }

  Ticks next_moment() {
    Ticks next = kNoTicks;
    for (std::size_t d = 0; d < devices_; ++d) {
      if (running_[d].id >= 0) next = std::min(next, until_[d]);
    }
    done_.clear();
    for (const Transfer& one : transfers_) {
      const bool flows = one.flows_at <= now_;
      done_.push_back(flows ? times_.coarse(now_, one.left / one.rate) : kNoTicks);
      next = std::min(next, flows ? done_.back() : one.flows_at);
    }
    return next;
  }
  void begin(DeviceId d) {
    if (running_[at(d)].id >= 0) return;
    const auto key = [&](const Item& one) {
      return std::tuple(one.batch, -times_.ways()[at(one.id)], one.id);
    };
    std::size_t best = open_.size();
    for (std::size_t i = 0; i < open_.size(); ++i) {
      if (on(open_[i].id) != d) continue;
      if (best == open_.size() || key(open_[i]) < key(open_[best])) best = i;
    }
    if (best == open_.size()) return;
    const Item item = open_[best];
    open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(best));
    running_[at(d)] = item;
    until_[at(d)] = now_ + times_.time(item.id, d);
    busy_[at(d)] += times_.time(item.id, d);
    figures_.start[number(item)] = times_.ms(now_);
  }
  void finish(DeviceId d) {
    const Item item = running_[at(d)];
    running_[at(d)] = {-1, -1};
    const bool moves = times_.bytes(item.id) > 0;
    const auto readers = graph_.readers(item.id);
    for (DeviceId to = 0; moves && to < static_cast<DeviceId>(devices_); ++to) {
      const bool goes = to != d && std::any_of(readers.begin(), readers.end(),
                                               [&](NodeId reader) { return on(reader) == to; });
      if (!goes) continue;
      const Ticks flows_at = now_ + times_.latency(routes_.between(d, to).latency_ms);
      transfers_.push_back({item, d, to, flows_at, times_.bytes(item.id), 0});
    }
    for (const NodeId next : graph_.successors(item.id)) {
      const bool reads = std::binary_search(readers.begin(), readers.end(), next);
      if (!reads || !moves || on(next) == d) made({item.batch, next});
    }
  }
  void arrive(const Transfer& transfer) {
    for (const NodeId reader : graph_.readers(transfer.item.id)) {
      if (on(reader) == transfer.to) made({transfer.item.batch, reader});
    }
  }
  void made(const Item& item) {
    if (--waiting_[number(item)] == 0) open_.push_back(item);
  }

  // Flows rise together; those of a full channel stay where they are.
  void share() {
    std::vector<Transfer*> rising;
    for (Transfer& one : transfers_) {
      one.rate = 0;
      if (one.flows_at <= now_) rising.push_back(&one);
    }
    std::vector<const Transfer*> fixed;
    while (!rising.empty()) {
      const std::size_t channels = routes_.bandwidths().size();
      std::vector<double> used(channels, 0);
      std::vector<double> through(channels, 0);
      for (const Transfer* one : fixed) {
        for (const int channel : route(*one)) used[at(channel)] += one->rate;
      }
      for (const Transfer* one : rising) {
        for (const int channel : route(*one)) through[at(channel)] += 1;
      }
      const auto level = [&](std::size_t c) {
        return through[c] > 0 ? (routes_.bandwidths()[c] - used[c]) / through[c] : kInfinity;
      };
      double lowest = kInfinity;
      for (std::size_t c = 0; c < channels; ++c) lowest = std::min(lowest, level(c));
      std::vector<Transfer*> still;
      for (Transfer* one : rising) {
        const std::vector<int>& passed = route(*one);
        const bool full = std::any_of(passed.begin(), passed.end(), [&](int channel) {
          return level(at(channel)) <= lowest * kSame;
        });
        one->rate = lowest;
        if (full) {
          fixed.push_back(one);
        } else {
          still.push_back(one);
        }
      }
      rising = std::move(still);
    }
  }
  const std::vector<int>& route(const Transfer& one) const {
    return routes_.between(one.from, one.to).channels;
  }

  const Graph& graph_;
  Routes routes_;
  StepTimes times_;
  const std::vector<DeviceId>& assignment_;
  StepFigures& figures_;
  std::size_t devices_;
  Ticks now_ = 0;
  std::vector<Item> running_;
  std::vector<Ticks> until_, busy_;
  std::vector<std::size_t> waiting_;
  std::vector<Item> open_;
  std::vector<Transfer> transfers_;
  std::vector<Ticks> done_;  // of each transfer
};

}  // namespace

StepFigures reference_routed(const Graph& graph, const Cluster& cluster, const StepSetting& setting,
                             const std::vector<DeviceId>& assignment) {
  StepFigures figures;
  figures.load.assign(cluster.devices.size(), 0);
  RoutedEvaluation(graph, cluster, setting, assignment, figures).run();
  return figures;
}

}  // namespace optile::placement
