#include "daemon/leases/user_bounds.h"

#include <algorithm>
#include <map>
#include <string>

namespace optile::daemon {
namespace {

unsigned uid_of(const Leases& leases, uint64_t client) {
  return leases.clients().at(client).state->party.uid;
}

std::size_t users_of(const Leases& leases) {
  std::set<unsigned> users;
  for (const sched::LeaseView& view : leases.view()) users.insert(uid_of(leases, view.id));
  return users.size();
}

std::size_t part_of(const Leases& leases) {
  return even_part(leases.budget().as_granted().cores, users_of(leases));
}

}  // namespace

std::size_t even_part(int cores, std::size_t users) {
  const auto all = static_cast<std::size_t>(std::max(1, cores));
  return std::max<std::size_t>(1, all / std::max<std::size_t>(1, users));
}

base::Status UserBounds::check(const Leases& leases, uint64_t client, std::size_t cores) const {
  const unsigned uid = uid_of(leases, client);
  std::size_t held = cores;
  for (const sched::LeaseView& view : leases.view()) {
    if (view.id == client || !holding_.contains(view.id)) continue;
    if (uid_of(leases, view.id) == uid) held += view.granted.cores.size();
  }
  const std::size_t most = part_of(leases);
  if (held <= most) return {};
  return base::Error{base::ErrorKind::kUnavailable,
                     "that would hold " + std::to_string(held) +
                         " cores for you alone; with as many users as there are here now you may "
                         "hold " +
                         std::to_string(most) + ", root and admins more"};
}

std::vector<uint64_t> UserBounds::beyond(const Leases& leases) const {
  if (holding_.empty()) return {};
  const std::size_t most = part_of(leases);
  std::map<unsigned, std::size_t> held;
  std::vector<uint64_t> too_many;
  for (const sched::LeaseView& view : leases.view()) {  // by id, so the oldest keep theirs
    if (!holding_.contains(view.id)) continue;
    std::size_t& of_user = held[uid_of(leases, view.id)];
    of_user += view.granted.cores.size();
    if (of_user <= most) continue;
    of_user -= view.granted.cores.size();
    too_many.push_back(view.id);
  }
  return too_many;
}

}  // namespace optile::daemon
