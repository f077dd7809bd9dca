// A simulated program under a simulated shim, one step after another, driving a Session: op curves,
// seeded noise, the price of changing a team, and the shim's rules (first execution of every key at
// the program's default width, never wider, a schedule begins at the first marker after adoption,
// events only while they are asked for). No clock: the same seed gives the same run.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tuner/session/session.h"
#include "tuner/steps/period_detector.h"

namespace optile::tuner {

struct SimulatedOp {
  uint64_t key = 0;
  std::string name;
  std::function<double(int)> ns;  // per execution, by width
  bool steerable = true;
  bool region = false;
  perfmodel::Nanoseconds listening{0};  // part of `ns`
};

struct SimulatedProgram {
  std::vector<SimulatedOp> ops;
  std::vector<int> order;  // a step: indices into ops
};

struct SimulatedNoise {
  double per_op = 0.0;          // relative standard deviation of every execution
  double per_step = 0.0;        // of all executions of a step together
  double heavy_share = 0.0;     // of executions that are hit by something else
  double heavy_factor = 3.0;    // and then take this much longer
  double drift_per_step = 0.0;  // relative, accumulates
};

struct SimulatedClientOptions {
  int default_width = 4;
  perfmodel::Runtime runtime = perfmodel::Runtime::kLlvm;
  double change_ns = 0;        // of one change of team, paid by the op that needs it
  double first_touch_ns = 0;   // extra time of the first execution at a width
  int adoption_delay = 1;      // whole steps between publishing a page and obeying it
  double drop = 0;             // share of op and step events that are lost
  double overlap = 0;          // share of ops during which other threads are inside ops
  bool masks_refused = false;  // a binding is asked for and not in force
  SimulatedNoise noise;
  uint64_t seed = 1;
};

class SimulatedClient {
 public:
  SimulatedClient(Session& session, SimulatedProgram program, SimulatedClientOptions options);

  void run_steps(int count);
  // Steps until the session is tuned; false when it is not within `most` steps.
  bool run_until_tuned(int most);
  void run_sequence(const std::vector<int>& order);  // ops that are no whole step
  void replace_program(SimulatedProgram program);
  void set_default_width(int width);
  void set_overlapped(double share) { options_.overlap = share; }

  // Noiseless time of a step: under the page in force outside of schedules, and at one width.
  double planned_step_ns() const;
  double uniform_step_ns(int width) const;
  int planned_width(std::size_t op_in_order) const;
  const PlanDraft* page() const { return page_ ? &*page_ : nullptr; }
  uint64_t plan_number() const { return page_number_; }
  uint64_t op_events() const { return op_events_; }
  double busy_ns() const { return busy_ns_; }  // inside ops
  // Executions of a key at a width.
  int runs_of(uint64_t key, int width) const;

 private:
  void run_op(const SimulatedOp& op);
  double plan_step_ns() const;
  void step_boundary();
  void adopt_pages();
  int width_for(const perfmodel::OpPlace& place, const PlanDraft* page,
                std::optional<int> column) const;
  bool is_told(const perfmodel::OpPlace& place) const;
  const PlanEntry* entry_for(const perfmodel::OpPlace& place) const;
  double noisy(double ns);
  bool dropped();

  Session& session_;
  SimulatedProgram program_;
  SimulatedClientOptions options_;
  std::mt19937_64 random_;
  std::optional<PlanDraft> page_;
  std::unordered_map<perfmodel::OpPlace, std::size_t, PlaceHash> entries_;
  uint64_t page_number_ = 0;
  uint64_t step_page_ = 0;  // when the step began
  uint64_t looked_at_ = 0;
  struct Published {
    uint64_t number;
    PlanDraft draft;
    int due;
  };
  std::deque<Published> published_;
  uint64_t next_number_ = 1;
  int boundaries_ = 0;  // of the program, whether the session knows its step or not
  std::optional<int> column_;
  bool schedule_waits_ = false;

  uint64_t context_ = 0;
  int team_ = 0;
  double now_ns_ = 0;
  double busy_ns_ = 0;
  uint32_t step_ = 0;
  double step_begin_ns_ = -1;
  double in_ops_ns_ = 0;
  double steerable_ns_ = 0;
  uint32_t ops_in_step_ = 0;
  uint32_t changes_ = 0;
  double overlapped_ns_ = 0;
  double step_factor_ = 1;
  uint64_t op_events_ = 0;
  uint64_t progress_ = 0;
  std::unordered_map<uint64_t, std::vector<int>> runs_;  // of a key, by width
  std::vector<uint64_t> contexts_;  // of the order's ops, in the middle of endless repetitions
  // Of the page and the program that there are: asked for after every step.
  mutable std::optional<double> planned_step_ns_;
};

}  // namespace optile::tuner
