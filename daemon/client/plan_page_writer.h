// Turns plan drafts into plan pages in a client's plan region. Sole writer of that region; borrowed
// memory, one owner (the client's record), the daemon's one thread.
//
// A page is written word by word while its generation is 0, then gets its generation, then the
// region names it. Whoever is stopped half-way leaves the other page valid.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "bindings/abi/layout.h"
#include "tuner/plan/plan.h"

namespace optile::daemon {

// What a page holds beside the session's draft.
struct PageSurroundings {
  std::vector<int> compact_order;  // os index of the i-th thread's processing unit
  std::vector<int> spread_order;
  int default_width_cap = 0;  // 0 = none
  int hardware_threads = 1;   // of every core
  double ticks_per_ns = 0;    // of the client's clock; 0: no baselines are written
  bool same_bits = false;     // every width of the draft is one that changes no result
};

class PlanPageWriter {
 public:
  explicit PlanPageWriter(optile_plan_region* region);

  // Returns how many entries did not fit or could not be expressed (those ops keep their own
  // width). `generation` is the last one plus 1.
  std::size_t publish(uint64_t generation, const tuner::PlanDraft& draft,
                      const PageSurroundings& surroundings);
  uint64_t generation() const { return generation_; }

  void set_tail(uint32_t slot, uint64_t tail) { optile_store64(&region_->tails[slot], tail); }
  // Beside the pages, in force at once: cores for ops of several threads together (0 = not shared),
  // and whose steps are followed.
  void set_sharing(int cores, std::optional<uint32_t> main_issuer) {
    optile_store64(&region_->shared_cores, static_cast<uint64_t>(cores));
    optile_store64(&region_->main_issuer, main_issuer ? uint64_t{*main_issuer} + 1 : 0);
  }
  // Also at once: how many milliseconds idle OpenMP threads may spin at most; nullopt: as the
  // program has it.
  void set_wait_cap(std::optional<uint32_t> most_ms) {
    optile_store64(&region_->wait_cap, most_ms ? uint64_t{*most_ms} + 1 : 0);
  }
  std::optional<uint32_t> wait_cap() const {
    const uint64_t word = optile_load64(&region_->wait_cap);
    return word == 0 ? std::nullopt : std::optional(static_cast<uint32_t>(word - 1));
  }
  // Also at once: what the masks of its threads were set to, os indices; none: to nothing.
  void set_held_mask(const std::vector<int>& units);
  // Also at once: a mask for a whole program is about to be set.
  void set_mask_follows() { optile_store64(&region_->mask_follows, 1); }
  void set_heartbeat(uint64_t ticks) { optile_store64(&region_->heartbeat, ticks); }

 private:
  optile_plan_region* region_;
  uint64_t generation_ = 0;
  std::array<std::vector<uint32_t>, 2> used_;  // slots of each page that are not zero
  std::array<bool, 2> has_menus_{};            // some of those have one
};

}  // namespace optile::daemon
