#include "bindings/cli/top/letters.h"

#include <algorithm>
#include <set>

namespace optile::cli {
namespace {

constexpr int kLetters = 26;

std::string letter_at(int place) {
  const auto at = [](int i) { return static_cast<char>('A' + i % kLetters); };
  if (place < kLetters) return {at(place)};
  return {at(place / kLetters - 1), at(place)};
}

}  // namespace

void Letters::follow(const std::vector<ClientSeen>& clients) {
  std::set<uint64_t> here;
  for (const ClientSeen& client : clients) here.insert(client.id);
  std::erase_if(places_, [&](const auto& one) { return !here.contains(one.first); });
  std::set<int> taken;
  for (const auto& [id, place] : places_) taken.insert(place);
  int next = 0;
  for (const uint64_t id : here) {
    if (places_.contains(id)) continue;
    while (taken.contains(next)) ++next;
    places_[id] = next;
    taken.insert(next);
  }
}

std::string Letters::of(uint64_t client) const {
  const auto found = places_.find(client);
  return found == places_.end() ? "?" : letter_at(found->second);
}

int Letters::place_of(uint64_t client) const {
  const auto found = places_.find(client);
  return found == places_.end() ? 0 : found->second;
}

int Letters::columns() const {
  const bool two = std::any_of(places_.begin(), places_.end(),
                               [](const auto& one) { return one.second >= kLetters; });
  return two ? 2 : 1;
}

}  // namespace optile::cli
