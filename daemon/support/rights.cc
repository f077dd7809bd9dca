#include "daemon/support/rights.h"

#include <algorithm>
#include <cstdint>
#include <sstream>

namespace optile::daemon {
namespace {

constexpr unsigned kUsualOverflowUid = 65534;
constexpr uint64_t kAllUids = UINT32_MAX;  // the last number means "none"

bool in_group(const Peer& peer, unsigned group) {
  return peer.gid == group ||
         std::find(peer.groups.begin(), peer.groups.end(), group) != peer.groups.end();
}

}  // namespace

bool Rights::may_connect(const Peer& peer) const {
  if (!peer.known) return false;
  return settings_.system || peer.uid == settings_.own_uid || peer.uid == 0;
}

bool Rights::may_all(const Peer& peer) const {
  if (!settings_.system) return true;  // nobody else could connect
  if (!peer.known || !is_one_user(peer.uid)) return false;
  return peer.uid == 0 || peer.uid == settings_.own_uid ||
         (settings_.admin_group && in_group(peer, *settings_.admin_group));
}

bool Rights::may(const Peer& peer, unsigned owner) const {
  if (may_all(peer)) return true;
  return peer.known && is_one_user(peer.uid) && peer.uid == owner;
}

std::optional<unsigned> unmapped_uid(const std::string& uid_map, const std::string& overflow_uid) {
  std::istringstream lines(uid_map);
  uint64_t mapped = 0, inside = 0, outside = 0, count = 0;
  while (lines >> inside >> outside >> count) mapped += count;
  if (mapped >= kAllUids) return std::nullopt;
  unsigned overflow = 0;
  return std::istringstream(overflow_uid) >> overflow ? overflow : kUsualOverflowUid;
}

}  // namespace optile::daemon
