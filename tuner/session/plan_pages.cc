#include "tuner/session/plan_pages.h"

#include <utility>

namespace optile::tuner {
namespace {

constexpr int kLostPage = 2 * kPageSteps;  // steps without a column: the whole schedule was dropped
constexpr std::size_t kPagesKept = 4;

}  // namespace

bool PlanPages::accept(const PlanDraft& draft) {
  published_version_ = version_;
  if (latest_ && draft == *latest_ && !due_) return false;
  due_ = false;
  return true;
}

void PlanPages::publish(uint64_t number, PlanDraft draft, PublishedPage page) {
  latest_ = std::move(draft);
  number_ = number;
  column_seen_ = false;
  steps_without_column_ = 0;
  pages_[number] = std::move(page);
  while (pages_.size() > kPagesKept) pages_.erase(pages_.begin());
}

bool PlanPages::ends_schedule(uint64_t plan, std::optional<int> column, bool step_ended) {
  if (plan == 0 || plan != number_ || is_outdated()) return false;
  const int length = latest_ ? latest_->schedule_length : 0;
  if (length == 0) return false;
  if (column) {
    column_seen_ = true;
    return step_ended && *column == length - 1;
  }
  if (step_ended) ++steps_without_column_;
  return column_seen_ || steps_without_column_ > kLostPage;
}

const PublishedPage* PlanPages::find(uint64_t number) const {
  const auto page = pages_.find(number);
  return page == pages_.end() ? nullptr : &page->second;
}

}  // namespace optile::tuner
