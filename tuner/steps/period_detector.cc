#include "tuner/steps/period_detector.h"

#include <algorithm>
#include <cstdlib>
#include <unordered_set>
#include <utility>

#include "base/hash.h"

namespace optile::tuner {

using perfmodel::Nanoseconds;
using perfmodel::OpPlace;

std::size_t PlaceHash::operator()(const OpPlace& place) const {
  return static_cast<std::size_t>(
      base::hash_word(place.context, base::hash_word(place.key, base::kHashSeed)));
}

uint64_t step_fingerprint(const std::vector<OpPlace>& sequence) {
  uint64_t hash = base::hash_word(sequence.size(), base::kHashSeed);
  for (const OpPlace& place : sequence) hash = base::hash_word(place.key, hash);
  return hash;
}

PeriodDetector::Change PeriodDetector::observe(OpPlace place, Nanoseconds begin,
                                               Nanoseconds duration) {
  const int64_t gap = total_ == 0 ? 0 : std::max<int64_t>(0, begin.count() - last_end_ns_);
  last_end_ns_ = begin.count() + duration.count();
  follow_lag(place);
  remember(place, begin.count(), gap);
  const bool lost = follow_marker(place);
  if (lost) {
    // What was met in the phase that ended is no evidence about the next one.
    step_.reset();
    origin_ = total_;
    met_ = 0;
    met_once_ = 0;
  }
  // Looked at once per whole repetition, so that a refused period costs nothing in between.
  if (lag_ != 0 && matched_ % lag_ == 0 && worth_adopting() && adopt()) return Change::kFound;
  return lost ? Change::kLost : Change::kNone;
}

uint64_t PeriodDetector::steps_begun() const {
  if (!step_) return 0;
  return static_cast<uint64_t>(
      std::count_if(history_.begin(), history_.end(),
                    [&](const Seen& seen) { return step_->marker.is(seen.place); }));
}

void PeriodDetector::restart() {
  *this = [this] {
    PeriodDetector fresh;
    fresh.preferred_ = preferred_;
    fresh.shortest_ = shortest_;
    fresh.least_span_ = least_span_;
    return fresh;
  }();
}

void PeriodDetector::follow_lag(OpPlace place) {
  if (lag_ != 0 && total_ >= lag_ && back(total_ - lag_).place == place) {
    ++matched_;
    return;
  }
  const auto last = last_seen_.find(place);
  const bool near = last != last_seen_.end() && total_ - last->second.last <= kLongestStep;
  lag_ = near ? total_ - last->second.last : 0;
  matched_ = near ? 1 : 0;
}

void PeriodDetector::remember(OpPlace place, int64_t begin_ns, int64_t gap_ns) {
  if (history_.size() < kHistory) {
    history_.push_back({place, begin_ns, gap_ns});
  } else {
    history_[total_ % kHistory] = {place, begin_ns, gap_ns};
  }
  Place& seen = last_seen_[place];
  if (seen.count == 0 || seen.last < origin_) {
    seen.count = 1;
    ++met_;
    ++met_once_;
  } else if (seen.count == 1) {
    seen.count = 2;
    --met_once_;
  }
  seen.last = total_;
  ++total_;
  if (last_seen_.size() > 2 * kHistory) forget_old_places();
}

void PeriodDetector::forget_old_places() {
  std::erase_if(last_seen_, [&](const auto& old) { return total_ - old.second.last > kHistory; });
  met_ = 0;
  met_once_ = 0;
  for (const auto& [place, seen] : last_seen_) {
    if (seen.last < origin_) continue;
    ++met_;
    met_once_ += seen.count == 1 ? 1u : 0u;
  }
}

// True when the step in force lost its marker.
bool PeriodDetector::follow_marker(OpPlace place) {
  if (!step_) return false;
  const auto length = static_cast<uint64_t>(step_->marker.ops);
  ++since_marker_;
  if (!step_->marker.is(place)) return since_marker_ > 2 * length + 16;
  const uint64_t off = since_marker_ > length ? since_marker_ - length : length - since_marker_;
  (off * 20 <= length ? explained_ : unexplained_) += since_marker_;
  since_marker_ = 0;
  if (explained_ + unexplained_ > 16 * length) {
    explained_ /= 2;
    unexplained_ /= 2;
  }
  return false;
}

// A step holds most of the places that come again; an inner loop holds a few of them, and in the
// first step it is met in, most of the others have been met only once so far.
bool PeriodDetector::explains_what_was_seen() const {
  if (matched_ >= kCertainRepetitions * lag_) return true;
  const uint64_t before = total_ - origin_ - std::min(total_ - origin_, matched_ + lag_);
  if (matched_ >= kCertainOps && matched_ >= kCertainLead * before) return true;
  if (2 * met_once_ > met_ + kStrayPlaces) return false;
  std::unordered_set<OpPlace, PlaceHash> inside;
  for (uint64_t i = total_ - lag_; i < total_; ++i) inside.insert(back(i).place);
  return 2 * inside.size() >= met_ - met_once_;
}

// How long the present repetition has gone on, by the clock.
Nanoseconds PeriodDetector::repeating_for() const {
  const uint64_t ops = std::min<uint64_t>({matched_ + lag_, total_, history_.size()});
  return ops == 0 ? Nanoseconds(0) : Nanoseconds(last_end_ns_ - back(total_ - ops).begin_ns);
}

bool PeriodDetector::worth_adopting() const {
  if (repeating_for() < least_span_) return false;
  if (lag_ < shortest_ || matched_ < (lag_ < kShortStep ? 2 * lag_ : lag_)) return false;
  if (lag_ < kTinyStep && matched_ < kShortStep) return false;
  if (!step_) return explains_what_was_seen();
  const auto length = static_cast<uint64_t>(step_->marker.ops);
  if (lag_ < length) return since_marker_ > length + length / 2;
  if (lag_ == length) {
    // Same length: another step only if the marker is not in it any more.
    return since_marker_ > length;
  }
  // A longer period that the present step explains is a step with some variation in it.
  return explained_ < 9 * unexplained_;
}

bool PeriodDetector::adopt() {
  const Stretch stretch = repetition();
  const std::optional<OpPlace> marker = choose_marker(stretch);
  if (!marker) return false;
  RecognisedStep found;
  found.marker = {*marker, static_cast<int>(stretch.length)};
  std::size_t first = 0;
  while (!found.marker.is(back(stretch.begin + first).place)) ++first;
  found.sequence.reserve(stretch.length);
  for (std::size_t i = 0; i < stretch.length; ++i) {
    found.sequence.push_back(back(stretch.begin + (first + i) % stretch.length).place);
  }
  since_marker_ = 0;
  while (!found.marker.is(back(total_ - 1 - since_marker_).place)) ++since_marker_;
  explained_ = 0;
  unexplained_ = 0;
  step_ = std::move(found);
  return true;
}

// Of the latest lag_ ops, which equal those before them.
PeriodDetector::Stretch PeriodDetector::repetition() const {
  const std::size_t length = smallest_period(static_cast<std::size_t>(lag_));
  if (const auto step = step_with_extras(length)) return *step;
  return {total_ - length, length};
}

// The distance at which most places come again, where nearly all of them do so at about that
// distance: an op in between makes one distance longer and is followed by places of its own.
std::optional<PeriodDetector::Stretch> PeriodDetector::step_with_extras(std::size_t length) const {
  std::unordered_map<OpPlace, uint64_t, PlaceHash> last;
  std::unordered_map<uint64_t, std::size_t> distances;
  const uint64_t begin = total_ - length;
  const uint64_t known = std::min<uint64_t>({2 * length, total_, history_.size()});
  for (uint64_t i = total_ - known; i < total_; ++i) {
    const auto [before, fresh] = last.try_emplace(back(i).place, i);
    if (!fresh && i >= begin) ++distances[i - before->second];
    before->second = i;
  }
  const auto usual =
      std::max_element(distances.begin(), distances.end(), [](const auto& one, const auto& other) {
        return std::pair(one.second, other.first) < std::pair(other.second, one.first);
      });
  if (usual == distances.end() || 2 * usual->first > length) return std::nullopt;
  const auto period = static_cast<std::size_t>(usual->first);
  if (period < shortest_ || period < kTinyStep) return std::nullopt;
  const std::size_t slack = std::max(period / 20, std::min<std::size_t>(16, period / 4));
  std::size_t near = 0;
  for (const auto& [distance, ops] : distances) {
    if (distance + slack >= period && distance <= period + slack) near += ops;
  }
  if (static_cast<double>(near) < kNearlyAll * static_cast<double>(length)) return std::nullopt;
  return latest_repetition(period, static_cast<std::size_t>(known));
}

// The latest `period` ops that equal those before them one by one.
std::optional<PeriodDetector::Stretch> PeriodDetector::latest_repetition(std::size_t period,
                                                                         std::size_t within) const {
  std::size_t matched = 0;
  for (uint64_t end = total_; end > total_ - within + period; --end) {
    matched = back(end - 1).place == back(end - 1 - period).place ? matched + 1 : 0;
    if (matched == period) return Stretch{end - 1, period};
  }
  return std::nullopt;
}

// The latest `length` ops repeat; they may do so more than once (prefix function).
std::size_t PeriodDetector::smallest_period(std::size_t length) const {
  const auto begin = static_cast<std::size_t>(total_ - length);
  std::vector<std::size_t> border(length, 0);
  for (std::size_t i = 1; i < length; ++i) {
    std::size_t k = border[i - 1];
    while (k > 0 && !(back(begin + i).place == back(begin + k).place)) k = border[k - 1];
    if (back(begin + i).place == back(begin + k).place) ++k;
    border[i] = k;
  }
  const std::size_t period = length - border[length - 1];
  return length % period == 0 ? period : length;
}

// An op that occurs once in the step, by its key where one does: contexts are others behind an op
// that comes now and then. The preferred one, else the one after the longest idle time (a program
// rests between steps, not inside them); ties go to the smallest place, so that the choice does not
// depend on where the recording began.
std::optional<OpPlace> PeriodDetector::choose_marker(Stretch stretch) const {
  std::unordered_map<uint64_t, int> keys;
  std::unordered_map<OpPlace, int, PlaceHash> places;
  for (uint64_t i = stretch.begin; i < stretch.begin + stretch.length; ++i) {
    ++keys[back(i).place.key];
    ++places[back(i).place];
  }
  struct Choice {
    bool by_key = false;
    int64_t gap = -1;
    OpPlace place;
  };
  std::optional<Choice> best;
  for (uint64_t i = stretch.begin; i < stretch.begin + stretch.length; ++i) {
    const Seen& seen = back(i);
    if (places[seen.place] != 1) continue;
    Choice choice{keys[seen.place.key] == 1, seen.gap_ns, seen.place};
    if (choice.by_key) choice.place.context = 0;
    if (preferred_ && choice.place == *preferred_) return choice.place;
    if (i >= stretch.length) choice.gap = std::min(choice.gap, back(i - stretch.length).gap_ns);
    const auto rank = [](const Choice& one) { return std::pair(one.by_key, one.gap); };
    const bool tie = best && rank(choice) == rank(*best) && choice.place < best->place;
    if (!best || rank(choice) > rank(*best) || tie) best = choice;
  }
  if (!best) return std::nullopt;
  return best->place;
}

}  // namespace optile::tuner
