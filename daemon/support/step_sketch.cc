#include "daemon/support/step_sketch.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <sstream>

#include "base/hash.h"

namespace optile::daemon {
namespace {

// A step may have an op more or less now and then, such as a loss that is printed.
constexpr int kFewOps = 2;
constexpr double kFewShare = 0.1;
constexpr double kSameKeys = 0.5;  // of those of both steps together

constexpr std::size_t kDigits = 16;

}  // namespace

StepSketch StepSketch::of(const tuner::SessionView& session) {
  StepSketch sketch;
  if (!session.marker) return sketch;
  sketch.ops = session.marker->ops;
  for (const tuner::OpView& op : session.ops) {
    sketch.keys.push_back(base::hash_word(op.place.key, base::kHashSeed));
  }
  std::sort(sketch.keys.begin(), sketch.keys.end());
  sketch.keys.erase(std::unique(sketch.keys.begin(), sketch.keys.end()), sketch.keys.end());
  if (sketch.keys.size() > kMostKeys) sketch.keys.resize(kMostKeys);
  return sketch;
}

std::string StepSketch::keys_text() const {
  std::string text;
  char word[kDigits + 2];
  for (const uint64_t key : keys) {
    std::snprintf(word, sizeof word, "%016llx ", static_cast<unsigned long long>(key));
    text += word;
  }
  return text;
}

std::vector<uint64_t> StepSketch::keys_from(const std::string& text) {
  std::vector<uint64_t> keys;
  std::istringstream words(text);
  for (std::string word; keys.size() < kMostKeys && words >> word;) {
    char* end = nullptr;
    const uint64_t key = std::strtoull(word.c_str(), &end, 16);
    if (word.size() == kDigits && *end == '\0') keys.push_back(key);
  }
  std::sort(keys.begin(), keys.end());
  return keys;
}

bool may_be_same_step(const StepSketch& one, const StepSketch& other) {
  if (one.ops == 0 || other.ops == 0) return true;
  const int off = std::abs(one.ops - other.ops);
  if (off > std::max<double>(kFewOps, kFewShare * std::max(one.ops, other.ops))) return false;
  if (one.keys.empty() || other.keys.empty()) return true;
  std::vector<uint64_t> all;
  std::set_union(one.keys.begin(), one.keys.end(), other.keys.begin(), other.keys.end(),
                 std::back_inserter(all));
  // The lowest of all are known of either step, those beyond perhaps not.
  if (all.size() > StepSketch::kMostKeys) all.resize(StepSketch::kMostKeys);
  const auto in = [](const StepSketch& step, uint64_t key) {
    return std::binary_search(step.keys.begin(), step.keys.end(), key);
  };
  const auto both = std::count_if(all.begin(), all.end(),
                                  [&](uint64_t key) { return in(one, key) && in(other, key); });
  return static_cast<double>(both) >= kSameKeys * static_cast<double>(all.size());
}

}  // namespace optile::daemon
