// E2 against SimGrid, a simulator of others: devices are hosts, nodes executions, and tensors
// communications over its own model of a network (CM02: latency, then max-min fair shares). Who
// runs when is decided by actors here, by E2's rule. One engine serves a process, so all steps run
// one after the other in it. GCC only: clang-tidy takes a forward declaration of SimGrid's, Status,
// for one of ours in a wrong namespace.
//
// Where the models differ, and what is left out here: SimGrid's flows share a link by the inverse
// of their latencies, ours alike, so routes have the same latency or none; its clock merges events
// closer than a precision, so times are no round numbers and costs are compared within kTolerance.
#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <set>
#include <simgrid/s4u.hpp>
#include <string>

#include "placement/random.h"
#include "placement/step/step.h"
#include "placement/step/step_times.h"
#include "tests/placement/made_graphs.h"

namespace optile::placement {
namespace {

namespace sg = simgrid::s4u;

constexpr double kTolerance = 1e-6;  // of a cost
constexpr double kFlops = 1e6;       // of a node, for each millisecond
constexpr int kSeeds = 14;

enum class Net { kEdge, kBus, kStar, kTree };

struct Step {
  Graph graph;
  Cluster cluster;
  StepSetting setting;
  std::vector<DeviceId> assignment;
  Net net;
  double simgrid_ms = 0;
};

std::size_t at(std::int32_t id) {
  return static_cast<std::size_t>(id);
}

Graph graph_of(Random& random) {
  std::vector<Node> nodes(static_cast<std::size_t>(20 + random.below(40)));
  std::vector<Edge> edges;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    nodes[i].accelerator_ms = nodes[i].cpu_ms = 0.5 + 3 * random.unit();
    nodes[i].output_bytes = 100'000 + random.below(4'000'000);
    for (std::size_t j = 0; j < i; ++j) {
      if (random.unit() * static_cast<double>(i) > 2) continue;
      edges.push_back({static_cast<NodeId>(j), static_cast<NodeId>(i), random.below(10) == 0});
    }
  }
  return make_graph(std::move(nodes), edges);
}

// Devices in turn behind two routers with a narrow link between them.
void add_tree(Cluster& cluster) {
  cluster.routers = 2;
  for (DeviceId d = 0; d < cluster.size(); ++d) {
    cluster.links.push_back({d, cluster.size() + d % 2, 1e6 + 1e5 * d, 0});
  }
  cluster.links.push_back({cluster.size(), cluster.size() + 1, 8e5, 0});
}

Step step_of(Net net, std::uint64_t seed) {
  Random random(seed * 10 + static_cast<std::uint64_t>(net));
  Step step{graph_of(random), Cluster::uniform(2 + random.below(4), 0, 1e12), {}, {}, net};
  for (Device& device : step.cluster.devices) device.speed = 0.5 + random.unit();
  step.cluster.bytes_per_ms = 1e6;
  step.cluster.latency_ms = net == Net::kTree ? 0 : 0.37;
  if (net == Net::kTree) add_tree(step.cluster);
  step.setting.op_ms = 0.011;
  step.setting.links = net == Net::kEdge  ? StepLinks::kEdge
                       : net == Net::kBus ? StepLinks::kBus
                                          : StepLinks::kRouted;
  for (NodeId id = 0; id < step.graph.size(); ++id) {
    step.assignment.push_back(random.below(step.cluster.size()));
  }
  return step;
}

// One step in SimGrid: its hosts and links, and the actors that run it.
class World {
 public:
  World(sg::NetZone& zone, Step& step, const std::string& name)
      : step_(step),
        times_(step.graph, step.cluster, step.setting),
        name_(name),
        ready_(step.cluster.devices.size()),
        bus_(step.cluster.devices.size()),
        left_(step.cluster.devices.size(), 0) {
    for (const Device& device : step.cluster.devices) {
      hosts_.push_back(
          zone.create_host(name + "d" + std::to_string(hosts_.size()), device.speed * kFlops));
      hosts_.back()->seal();
    }
    for (NodeId id = 0; id < step.graph.size(); ++id) {
      waiting_.push_back(step.graph.predecessors(id).size());
      ++left_[at(step.assignment[at(id)])];
    }
    add_links(zone);
  }

  // Of the actor that goes through all steps.
  void run() {
    const double begun = sg::Engine::get_clock();
    done_ = sg::Semaphore::create(0);
    for (std::size_t d = 0; d < hosts_.size(); ++d) {
      wake_.push_back(sg::Semaphore::create(0));
      bus_wake_.push_back(sg::Semaphore::create(0));
    }
    for (NodeId id = 0; id < step_.graph.size(); ++id) {
      if (waiting_[at(id)] == 0) ready_[at(step_.assignment[at(id)])].insert(key(id));
    }
    for (DeviceId d = 0; d < step_.cluster.size(); ++d) {
      sg::Actor::create(name_ + "compute", hosts_[at(d)], [this, d] { compute(d); });
      sg::Actor::create(name_ + "bus", hosts_[at(d)], [this, d] { transmit(d); })->daemonize();
    }
    for (std::size_t d = 0; d < hosts_.size(); ++d) done_->acquire();
    step_.simgrid_ms = sg::Engine::get_clock() - begun;
  }

 private:
  using Key = std::pair<double, NodeId>;
  Key key(NodeId id) const { return {-times_.ways()[at(id)], id}; }

  sg::Link* link(sg::NetZone& zone, const std::string& what, double bandwidth, double latency,
                 bool shared) {
    sg::Link* made = zone.create_link(name_ + what, bandwidth);
    made->set_latency(latency);
    made->set_sharing_policy(shared ? sg::Link::SharingPolicy::SHARED
                                    : sg::Link::SharingPolicy::FATPIPE);
    made->seal();
    return made;
  }
  void add_links(sg::NetZone& zone) {
    const Cluster& cluster = step_.cluster;
    const bool shared = step_.net == Net::kStar || step_.net == Net::kTree;
    std::vector<sg::Link*> up;
    std::vector<sg::Link*> down;
    for (DeviceId d = 0; d < cluster.size(); ++d) {
      const bool tree = step_.net == Net::kTree;
      const double bandwidth = tree ? cluster.links[at(d)].bytes_per_ms : cluster.bytes_per_ms;
      const std::string which = std::to_string(d);
      up.push_back(link(zone, "up" + which, bandwidth, cluster.latency_ms, shared));
      down.push_back(link(zone, "down" + which, bandwidth, 0, shared));
    }
    sg::Link* trunk[2] = {nullptr, nullptr};
    for (std::size_t i = 0; i < 2 && step_.net == Net::kTree; ++i) {
      trunk[i] =
          link(zone, "trunk" + std::to_string(i), cluster.links.back().bytes_per_ms, 0, true);
    }
    for (DeviceId from = 0; from < cluster.size(); ++from) {
      for (DeviceId to = 0; to < cluster.size(); ++to) {
        if (from == to) continue;
        std::vector<sg::LinkInRoute> route = {sg::LinkInRoute(up[at(from)])};
        if (step_.net == Net::kTree && from % 2 != to % 2) route.emplace_back(trunk[from % 2]);
        if (shared) route.emplace_back(down[at(to)]);
        zone.add_route(hosts_[at(from)]->get_netpoint(), hosts_[at(to)]->get_netpoint(), nullptr,
                       nullptr, route, false);
      }
    }
  }

  void compute(DeviceId d) {
    while (left_[at(d)] > 0) {
      // Whatever else happens at this moment comes first.
      sg::this_actor::yield();
      sg::this_actor::yield();
      if (ready_[at(d)].empty()) {
        wake_[at(d)]->acquire();
        continue;
      }
      const NodeId id = ready_[at(d)].begin()->second;
      ready_[at(d)].erase(ready_[at(d)].begin());
      sg::this_actor::execute(step_.graph.node(id).accelerator_ms * kFlops);
      sg::this_actor::sleep_for(step_.setting.op_ms);
      --left_[at(d)];
      finish(id, d);
    }
    done_->release();
  }
  void finish(NodeId id, DeviceId home) {
    std::set<DeviceId> targets;
    const auto readers = step_.graph.readers(id);
    for (const NodeId next : step_.graph.successors(id)) {
      const DeviceId there = step_.assignment[at(next)];
      const bool reads = std::binary_search(readers.begin(), readers.end(), next);
      if (!reads || there == home) {
        made(next);
      } else {
        targets.insert(there);
      }
    }
    for (const DeviceId to : targets) {
      if (step_.net == Net::kBus) {
        bus_[at(home)].emplace_back(id, to);
        bus_wake_[at(home)]->release();
      } else {
        sg::Actor::create(name_ + "tensor", hosts_[at(home)],
                          [this, id, home, to] { move(id, home, to); });
      }
    }
  }
  void transmit(DeviceId home) {
    for (;;) {
      bus_wake_[at(home)]->acquire();
      const auto [id, to] = bus_[at(home)].front();
      bus_[at(home)].pop_front();
      move(id, home, to);
    }
  }
  void move(NodeId id, DeviceId home, DeviceId to) {
    sg::Comm::sendto(hosts_[at(home)], hosts_[at(to)],
                     static_cast<std::uint64_t>(step_.graph.node(id).output_bytes));
    for (const NodeId reader : step_.graph.readers(id)) {
      if (step_.assignment[at(reader)] == to) made(reader);
    }
  }
  void made(NodeId reader) {
    if (--waiting_[at(reader)] > 0) return;
    const DeviceId d = step_.assignment[at(reader)];
    ready_[at(d)].insert(key(reader));
    wake_[at(d)]->release();
  }

  Step& step_;
  StepTimes times_;
  std::string name_;
  std::vector<sg::Host*> hosts_;
  std::vector<std::size_t> waiting_;  // of each node, inputs that are not there
  std::vector<std::set<Key>> ready_;  // on each device
  std::vector<std::deque<std::pair<NodeId, DeviceId>>> bus_;
  std::vector<int> left_;  // nodes of each device
  sg::SemaphorePtr done_;
  std::vector<sg::SemaphorePtr> wake_, bus_wake_;
};

class SimGrid : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    static int count = 1;
    static char name[] = "simgrid_test";
    static char* words[] = {name, nullptr};
    sg::Engine engine(&count, words);
    for (const char* setting :
         {"network/model:CM02", "network/TCP-gamma:1e30", "network/crosstraffic:0",
          "surf/precision:1e-9", "maxmin/precision:1e-12"}) {
      sg::Engine::set_config(setting);
    }
    sg::NetZone* zone = sg::create_full_zone("all");
    sg::Host* first = zone->create_host("first", 1.0);
    for (const Net net : {Net::kEdge, Net::kBus, Net::kStar, Net::kTree}) {
      for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) steps().push_back(step_of(net, seed));
    }
    std::deque<World> worlds;
    for (Step& step : steps())
      worlds.emplace_back(*zone, step, "s" + std::to_string(worlds.size()));
    zone->seal();
    sg::Actor::create("all", first, [&worlds] {
      for (World& world : worlds) world.run();
    });
    engine.run();
  }
  static std::vector<Step>& steps() {
    static std::vector<Step> all;
    return all;
  }
  static void compare(Net net) {
    int compared = 0;
    for (const Step& step : steps()) {
      if (step.net != net) continue;
      const StepFigures figures =
          evaluate_step(step.graph, step.cluster, step.setting, step.assignment);
      EXPECT_NEAR(step.simgrid_ms, figures.cost, kTolerance * figures.cost)
          << "step " << compared << " of " << step.graph.size() << " nodes";
      ++compared;
    }
    EXPECT_EQ(compared, kSeeds);
  }
};

TEST_F(SimGrid, AgreesOnConcurrentTransfers) {
  compare(Net::kEdge);
}

TEST_F(SimGrid, AgreesOnBusPerDevice) {
  compare(Net::kBus);
}

TEST_F(SimGrid, AgreesOnSharedSwitch) {
  compare(Net::kStar);
}

TEST_F(SimGrid, AgreesOnTreeWithNarrowTrunk) {
  compare(Net::kTree);
}

}  // namespace
}  // namespace optile::placement
