#include "sched/leases/core_ownership.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace optile::sched {
namespace {

// Of a core. So fine that what thousands of roundings add up to is far below kSameFraction.
constexpr double kGrains = 0x1p50;

int64_t grains(double fraction) {
  return std::llround(fraction * kGrains);
}

double fraction_of(int64_t grains) {
  return static_cast<double>(grains) / kGrains;
}

}  // namespace

void CoreOwnership::add(ClientId id) {
  accounts_.try_emplace(id);
}

void CoreOwnership::remove(ClientId id) {
  Account& account = accounts_.at(id);
  account.confirmed = {};
  account.sent.clear();
  count(id);
  accounts_.erase(id);
}

double CoreOwnership::used(int core) const {
  return std::min(1.0, fraction_of(users_[static_cast<std::size_t>(core)].sum));
}

double CoreOwnership::used_cores() const {
  double sum = 0;
  for (const Users& users : users_) sum += std::min(1.0, fraction_of(users.sum));
  return sum;
}

double CoreOwnership::room(ClientId id, int core) const {
  const Users& users = users_[static_cast<std::size_t>(core)];
  int64_t others = users.sum;
  if (const auto own = users.fractions.find(id); own != users.fractions.end()) {
    others -= grains(own->second);
  }
  return std::max(0.0, 1.0 - fraction_of(others));
}

bool CoreOwnership::fits(ClientId id, const Lease& lease) const {
  return std::all_of(lease.cores.begin(), lease.cores.end(),
                     [&](int core) { return room(id, core) >= lease.fraction - kSameFraction; });
}

uint64_t CoreOwnership::send(ClientId id, Lease lease, uint64_t tick) {
  accounts_.at(id).sent.push_back({++last_sequence_, tick, std::move(lease)});
  count(id);
  return last_sequence_;
}

bool CoreOwnership::confirm(ClientId id, uint64_t sequence) {
  Account& account = accounts_.at(id);
  const auto found = std::find_if(account.sent.begin(), account.sent.end(),
                                  [&](const Sent& sent) { return sent.sequence == sequence; });
  if (found == account.sent.end()) return false;
  account.confirmed = found->lease;
  account.sent.erase(account.sent.begin(), found + 1);
  count(id);
  return true;
}

const Lease& CoreOwnership::granted(ClientId id) const {
  const Account& account = accounts_.at(id);
  return account.sent.empty() ? account.confirmed : account.sent.back().lease;
}

std::map<int, double> CoreOwnership::held(ClientId id) const {
  return fractions(accounts_.at(id));
}

std::map<int, double> CoreOwnership::fractions(const Account& account) {
  std::map<int, double> largest;
  const auto add = [&largest](const Lease& lease) {
    for (int core : lease.cores) {
      double& fraction = largest[core];
      fraction = std::max(fraction, lease.fraction);
    }
  };
  add(account.confirmed);
  for (const Sent& sent : account.sent) add(sent.lease);
  return largest;
}

std::size_t CoreOwnership::unconfirmed(ClientId id) const {
  return accounts_.at(id).sent.size();
}

std::optional<uint64_t> CoreOwnership::owes_since(ClientId id) const {
  const Account& account = accounts_.at(id);
  if (account.sent.empty()) return std::nullopt;
  return account.sent.front().tick;
}

std::optional<ClientId> CoreOwnership::other_user(ClientId id, int core) const {
  for (const auto& [user, fraction] : users_[static_cast<std::size_t>(core)].fractions) {
    if (user != id) return user;
  }
  return std::nullopt;
}

void CoreOwnership::count(ClientId id) {
  Account& account = accounts_.at(id);
  for (int core : account.counted) {
    Users& users = users_[static_cast<std::size_t>(core)];
    const auto own = users.fractions.find(id);
    users.sum -= grains(own->second);
    users.fractions.erase(own);
  }
  account.counted.clear();
  for (const auto& [core, fraction] : fractions(account)) {
    Users& users = users_[static_cast<std::size_t>(core)];
    users.fractions[id] = fraction;
    users.sum += grains(fraction);
    account.counted.push_back(core);
  }
}

}  // namespace optile::sched
