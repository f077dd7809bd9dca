// E2 by events, for links of edge and bus, again and again for placements that differ little. What
// was kept last is remembered with checkpoints: a candidate is simulated from the last one before
// the earliest time at which anything can differ. Where its state meets the kept one at a later
// checkpoint, only later or earlier as a whole, the simulation leaps to the next difference or to
// the end. Times are whole ticks, so the answer is that of a simulation from the beginning, bit for
// bit.
//
// Of one thread. Checkpoints are at most about a hundred, and hold two million open nodes at most.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/at.h"
#include "placement/id_set.h"
#include "placement/step/step_items.h"
#include "placement/step/step_machine.h"

namespace optile::placement {

class StepSimulator {
 public:
  // Keeps a reference to the graph.
  StepSimulator(const Graph& graph, const Cluster& cluster, const StepSetting& setting);

  // The time of the step; infinite where a node is on a device that cannot run it.
  double run(const std::vector<DeviceId>& nodes);
  // The same where only `changed` may differ from what was kept; without duplicates. Where nothing
  // is kept it is all the same what changed.
  double run_changed(const std::vector<DeviceId>& nodes, std::span<const NodeId> changed);
  // Keeps what was run last: later runs are fast where they differ little from it.
  void keep();

  // Of what was kept, in milliseconds: of each item its start.
  std::vector<double> starts() const;
  // Likewise all items as they end.
  const std::vector<ItemId>& order() const { return kept_.order; }
  const StepTimes& times() const { return items_.times(); }
  // Items simulated so far, in all runs.
  std::uint64_t simulated() const { return machine_.simulated(); }

 private:
  struct Move {
    ItemId item;
    Ticks first;  // nothing differs before
  };
  // A part of a candidate that was simulated, between two kept checkpoints.
  struct Part {
    std::size_t from = 0;
    std::ptrdiff_t to = -1;  // -1: to the end
    Ticks shift = 0;         // how much later than in the kept one it goes on behind `to`
    std::size_t finishes = 0, checkpoints = 0;  // first of those recorded
  };
  struct PreviousPlacement {
    Ticks cost = 0;
    std::vector<Ticks> end;
    std::vector<std::int32_t> place;  // of each item, among the finishes
    std::vector<ItemId> order;        // of the finishes
    std::vector<StepCheckpoint> checkpoints;

    std::size_t last_before(Ticks when) const;
  };

  bool moved(ItemId item) const { return moved_.contains(base::at(items_.node_of(item))); }

  void find_moves();
  Ticks first_difference(ItemId item) const;
  Ticks next_difference(std::size_t checkpoint) const;
  Ticks ready_anew(ItemId item, const StepCheckpoint& from, bool kept) const;
  Ticks simulate();
  std::ptrdiff_t run_until_met();
  void record();
  void keep_times();
  void keep_checkpoints();
  void append(std::vector<StepCheckpoint>& made, std::size_t first, std::size_t end, Ticks shift);
  void correct(std::vector<StepCheckpoint>& made) const;

  StepItems items_;
  bool bus_;
  StepCandidate candidate_;
  StepMachine machine_;
  PreviousPlacement kept_;
  int gap_;  // finishes between checkpoints, at least

  // Of the candidate.
  Ticks cost_ = 0;
  std::vector<Move> moves_;
  IdSet moved_;  // nodes
  std::vector<Part> parts_;
  std::vector<StepCheckpoint> recorded_, spare_;
  std::size_t open_recorded_ = 0;
  std::size_t next_ = 0;  // kept checkpoint
  int recorded_at_ = 0;
};

}  // namespace optile::placement
