// Ours: what the end of the step waits for longest goes first, at a width that weighs its time
// against the cores that it keeps from others. Where its case does not fit now, it starts narrower
// or waits for the cores, whichever ends sooner by prediction; while it waits, only what ends
// before them may start. Predictions are stretched by what runs of the instance were measured to
// lose to their neighbours; widths that a free lane has already are preferred by the price of a
// change.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "perfmodel/profile/switching_cost.h"
#include "sched/cores/core_pool.h"
#include "sched/cores/lane_table.h"
#include "sched/strategies/learned_order.h"
#include "sched/strategies/step_outline.h"
#include "sched/strategies/step_strategy.h"

namespace optile::sched {

struct LookAheadOptions {
  // A case is worth its seconds times (1 + this times its share of the cores): 0 is every op at its
  // fastest, infinity every op at width 1.
  double core_price = 1.0;
  // Memory bandwidth that ops running together may draw, by prediction; of the machine's.
  double most_draw = 1e9;
  // The graph's edges are not known: they are learnt from what becomes ready behind what. In the
  // first step the longest op is the most urgent one.
  bool learns_order = false;
};

class LookAheadStrategy : public StepStrategy {
 public:
  // Ready ops that one decision looks at, the most urgent ones.
  static constexpr std::size_t kScanned = 32;

  LookAheadStrategy(const StepOutline& outline, const perfmodel::SwitchingCost& switching,
                    LookAheadOptions options);

  void begin_step() override;
  void on_ready(int node) override;
  void on_finished(int node, double now) override;
  void decide(double now, std::vector<Launch>* launches) override;
  std::string description() const override;

  double urgency(int node) const { return urgency_[static_cast<std::size_t>(node)]; }

 private:
  struct MenuEntry {
    TimedCase timed;
    double draw = 0;
  };
  // Cases of one instance, each wider and faster than the one before.
  struct Menu {
    std::vector<MenuEntry> entries;
    std::size_t planned = 0;
    // Those around the plan that are weighed against it.
    std::size_t first = 0;
    std::size_t last = 0;
  };
  // What most ready ops are passed over by, side by side.
  struct Outlook {
    double stretch = 1.0;      // measured over predicted time, at least 1
    double least_seconds = 0;  // of all its cases that may start
  };
  struct Running {
    int node = 0;
    int lane = 0;
    double start = 0;
    double seconds = 0;  // alone
    double end = 0;      // predicted
    double draw = 0;
    int width = 0;
    CoreSet cores;
  };
  struct Verdict {
    const MenuEntry* entry = nullptr;  // nullptr: it does not start now
    double cores_free_at = 0;          // then: when its planned case fits, by prediction
  };

  void make_menus();
  void make_urgency();
  double planned_seconds(int node) const;
  Menu menu_of(std::size_t instance) const;
  std::size_t instance_of(int node) const {
    return static_cast<std::size_t>(outline_.instance_of[static_cast<std::size_t>(node)]);
  }
  Verdict judge(const Menu& menu, double stretch, double now);
  const MenuEntry* best_fitting(const Menu& menu) const;
  double free_at(int width, double now);
  void start(int node, const MenuEntry& entry, double now, std::vector<Launch>* launches);

  const StepOutline& outline_;
  const perfmodel::SwitchingCost& switching_;
  LookAheadOptions options_;
  std::vector<Menu> menus_;        // by instance
  std::vector<Outlook> outlooks_;  // by instance
  std::vector<double> urgency_;    // by node: seconds from its start to the end of the step
  LearnedOrder order_;             // where it is learnt
  CorePool pool_;
  LaneTable lanes_;
  std::vector<int> ready_;  // the most urgent last
  std::vector<Running> running_;
  double draw_ = 0;
  // Predicted ends with the cores that come free then, ascending; empty: to be made again.
  std::vector<std::pair<double, int>> ends_;
};

}  // namespace optile::sched
