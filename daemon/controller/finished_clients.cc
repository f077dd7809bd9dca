#include "daemon/controller/finished_clients.h"

#include <algorithm>
#include <utility>

#include "daemon/support/history_limits.h"

namespace optile::daemon {

void FinishedClients::add(ClientView view) {
  ops_ += view.ops.size();
  views_.push_front(std::move(view));
  while (views_.size() > kMaxFinished || (ops_ > kMaxFinishedOps && views_.size() > 1)) {
    ops_ -= views_.back().ops.size();
    views_.pop_back();
  }
}

const ClientView* FinishedClients::find(uint64_t id) const {
  const auto found = std::find_if(views_.begin(), views_.end(),
                                  [id](const ClientView& view) { return view.id == id; });
  return found == views_.end() ? nullptr : &*found;
}

}  // namespace optile::daemon
