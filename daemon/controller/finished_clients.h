// Clients that have left, as far as they are remembered (history_limits.h). Plain values; the
// daemon's one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

#include "daemon/client/client.h"

namespace optile::daemon {

class FinishedClients {
 public:
  void add(ClientView view);
  const std::deque<ClientView>& newest_first() const { return views_; }
  const ClientView* find(uint64_t id) const;

 private:
  std::deque<ClientView> views_;
  std::size_t ops_ = 0;  // of all of them
};

}  // namespace optile::daemon
