#include "tuner/steps/period_search.h"

#include <algorithm>
#include <unordered_map>
#include <utility>
#include <vector>

namespace optile::tuner {

using perfmodel::OpPlace;

namespace {

// Ops that must keep a shorter period for it to be the step of a longer one.
constexpr double kNearlyAll = 0.8;

// The latest `period` ops that equal those before them one by one.
std::optional<Stretch> latest_repetition(const OpHistory& history, std::size_t period,
                                         std::size_t within) {
  std::size_t matched = 0;
  for (uint64_t end = history.total(); end > history.total() - within + period; --end) {
    matched = history.at(end - 1).place == history.at(end - 1 - period).place ? matched + 1 : 0;
    if (matched == period) return Stretch{end - 1, period};
  }
  return std::nullopt;
}

// The distance at which most places come again, where nearly all of them do so at about that
// distance: an op in between makes one distance longer and is followed by places of its own.
std::optional<Stretch> step_with_extras(const OpHistory& history, std::size_t length,
                                        std::size_t shortest) {
  std::unordered_map<OpPlace, uint64_t, PlaceHash> last;
  std::unordered_map<uint64_t, std::size_t> distances;
  const uint64_t begin = history.total() - length;
  const uint64_t known =
      std::min<uint64_t>({2 * length, history.total(), history.remembered().size()});
  for (uint64_t i = history.total() - known; i < history.total(); ++i) {
    const auto [before, fresh] = last.try_emplace(history.at(i).place, i);
    if (!fresh && i >= begin) ++distances[i - before->second];
    before->second = i;
  }
  const auto usual =
      std::max_element(distances.begin(), distances.end(), [](const auto& one, const auto& other) {
        return std::pair(one.second, other.first) < std::pair(other.second, one.first);
      });
  if (usual == distances.end() || 2 * usual->first > length) return std::nullopt;
  const auto period = static_cast<std::size_t>(usual->first);
  if (period < shortest || period < kTinyStep) return std::nullopt;
  const std::size_t slack = std::max(period / 20, std::min<std::size_t>(16, period / 4));
  std::size_t near = 0;
  for (const auto& [distance, ops] : distances) {
    if (distance + slack >= period && distance <= period + slack) near += ops;
  }
  if (static_cast<double>(near) < kNearlyAll * static_cast<double>(length)) return std::nullopt;
  return latest_repetition(history, period, static_cast<std::size_t>(known));
}

// The latest `length` ops repeat; they may do so more than once (prefix function).
std::size_t smallest_period(const OpHistory& history, std::size_t length) {
  const auto begin = static_cast<std::size_t>(history.total() - length);
  std::vector<std::size_t> border(length, 0);
  for (std::size_t i = 1; i < length; ++i) {
    std::size_t k = border[i - 1];
    while (k > 0 && !(history.at(begin + i).place == history.at(begin + k).place))
      k = border[k - 1];
    if (history.at(begin + i).place == history.at(begin + k).place) ++k;
    border[i] = k;
  }
  const std::size_t period = length - border[length - 1];
  return length % period == 0 ? period : length;
}

}  // namespace

Stretch find_period(const OpHistory& history, std::size_t length, std::size_t shortest) {
  const std::size_t period = smallest_period(history, length);
  if (const auto step = step_with_extras(history, period, shortest)) return *step;
  return {history.total() - period, period};
}

std::optional<OpPlace> choose_marker(const OpHistory& history, Stretch stretch,
                                     const std::optional<OpPlace>& preferred) {
  std::unordered_map<uint64_t, int> keys;
  std::unordered_map<OpPlace, int, PlaceHash> places;
  for (uint64_t i = stretch.begin; i < stretch.begin + stretch.length; ++i) {
    ++keys[history.at(i).place.key];
    ++places[history.at(i).place];
  }
  struct Choice {
    bool by_key = false;
    int64_t gap = -1;
    OpPlace place;
  };
  std::optional<Choice> best;
  for (uint64_t i = stretch.begin; i < stretch.begin + stretch.length; ++i) {
    const OpHistory::Op& seen = history.at(i);
    if (places[seen.place] != 1) continue;
    Choice choice{keys[seen.place.key] == 1, seen.gap_ns, seen.place};
    if (choice.by_key) choice.place.context = 0;
    if (preferred && choice.place == *preferred) return choice.place;
    if (i >= stretch.length)
      choice.gap = std::min(choice.gap, history.at(i - stretch.length).gap_ns);
    const auto rank = [](const Choice& one) { return std::pair(one.by_key, one.gap); };
    const bool tie = best && rank(choice) == rank(*best) && choice.place < best->place;
    if (!best || rank(choice) > rank(*best) || tie) best = choice;
  }
  if (!best) return std::nullopt;
  return best->place;
}

}  // namespace optile::tuner
