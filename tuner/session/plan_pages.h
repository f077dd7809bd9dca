// The plan pages of a session: when another one is due, what the latest few were for, and when the
// schedule of the present one is over. Owned by the session; one thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "tuner/plan/plan.h"

namespace optile::tuner {

// What a scheduled step is for.
enum class PageColumn : uint8_t { kControl, kTrial, kUniform, kCandidate, kPlan };

// What later events need to know of a page.
struct PublishedPage {
  bool base_is_plan = false;  // outside of the schedule: the plan in force, else default widths
  bool counts = false;        // every step pays for counters
  bool serial = false;        // scheduled ones: every op by itself, also at its default width
  bool lent = false;          // steps may be wider than the bounds
  std::vector<PageColumn> columns;
};

class PlanPages {
 public:
  // What a draft is made from changed.
  void on_changed() { ++version_; }
  // The same, and the page goes out also where the draft is the one before: its schedule runs
  // again, or the caller adds something else to it.
  void demand() {
    due_ = true;
    ++version_;
  }
  bool is_outdated() const { return published_version_ != version_; }

  // False where the draft is the one that is out, and no page was demanded.
  bool accept(const PlanDraft& draft);
  void publish(uint64_t number, PlanDraft draft, PublishedPage page);

  // Something happened under page `plan`, in a column of its schedule or outside. True when the
  // schedule of the present page is over: its last step ended, steps without a column follow ones
  // with, or so many steps passed that its columns must all have been dropped.
  bool ends_schedule(uint64_t plan, std::optional<int> column, bool step_ended);

  uint64_t number() const { return number_; }  // of the latest page; 0 = none
  const std::optional<PlanDraft>& latest() const { return latest_; }
  const PublishedPage* find(uint64_t number) const;  // null: long ago, or never

 private:
  std::map<uint64_t, PublishedPage> pages_;  // the latest few, by number
  uint64_t number_ = 0;
  uint64_t version_ = 1, published_version_ = 0;
  std::optional<PlanDraft> latest_;
  bool due_ = false;
  bool column_seen_ = false;
  int steps_without_column_ = 0;
};

}  // namespace optile::tuner
