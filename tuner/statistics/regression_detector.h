// Holds a plan in force to its word: whole steps at the program's default widths (controls) among
// those under the plan, at a bounded price, and a verdict when the plan loses. Pure; owned by a
// session.
//
// The price: controls take at most kControlShare of the time spent in steps, whatever they show.
// Only suspicion may run more of them, since then the program's default widths are likely the
// faster ones: a step far from what the plan promised, a lasting change of level, or somebody's
// word that the surroundings have changed.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "perfmodel/profile/profile.h"
#include "tuner/statistics/step_comparison.h"
#include "tuner/statistics/step_level.h"

namespace optile::tuner {

inline constexpr double kControlShare = 0.002;

class RegressionDetector {
 public:
  // A plan is in force from now on. `promised`: seconds of its step when it was settled; 0 = not
  // known. `own`: at the program's default widths. `seed`: of the order of steps.
  void begin(double promised, double own, uint64_t seed);
  // No width is changed: only the level of the steps is watched.
  void watch();
  // Nothing is guarded until begin().
  void end();
  // A plan that changes something is in force.
  bool active() const { return active_; }

  // A whole step, outside of a page of ours.
  void on_plan_step(double seconds);
  // So many steps under the plan passed that nobody timed.
  void on_unsampled_steps(uint32_t steps);
  // A neighbour came or left, the budget changed: what held before may not hold now.
  // Programs that come and go all the time are heard once in a while.
  void on_surroundings_changed();

  // The scheduled steps of the next page: true = at the program's default widths. Empty: none is
  // due. Stays the same until page_ended().
  const std::vector<bool>& page();
  void on_page_step(int column, double seconds);
  void page_ended();
  // It is not run to its end: what it showed so far does not count, and another one will be due.
  void drop_page();

  // The plan lost: why, for people, and how many seconds a step it was slower. Stays until begin()
  // or end().
  struct Loss {
    std::string reason;
    double seconds = 0;
  };
  const std::optional<Loss>& loss() const { return loss_; }
  // Since the latest begin() the plan was found no slower than the program's default widths.
  bool verified() const { return verified_; }
  // The level of the steps changed for good since the plan began, as a ratio; 1 = no.
  double level() const { return level_.level(); }

  // Over all plans of the session.
  struct ControlCost {
    uint32_t controls = 0;  // whole steps
    double seconds = 0;
    double credit = 0;  // seconds that controls may take
  };
  const ControlCost& cost() const { return cost_; }

 private:
  enum class Stage : uint8_t { kIdle, kControl, kComparing };

  void suspect(std::string why);
  bool control_due() const;
  void judge_control();
  void close_comparison();
  void lose(double plan, double own);

  struct Page {
    Stage stage = Stage::kIdle;
    std::vector<bool> columns;     // empty: no page is out
    std::vector<double> controls;  // its steps at the program's default widths
    std::vector<double> bracket;   // and those under the plan
  };

  bool active_ = false;
  bool watching_ = false;  // active, or the level alone
  uint64_t seed_ = 1;
  double promised_ = 0;
  double own_ = 0;                        // latest estimate
  std::optional<std::string> suspicion_;  // that the plan is slower: why
  Page page_;
  std::unique_ptr<StepComparison> comparison_;
  StepLevel level_;
  int deaf_until_ = 0;  // plan steps before another word about the surroundings is heard
  bool verified_ = false;
  std::optional<Loss> loss_;
  ControlCost cost_;
};

}  // namespace optile::tuner
