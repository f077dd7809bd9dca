#include "daemon/leases/lease_moves.h"

#include <utility>

namespace optile::daemon {

std::optional<std::string> LeaseMoves::note(uint64_t now_ns, uint64_t client,
                                            const std::string& text) {
  std::optional<std::string> line = due(now_ns);
  if (!window_ns_) {
    window_ns_ = now_ns;
    return "lease: " + text;
  }
  ++moves_;
  clients_.insert(client);
  latest_ = text;
  return line;
}

std::optional<std::string> LeaseMoves::due(uint64_t now_ns) {
  if (!window_ns_ || now_ns < *window_ns_ + kWindowNs) return std::nullopt;
  if (moves_ == 0) {
    window_ns_.reset();
    return std::nullopt;
  }
  window_ns_ = now_ns;
  const std::size_t moves = std::exchange(moves_, 0);
  const std::set<uint64_t> clients = std::exchange(clients_, {});
  if (moves == 1) return "lease: " + latest_;
  return "leases: " + std::to_string(moves) + " moves of " + std::to_string(clients.size()) +
         (clients.size() == 1 ? " program" : " programs") + "; the last: " + latest_;
}

}  // namespace optile::daemon
