// What is known of pairs of programs that shared cores: what it gained, and until when that is
// believed. Programs are told apart by a text of the caller's, so that what one run found holds for
// the next. Owned by the overlap trials; one thread.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

namespace optile::sched {

inline constexpr std::size_t kMostVerdicts = 1024;  // of those beyond, what ends first is forgotten

// Which cores the two share. One is the guest of the other, on half of its cores or on all; or both
// may use all that either has.
enum class OverlapShape : uint8_t { kHalf, kWhole, kBoth };
const char* shape_name(OverlapShape shape);

struct OverlapKey {
  std::string guest;  // kBoth: the lesser text of the two
  std::string host;
  OverlapShape shape = OverlapShape::kWhole;

  auto operator<=>(const OverlapKey&) const = default;
};

struct OverlapVerdict {
  OverlapKey key;
  bool pays = false;
  double gain = 0;  // of the weighted progress of the two; with its interval
  double low = 0;
  double high = 0;
  int rounds = 0;
  std::string why{};  // half a sentence
};

class OverlapVerdicts {
 public:
  // Replaces what was known of that key. Believed until that tick.
  void note(OverlapVerdict verdict, uint64_t until);
  // Null: nothing is known, or it is too old.
  const OverlapVerdict* find(const OverlapKey& key, uint64_t tick) const;
  std::size_t size() const { return known_.size(); }

 private:
  struct Known {
    OverlapVerdict verdict;
    uint64_t until = 0;
  };
  std::map<OverlapKey, Known> known_;
};

}  // namespace optile::sched
