// Who may attach and ask, and whose programs he may look into and change. A daemon of one user lets
// in that user and root, and they may everything. The system daemon lets in whoever the mode of its
// sockets lets in: everybody may see which cores are taken, but look into and change only what is
// his own; root, the daemon's own account and the group of admins may everything. Pure; any thread.
#pragma once

#include <optional>
#include <string>

#include "daemon/support/peer.h"

namespace optile::daemon {

class Rights {
 public:
  struct Settings {
    bool system = false;
    unsigned own_uid = 0;
    std::optional<unsigned> admin_group{};
    // What the kernel says for every user that has no number in our user namespace: several people
    // may stand behind it, so nothing is anybody's. nullopt: everybody has a number.
    std::optional<unsigned> unmapped_uid{};
  };
  Rights() = default;
  explicit Rights(Settings settings) : settings_(settings) {}

  bool system() const { return settings_.system; }
  bool may_connect(const Peer& peer) const;
  // Everything, of everybody.
  bool may_all(const Peer& peer) const;
  // Look into and change what belongs to that user.
  bool may(const Peer& peer, unsigned owner) const;
  // False for the number that stands for many.
  bool is_one_user(unsigned uid) const {
    return !settings_.system || settings_.unmapped_uid != uid;
  }

 private:
  Settings settings_;
};

// From the text of /proc/self/uid_map and /proc/sys/kernel/overflowuid.
std::optional<unsigned> unmapped_uid(const std::string& uid_map, const std::string& overflow_uid);

}  // namespace optile::daemon
