#include "tuner/step_recogniser.h"

#include <algorithm>
#include <cstdlib>
#include <unordered_set>

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

StepRecogniser::Change StepRecogniser::observe(OpPlace place, Nanoseconds begin,
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

void StepRecogniser::restart() {
  *this = [this] {
    StepRecogniser fresh;
    fresh.preferred_ = preferred_;
    fresh.shortest_ = shortest_;
    fresh.least_span_ = least_span_;
    return fresh;
  }();
}

void StepRecogniser::follow_lag(OpPlace place) {
  if (lag_ != 0 && total_ >= lag_ && back(total_ - lag_).place == place) {
    ++matched_;
    return;
  }
  const auto last = last_seen_.find(place);
  const bool near = last != last_seen_.end() && total_ - last->second.last <= kLongestStep;
  lag_ = near ? total_ - last->second.last : 0;
  matched_ = near ? 1 : 0;
}

void StepRecogniser::remember(OpPlace place, int64_t begin_ns, int64_t gap_ns) {
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

void StepRecogniser::forget_old_places() {
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
bool StepRecogniser::follow_marker(OpPlace place) {
  if (!step_) return false;
  const auto length = static_cast<uint64_t>(step_->marker.ops);
  ++since_marker_;
  if (!(place == step_->marker.place)) return since_marker_ > 2 * length + 16;
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
bool StepRecogniser::explains_what_was_seen() const {
  if (matched_ >= kCertainRepetitions * lag_) return true;
  const uint64_t before = total_ - origin_ - std::min(total_ - origin_, matched_ + lag_);
  if (matched_ >= kCertainOps && matched_ >= kCertainLead * before) return true;
  if (2 * met_once_ > met_ + kStrayPlaces) return false;
  std::unordered_set<OpPlace, PlaceHash> inside;
  for (uint64_t i = total_ - lag_; i < total_; ++i) inside.insert(back(i).place);
  return 2 * inside.size() >= met_ - met_once_;
}

// How long the present repetition has gone on, by the clock.
Nanoseconds StepRecogniser::repeating_for() const {
  const uint64_t ops = std::min<uint64_t>({matched_ + lag_, total_, history_.size()});
  return ops == 0 ? Nanoseconds(0) : Nanoseconds(last_end_ns_ - back(total_ - ops).begin_ns);
}

bool StepRecogniser::worth_adopting() const {
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

bool StepRecogniser::adopt() {
  const std::size_t length = smallest_period(static_cast<std::size_t>(lag_));
  const auto begin = static_cast<std::size_t>(total_ - length);
  const std::optional<std::size_t> marker = choose_marker(begin, length);
  if (!marker) return false;
  RecognisedStep found;
  found.marker.place = back(begin + *marker).place;
  found.marker.ops = static_cast<int>(length);
  found.sequence.reserve(length);
  // From the marker to the newest op, then the repetition before it up to the marker.
  for (std::size_t i = *marker; i < length; ++i) found.sequence.push_back(back(begin + i).place);
  for (std::size_t i = 0; i < *marker; ++i) found.sequence.push_back(back(begin + i).place);
  since_marker_ = length - 1 - *marker;
  explained_ = 0;
  unexplained_ = 0;
  step_ = std::move(found);
  return true;
}

// The latest `length` ops repeat; they may do so more than once (prefix function).
std::size_t StepRecogniser::smallest_period(std::size_t length) const {
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

// Among the places that occur once: the preferred one, else the one after the longest idle time
// (a program rests between steps, not inside them); ties go to the smallest place, so that the
// choice does not depend on where the recording began.
std::optional<std::size_t> StepRecogniser::choose_marker(std::size_t begin,
                                                         std::size_t length) const {
  std::unordered_map<OpPlace, int, PlaceHash> count;
  for (std::size_t i = 0; i < length; ++i) ++count[back(begin + i).place];
  std::optional<std::size_t> best;
  int64_t best_gap = -1;
  for (std::size_t i = 0; i < length; ++i) {
    const Seen& seen = back(begin + i);
    if (count[seen.place] != 1) continue;
    if (preferred_ && seen.place == *preferred_) return i;
    const int64_t gap =
        begin + i >= length ? std::min(seen.gap_ns, back(begin + i - length).gap_ns) : seen.gap_ns;
    const bool tie = best && gap == best_gap && seen.place < back(begin + *best).place;
    if (gap > best_gap || tie) {
      best = i;
      best_gap = gap;
    }
  }
  return best;
}

}  // namespace optile::tuner
