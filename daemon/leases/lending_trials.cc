#include "daemon/leases/lending_trials.h"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <utility>

namespace optile::daemon {
namespace {

using std::chrono::milliseconds;

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

std::string LendingTrials::Verdict::text() const {
  char figures[120];
  (void)std::snprintf(figures, sizeof figures,
                      "client %llu gets %.2f times as much done with lent cores",
                      static_cast<unsigned long long>(client), gain);
  return std::string(figures) + (borrows ? ": it borrows" : ": it borrows no more");
}

LendingTrials::Record& LendingTrials::record_of(const Worker& worker) {
  return records_[{worker.client, worker.own_cores}];
}

std::optional<double> LendingTrials::gain_by(const Record& record) {
  const std::size_t each = std::min(record.lent.size(), record.held.size());
  if (each < kFewestEach || (each < kPausesEach && record.few_ops)) return std::nullopt;
  const auto [worst_lent, best_lent] = std::minmax_element(record.lent.begin(), record.lent.end());
  const auto [worst_held, best_held] = std::minmax_element(record.held.begin(), record.held.end());
  const bool clear =
      *worst_lent >= kClearGain * *best_held || *best_lent <= kClearLoss * *worst_held;
  if (each < kPausesEach && !clear) return std::nullopt;
  const double held = median(record.held);
  return held > 0 ? median(record.lent) / held : 1;
}

bool LendingTrials::begin(uint64_t waiter, milliseconds now, const std::vector<Worker>& workers) {
  pause_.reset();
  waiters_.insert(waiter);
  if (waiters_.size() > 1) return true;
  Pause pause{waiter, now};
  for (const Worker& worker : workers) {
    pause.workers[worker.client] = worker;
    const Record& record = record_of(worker);
    // In turns, whatever came of the one before: many pauses are too short to say something. Each
    // knows what it has had itself, so that all get both kinds whoever of them was there before.
    if (record.undecided() && record.held_pauses < record.lent_pauses) pause.lent = false;
  }
  for (const Worker& worker : workers) {
    Record& record = record_of(worker);
    if (record.undecided()) ++(pause.lent ? record.lent_pauses : record.held_pauses);
  }
  pause_ = std::move(pause);
  if (!pause_->lent) held_back_.insert(waiter);
  return pause_->lent;
}

std::vector<LendingTrials::Verdict> LendingTrials::end(uint64_t waiter, milliseconds now,
                                                       const std::vector<Worker>& workers) {
  waiters_.erase(waiter);
  return release(waiter, now, workers);
}

std::vector<LendingTrials::Verdict> LendingTrials::release(uint64_t waiter, milliseconds now,
                                                           const std::vector<Worker>& workers) {
  held_back_.erase(waiter);
  std::vector<Verdict> known;
  const std::optional<Pause> pause = std::exchange(pause_, std::nullopt);
  if (!pause || pause->waiter != waiter || now - pause->since < kShortest) return known;
  const double passed = std::chrono::duration<double>(now - pause->since).count();
  for (const Worker& worker : workers) {
    const auto begun = pause->workers.find(worker.client);
    Record& record = record_of(worker);
    if (pause->lent) record.fruitless = worker.lent > 0 ? 0 : record.fruitless + 1;
    // One that was lent nothing has nothing to be compared with, and of one whose own cores changed
    // meanwhile, or whose sampling was paused, nobody knows what its pace comes from.
    if (!record.undecided() || begun == pause->workers.end() || !begun->second.sampled ||
        !worker.sampled || begun->second.own_cores != worker.own_cores ||
        (worker.lent > 0) != pause->lent) {
      continue;
    }
    std::vector<double>& paces = pause->lent ? record.lent : record.held;
    const uint64_t ops = worker.progress - begun->second.progress;
    paces.push_back(static_cast<double>(ops) / passed);
    record.few_ops |= ops < kManyOps;
    const std::optional<double> gain = gain_by(record);
    if (!gain) continue;
    record.borrows = *gain >= kLeastGain;
    known.push_back({worker.client, worker.own_cores, *gain, *record.borrows});
  }
  return known;
}

bool LendingTrials::held_long_enough(uint64_t waiter, milliseconds now,
                                     const std::vector<Worker>& workers) const {
  const bool compared = pause_ && pause_->waiter == waiter;
  if (!compared || now - pause_->since >= kLongestHeld) return true;
  return now - pause_->since >= kHeldLong &&
         std::all_of(workers.begin(), workers.end(), [this](const Worker& worker) {
           const auto begun = pause_->workers.find(worker.client);
           return begun == pause_->workers.end() ||
                  worker.progress - begun->second.progress >= kManyOps;
         });
}

bool LendingTrials::measures(uint64_t client, int own_cores) const {
  const auto found = records_.find({client, own_cores});
  return found != records_.end() && found->second.undecided();
}

void LendingTrials::recall(uint64_t client, int own_cores, bool borrows) {
  records_[{client, own_cores}].borrows = borrows;
}

bool LendingTrials::borrows(uint64_t client, int own_cores) const {
  const auto found = records_.find({client, own_cores});
  return found == records_.end() || found->second.borrows.value_or(true);
}

void LendingTrials::forget(uint64_t client) {
  std::erase_if(records_, [client](const auto& one) { return one.first.first == client; });
  waiters_.erase(client);
  held_back_.erase(client);
  if (pause_ && pause_->waiter == client) pause_.reset();
}

}  // namespace optile::daemon
