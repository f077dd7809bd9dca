#include "daemon/leases/managed_client.h"

#include <algorithm>

namespace optile::daemon {

std::optional<LeaseProgress> progress_of(const ManagedClients& clients, uint64_t client) {
  const auto found = clients.find(client);
  if (found == clients.end() || !found->second.has_lease()) return std::nullopt;
  const int granted = found->second.state->granted;
  const ClientCurve& known = found->second.state->curve;
  if (known.progress().empty()) return std::nullopt;
  const auto cores = std::clamp<std::size_t>(static_cast<std::size_t>(std::max(granted, 1)), 1,
                                             known.progress().size());
  return LeaseProgress{known.progress()[cores - 1],
                       known.is_measured(granted) && known.is_measured(known.useful())};
}

// Batch clients take nothing from others, and others are before them.
double part_beside(const ManagedClients& clients, const LeaseParty& newcomer, double expected,
                   bool by_user) {
  constexpr uint64_t kNewcomer = 0;  // no client's
  constexpr uint64_t kExpected = UINT64_MAX;
  std::vector<LeaseParty> parties = {newcomer};
  parties[0].client = kNewcomer;
  if (expected > 0) parties.push_back({kExpected, newcomer.uid, "", expected, newcomer.priority});
  for (const auto& [id, client] : clients) {
    if (!client.has_lease() || client.state->party.priority > newcomer.priority) continue;
    parties.push_back(client.state->party);
    parties.back().priority = newcomer.priority;
  }
  return lease_weights(parties, by_user).at(kNewcomer).part;
}

}  // namespace optile::daemon
