// DLPlacer's integer program (Pal et al., equations 7 to 13) of one stretch, with the devices of
// both waists given. Its least cost is at most that of any placement in E2's simulation.
#pragma once

#include <utility>
#include <vector>

#include "placement/methods/cbc_program.h"
#include "placement/step/step.h"
#include "placement/step/stretches.h"

namespace optile::placement {

// -1: there is no such waist.
struct Ends {
  DeviceId source = -1;
  DeviceId sink = -1;
};

class StretchProgram {
 public:
  StretchProgram(const Stretch& stretch, const Cluster& cluster, const Units& units,
                 const StepSetting& setting, const Ends& ends);

  // Without a search: the longest path with the transfers it cannot avoid, and the work over all
  // devices. Infinite where the stretch cannot run so.
  double free_bound() const { return free_bound_; }
  // The program's columns and rows; only placements that cost less than `below` need to be
  // solutions. Costs are fractions of `below`. Without orders, nodes that share a device may
  // overlap as long as the device has time for all of them: far smaller, and still a bound.
  Program program(double below, bool with_orders) const;
  // Whether the pairs of nodes that may run in either order are few enough for a program with them.
  bool can_order() const { return can_order_; }
  // The devices of the stretch's units from the program's solution.
  std::vector<DeviceId> devices(const std::vector<double>& solution) const;

 private:
  struct Parts;
  double& entry(std::vector<double>& table, NodeId id, DeviceId d) const;
  double entry(const std::vector<double>& table, NodeId id, DeviceId d) const;
  bool may_run(NodeId id, DeviceId d) const;
  void raise(std::vector<double>& way, NodeId id, NodeId neighbour, double transfer_ms) const;
  void find_heads();
  void find_tails();
  void find_free_bound();
  void find_pairs();
  void add_places(Parts& parts) const;
  void add_edges(Parts& parts) const;
  void add_orders(Parts& parts) const;
  void add_device_rows(Parts& parts, DeviceId d) const;
  void add_symmetry(Parts& parts) const;

  const Stretch& stretch_;
  const Cluster& cluster_;
  const Units& units_;
  Ends ends_;
  std::vector<double> time_;    // of each node on each device; infinite where it may not run
  std::vector<double> output_;  // of each node
  // A node on a device begins no earlier than its head, and the stretch goes on for no less than
  // its tail once it has ended.
  std::vector<double> head_, tail_;
  double free_bound_ = 0;
  bool can_order_ = false;
  std::vector<std::pair<NodeId, NodeId>> pairs_;  // with no path between them
};

}  // namespace optile::placement
