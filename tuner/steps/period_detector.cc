#include "tuner/steps/period_detector.h"

#include <algorithm>
#include <cstdlib>
#include <unordered_set>
#include <utility>

#include "base/hash.h"
#include "tuner/steps/period_search.h"

namespace optile::tuner {

using perfmodel::Nanoseconds;
using perfmodel::OpPlace;

namespace {

constexpr std::size_t kShortStep = 64;
// Repetitions that need no other evidence; or that many ops, so many times what went before.
constexpr std::size_t kCertainRepetitions = 64;
constexpr std::size_t kCertainOps = 512;
constexpr std::size_t kCertainLead = 4;
// Places that are met once without saying anything: contexts take eight ops to fill at the start
// of the recording and behind every extra op.
constexpr std::size_t kStrayPlaces = 16;

}  // namespace

uint64_t step_fingerprint(const std::vector<OpPlace>& sequence) {
  uint64_t hash = base::hash_word(sequence.size(), base::kHashSeed);
  for (const OpPlace& place : sequence) hash = base::hash_word(place.key, hash);
  return hash;
}

PeriodDetector::Change PeriodDetector::observe(OpPlace place, Nanoseconds begin,
                                               Nanoseconds duration) {
  follow_lag(place);
  history_.add(place, begin, duration);
  const bool lost = follow_marker(place);
  if (lost) {
    // What was met in the phase that ended is no evidence about the next one.
    step_.reset();
    history_.begin_evidence();
  }
  // Looked at once per whole repetition, so that a refused period costs nothing in between.
  if (lag_ != 0 && matched_ % lag_ == 0 && worth_adopting() && adopt()) return Change::kFound;
  return lost ? Change::kLost : Change::kNone;
}

uint64_t PeriodDetector::steps_begun() const {
  if (!step_) return 0;
  return static_cast<uint64_t>(
      std::count_if(history_.remembered().begin(), history_.remembered().end(),
                    [&](const OpHistory::Op& op) { return step_->marker.is(op.place); }));
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
  const uint64_t total = history_.total();
  if (lag_ != 0 && total >= lag_ && history_.at(total - lag_).place == place) {
    ++matched_;
    return;
  }
  const uint64_t distance = history_.distance_to(place);
  lag_ = distance <= kLongestStep ? distance : 0;
  matched_ = lag_ != 0 ? 1 : 0;
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
  const uint64_t before = history_.evidence() - std::min(history_.evidence(), matched_ + lag_);
  if (matched_ >= kCertainOps && matched_ >= kCertainLead * before) return true;
  if (2 * history_.places_met_once() > history_.places() + kStrayPlaces) return false;
  std::unordered_set<OpPlace, PlaceHash> inside;
  const uint64_t end = history_.total();
  for (uint64_t i = end - lag_; i < end; ++i) inside.insert(history_.at(i).place);
  return 2 * inside.size() >= history_.places() - history_.places_met_once();
}

bool PeriodDetector::worth_adopting() const {
  if (history_.span_of(matched_ + lag_) < least_span_) return false;
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
  const Stretch stretch = find_period(history_, static_cast<std::size_t>(lag_), shortest_);
  const std::optional<OpPlace> marker = choose_marker(history_, stretch, preferred_);
  if (!marker) return false;
  RecognisedStep found;
  found.marker = {*marker, static_cast<int>(stretch.length)};
  std::size_t first = 0;
  while (!found.marker.is(history_.at(stretch.begin + first).place)) ++first;
  found.sequence.reserve(stretch.length);
  for (std::size_t i = 0; i < stretch.length; ++i) {
    found.sequence.push_back(history_.at(stretch.begin + (first + i) % stretch.length).place);
  }
  since_marker_ = 0;
  while (!found.marker.is(history_.at(history_.total() - 1 - since_marker_).place)) ++since_marker_;
  explained_ = 0;
  unexplained_ = 0;
  step_ = std::move(found);
  return true;
}

}  // namespace optile::tuner
