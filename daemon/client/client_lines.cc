#include "daemon/client/client_lines.h"

#include <algorithm>
#include <utility>

namespace optile::daemon {

std::optional<std::string> ClientLines::note(uint64_t now_ns, uint64_t client,
                                             const std::string& text) {
  refill(now_ns);
  if (left_ > 0 && !waiting_since_ns_) {
    --left_;
    return text;
  }
  if (!waiting_since_ns_) waiting_since_ns_ = now_ns;
  ++waiting_;
  clients_.insert(client);
  latest_ = text;
  return due(now_ns);
}

std::optional<std::string> ClientLines::due(uint64_t now_ns) {
  if (!waiting_since_ns_ || now_ns < *waiting_since_ns_ + kWindowNs) return std::nullopt;
  refill(now_ns);
  left_ -= std::min<uint64_t>(left_, 1);
  return flush();
}

std::optional<std::string> ClientLines::flush() {
  if (!std::exchange(waiting_since_ns_, std::nullopt)) return std::nullopt;
  const std::size_t lines = std::exchange(waiting_, 0);
  const std::set<uint64_t> clients = std::exchange(clients_, {});
  if (lines == 1) return latest_;
  return "clients: " + std::to_string(lines) + " lines of " + std::to_string(clients.size()) +
         (clients.size() == 1 ? " program" : " programs") + "; the last: " + latest_;
}

void ClientLines::refill(uint64_t now_ns) {
  const uint64_t windows = now_ns > refilled_ns_ ? (now_ns - refilled_ns_) / kWindowNs : 0;
  left_ = std::min(kBurst, left_ + std::min(windows, kBurst));
  refilled_ns_ += windows * kWindowNs;
}

}  // namespace optile::daemon
