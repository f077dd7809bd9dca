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
#include <string>
#include <vector>

#include "perfmodel/profile/profile.h"
#include "tuner/statistics/step_comparison.h"

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
  void on_unwatched_steps(uint32_t steps);
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

  // The plan lost; `reason` for people. Stays until begin() or end().
  bool lost() const { return lost_; }
  const std::string& reason() const { return reason_; }
  // Seconds a step that the lost plan was slower.
  double loss() const { return loss_; }
  // Since the latest begin() the plan was found no slower than the program's default widths.
  bool verified() const { return verified_; }
  // The level of the steps changed for good since the plan began, as a ratio; 1 = no.
  double level() const { return level_; }

  // Over all plans of the session.
  uint32_t controls() const { return controls_; }
  double control_seconds() const { return control_seconds_; }

 private:
  enum class Stage : uint8_t { kIdle, kControl, kComparing };

  void suspect(std::string why);
  void watch_level(double seconds);
  bool control_due() const;
  void judge_control();
  void close_comparison();
  void lose(double plan, double own);
  double recent_plan() const;

  bool active_ = false;
  bool watching_ = false;  // active, or the level alone
  uint64_t seed_ = 1;
  double promised_ = 0;
  double own_ = 0;  // latest estimate
  Stage stage_ = Stage::kIdle;
  bool suspicious_ = false;
  std::string suspicion_;
  std::vector<bool> page_;
  std::vector<double> control_steps_;  // of the present page
  std::vector<double> bracket_;        // and its steps under the plan
  std::unique_ptr<StepComparison> comparison_;
  std::vector<double> recent_;     // the latest plan steps, oldest first
  std::vector<double> reference_;  // the first ones
  int steps_ = 0;                  // plan steps since begin()
  int quiet_until_ = 0;            // plan steps before a change of level is looked at again
  int next_quiet_ = 0;
  int deaf_until_ = 0;  // plan steps before another word about the surroundings is heard
  double credit_ = 0;   // seconds that controls may take
  double level_ = 1;
  bool verified_ = false;
  bool lost_ = false;
  std::string reason_;
  double loss_ = 0;
  uint32_t controls_ = 0;
  double control_seconds_ = 0;
};

}  // namespace optile::tuner
