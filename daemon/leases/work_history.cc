#include "daemon/leases/work_history.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace optile::daemon {
namespace {

using Time = WorkHistory::Time;

constexpr Time kHistory{3500};
constexpr Time kPauseAtMost{1000};  // a longer one is a wait, which lends its cores

double seconds(Time time) {
  return std::chrono::duration<double>(time).count();
}

}  // namespace

void WorkHistory::add(const Sample& sample) {
  if (!samples_.empty() && samples_.back().at == sample.at) samples_.pop_back();
  samples_.push_back(sample);
  while (sample.at - samples_.front().at > kHistory) samples_.pop_front();
}

// The latest that is so old.
const WorkHistory::Sample* WorkHistory::before(Time window) const {
  const auto found = std::find_if(samples_.rbegin(), samples_.rend(), [&](const Sample& one) {
    return samples_.back().at - one.at >= window;
  });
  return found == samples_.rend() ? nullptr : &*found;
}

std::optional<double> WorkHistory::demand_over(Time window) const {
  const Sample* first = before(window);
  if (first == nullptr || samples_.back().runnable < first->runnable) return std::nullopt;
  const Sample& last = samples_.back();
  return std::chrono::duration<double>(last.runnable - first->runnable).count() /
         seconds(last.at - first->at);
}

std::optional<WorkHistory::Pace> WorkHistory::pace_over(Time window) const {
  const Sample* first = before(window);
  if (first == nullptr) return std::nullopt;
  const Sample& last = samples_.back();
  const bool paused = std::any_of(samples_.begin(), samples_.end(), [&](const Sample& one) {
    return one.sampling_paused && one.at >= first->at;
  });
  Pace pace{};
  for (std::size_t i = 0; i < pace.size(); ++i) {
    if (last.work[i] < first->work[i] || (i > 0 && paused)) continue;
    pace[i] = static_cast<double>(last.work[i] - first->work[i]) / seconds(last.at - first->at);
  }
  return pace;
}

std::optional<bool> WorkHistory::has_worked_lately() const {
  if (samples_.size() < 2) return std::nullopt;
  const Sample& last = samples_.back();
  const auto previous = std::next(samples_.rbegin());
  return std::any_of(samples_.rbegin(), samples_.rend(), [&](const Sample& one) {
    const bool lately = last.at - one.at <= kPauseAtMost || &one == &*previous;
    return lately && one.work != last.work;
  });
}

}  // namespace optile::daemon
