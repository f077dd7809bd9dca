// What is known of pairs of programs, each until a tick up to which it is believed. Programs are
// told apart by a text of the caller's, so that what one run found holds for the next. Owned by
// whoever tries them; one thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

namespace optile::sched {

inline constexpr std::size_t kMostVerdicts = 1024;  // of those beyond, what ends first is forgotten

// Verdict: with a `key` that can be ordered.
template <typename Verdict>
class BelievedVerdicts {
 public:
  using Key = decltype(Verdict::key);

  // Replaces what was known of that key. Believed until that tick.
  void note(Verdict verdict, uint64_t until) {
    const Key key = verdict.key;
    known_[key] = {std::move(verdict), until};
    if (known_.size() <= kMostVerdicts) return;
    known_.erase(std::min_element(known_.begin(), known_.end(), [](const auto& a, const auto& b) {
      return a.second.until < b.second.until;
    }));
  }
  // Null: nothing is known, or it is too old.
  const Verdict* find(const Key& key, uint64_t tick) const {
    const auto found = known_.find(key);
    return found == known_.end() || found->second.until <= tick ? nullptr : &found->second.verdict;
  }
  // The first by key of which that holds; null: none that is believed.
  template <typename Predicate>
  const Verdict* find_if(uint64_t tick, Predicate holds) const {
    const auto found = std::find_if(known_.begin(), known_.end(), [&](const auto& one) {
      return one.second.until > tick && holds(one.second.verdict);
    });
    return found == known_.end() ? nullptr : &found->second.verdict;
  }
  void forget(const Key& key) { known_.erase(key); }

 private:
  struct Known {
    Verdict verdict;
    uint64_t until = 0;
  };
  std::map<Key, Known> known_;
};

}  // namespace optile::sched
