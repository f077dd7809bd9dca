#include "bindings/cli/top/step_rates.h"

#include <utility>

namespace optile::cli {

void StepRates::look(const std::vector<ClientSeen>& clients, double now) {
  std::map<uint64_t, std::deque<Look>> kept;
  for (const ClientSeen& client : clients) {
    std::deque<Look>& looks = kept[client.id];
    const auto before = looks_.find(client.id);
    if (before != looks_.end()) looks = std::move(before->second);
    if (!looks.empty() && client.steps < looks.back().steps) looks.clear();
    looks.push_back({now, client.steps});
    // The one that began the window stays.
    while (looks.size() > 2 && looks[1].at <= now - kWindowSeconds) looks.pop_front();
  }
  looks_ = std::move(kept);
}

std::optional<double> StepRates::of(const ClientSeen& client) const {
  std::optional<double> usual;
  if (client.step_seconds) usual = 1 / *client.step_seconds;
  const auto found = looks_.find(client.id);
  if (found == looks_.end() || found->second.size() < 2) return usual;
  const Look& first = found->second.front();
  const Look& last = found->second.back();
  const double seconds = last.at - first.at;
  if (seconds <= 0 || last.steps == 0) return usual;
  const bool long_steps = usual && *usual * seconds < kLeastSteps;
  // A window that is not full yet may have missed a lump.
  const bool young = usual && seconds < kWindowSeconds / 2;
  if (long_steps || young) return usual;
  return static_cast<double>(last.steps - first.steps) / seconds;
}

}  // namespace optile::cli
