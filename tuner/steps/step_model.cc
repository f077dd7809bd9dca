#include "tuner/steps/step_model.h"

#include <unordered_set>
#include <utility>

namespace optile::tuner {

using perfmodel::OpPlace;

StepModel::StepModel(const RecognisedStep& step)
    : marker_(step.marker), fingerprint_(step_fingerprint(step.sequence)) {
  const std::unordered_set<OpPlace, PlaceHash> places(step.sequence.begin(), step.sequence.end());
  by_key_ = places.size() > kMostPlaces;
  order_.reserve(step.sequence.size());
  for (const OpPlace& seen : step.sequence) {
    const OpPlace place = steered(seen);
    const auto [found, fresh] = index_.emplace(place, static_cast<int>(sites_.size()));
    if (fresh) {
      sites_.emplace_back();
      sites_.back().place = place;
    }
    ++sites_[static_cast<std::size_t>(found->second)].per_step;
    order_.push_back(found->second);
  }
}

void StepModel::adopt_samples(StepModel& earlier) {
  for (Site& site : sites_) {
    const auto found = earlier.index_.find(site.place);
    if (found == earlier.index_.end()) continue;
    Site& old = earlier.sites_[static_cast<std::size_t>(found->second)];
    old.search.reset();  // it reads the samples that move away
    site.samples = std::move(old.samples);
    site.steerable_seen = old.steerable_seen;
    site.unsteerable_seen = old.unsteerable_seen;
  }
}

Site* StepModel::find(const OpPlace& place) {
  const auto found = index_.find(steered(place));
  return found == index_.end() ? nullptr : &sites_[static_cast<std::size_t>(found->second)];
}

OpPlace StepModel::steered(const OpPlace& place) const {
  return by_key_ ? OpPlace{place.key, 0} : place;
}

bool StepModel::holds_loop(const StepModel& other) const {
  if (marker_.ops < 2 * other.marker_.ops) return false;
  const uint64_t key = other.marker_.place.key;
  int rounds = 0;
  for (const int site : order_) {
    if (sites_[static_cast<std::size_t>(site)].place.key == key) ++rounds;
  }
  return rounds > 1;
}

}  // namespace optile::tuner
