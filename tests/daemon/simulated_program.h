// A program that repeats a step of a few ops and obeys the plan pages as the shim does, on a clock
// that the test owns: first executions at its own width, schedules walked step by step.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/daemon/fake_client.h"

namespace optile::daemon {

class SimulatedProgram {
 public:
  struct Op {
    uint64_t key = 0;
    std::string name;
    std::function<uint64_t(int width)> time_ns;
  };
  // `clock_ns` is advanced by every op. `setup` ops run once, before the first step.
  SimulatedProgram(ClientRegions regions, std::vector<Op> setup, std::vector<Op> step,
                   int own_width, uint64_t* clock_ns);

  void run_step();
  // From now on it rests where a page lets it: most steps pass without a word about their ops.
  void may_rest() { may_rest_ = true; }
  ClientRegions& regions() { return regions_; }
  // Width of the last execution of every op.
  const std::map<uint64_t, int>& widths() const { return widths_; }

 private:
  void run_op(const Op& op);
  bool begins_step(const Op& op) const;
  void rest_or_wake();
  void adopt();
  void begin_step();
  int own_width() const;
  int width_for(uint64_t key) const;
  const optile_plan_entry* find(uint64_t key, uint64_t context) const;
  const optile_plan_entry* entry_of(uint64_t key) const;
  bool is_told(uint64_t key) const;

  ClientRegions regions_;
  std::vector<Op> setup_;
  std::vector<Op> step_;
  int own_width_;
  uint64_t* clock_ns_;
  std::map<uint64_t, uint32_t> ids_;
  std::set<std::pair<uint64_t, int>> touched_;
  std::map<uint64_t, int> widths_;
  const optile_plan_page* page_ = nullptr;
  uint64_t generation_ = 0;
  uint64_t context_ = 1;
  uint32_t steps_ = 0;
  int column_ = -1;  // of the schedule; -1 = not scheduled
  uint32_t next_column_ = 0;
  uint64_t step_begin_ns_ = 0;
  uint64_t step_observed_ns_ = 0;
  uint32_t step_ops_ = 0;
  uint64_t step_generation_ = 0;
  bool in_step_ = false;
  bool may_rest_ = false;
  bool rests_ = false;
  uint32_t in_turn_ = 0;  // steps since it began to rest, or to be heard
};

}  // namespace optile::daemon
