#include "sched/leases/lease_table.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <set>
#include <sstream>
#include <utility>

#include "sched/leases/core_assignment.h"

namespace optile::sched {
namespace {

using base::Error;
using base::ErrorKind;
using base::Status;

std::string number(double value) {
  std::ostringstream text;
  text << value;
  return text.str();
}

bool possible_weight(double weight) {
  return std::isfinite(weight) && weight >= 1e-3 && weight <= 1e3;
}

Error weight_error(double weight) {
  return {ErrorKind::kInvalid, "a share of " + number(weight) + " is not between 0.001 and 1000"};
}

}  // namespace

LeaseTable::LeaseTable(perfmodel::Machine machine, perfmodel::Budget budget, LeaseSettings settings)
    : machine_(std::move(machine)),
      budget_(std::move(budget)),
      settings_(settings),
      ledger_(static_cast<int>(machine_.cores.size())) {}

base::Result<LeaseTable::Client*> LeaseTable::find(ClientId id) {
  const auto found = clients_.find(id);
  if (found == clients_.end() || found->second.detached) {
    return Error{ErrorKind::kNotFound,
                 client_name(id) + " has no lease here; see the list of clients"};
  }
  return &found->second;
}

void LeaseTable::request_replan(std::string cause) {
  renew();
  add_cause(std::move(cause));
}

void LeaseTable::renew() {
  stale_ = true;
  claims_of_.reset();
}

// Whose cores are lent to whom is planned anew; claims stay.
void LeaseTable::loans_change(std::string cause) {
  stale_ = true;
  add_cause(std::move(cause));
}

void LeaseTable::add_cause(std::string cause) {
  if (std::find(causes_.begin(), causes_.end(), cause) != causes_.end()) return;
  if (causes_.size() <= kMostCauses) causes_.push_back(std::move(cause));
}

Status LeaseTable::arrive(ClientId id, double weight, Priority priority) {
  if (clients_.contains(id)) {
    return Error{ErrorKind::kInvalid, client_name(id) + " is here already"};
  }
  if (!possible_weight(weight)) return weight_error(weight);
  if (clients_.size() >= kMostLeases) {
    return Error{ErrorKind::kUnavailable,
                 "no more than " + std::to_string(kMostLeases) + " clients can have leases"};
  }
  Client client;
  client.demand.id = id;
  client.demand.weight = weight;
  client.demand.priority = priority;
  clients_[id] = std::move(client);
  ledger_.add(id);
  request_replan(client_name(id) + " arrived");
  return {};
}

Status LeaseTable::leave(ClientId id, const std::string& how) {
  if (clients_.erase(id) == 0) return find(id).status();
  ledger_.remove(id);
  request_replan(client_name(id) + " " + how);
  return {};
}

Status LeaseTable::demand(ClientId id, std::vector<double> progress, int floor, int most) {
  const auto client = find(id);
  if (!client.ok()) return client.status();
  if (progress.size() > kMostCores) progress.resize(kMostCores);
  LeaseDemand& demand = client.value()->demand;
  if (demand.progress == progress && demand.floor == floor && demand.most == most) return {};
  const bool measured = demand.progress != progress || demand.most != most;
  demand.progress = std::move(progress);
  demand.floor = floor;
  demand.most = most;
  renew();
  if (measured)
    request_replan("new measurements of " + client_name(id));  // of a floor its setter says
  return {};
}

Status LeaseTable::borrows(ClientId id, Borrowing how) {
  const auto client = find(id);
  if (!client.ok()) return client.status();
  const Borrowing before = std::exchange(client.value()->demand.borrows, how);
  if (before == how) return {};
  if (how == Borrowing::kNothing || before == Borrowing::kNothing) {
    request_replan(client_name(id) + (how == Borrowing::kNothing ? " gains nothing from lent cores"
                                                                 : " may borrow again"));
    return {};
  }
  const bool somebody_waits = std::any_of(clients_.begin(), clients_.end(),
                                          [](const auto& one) { return one.second.demand.idle; });
  if (somebody_waits) {
    request_replan(client_name(id) +
                   (how == Borrowing::kAll ? " could use more cores" : " could use no more cores"));
  }
  return {};
}

Status LeaseTable::wait(ClientId id) {
  const auto found = find(id);
  if (!found.ok()) return found.status();
  Client& client = *found.value();
  if (client.demand.idle) return {};
  client.demand.idle = true;
  // What it borrowed from others that wait goes back to them and not to it.
  const std::set<int> of_others = home_cores_of_others(id);
  client.home.clear();
  if (client.target.fraction >= 1.0) {
    for (int core : client.target.cores) {
      if (!of_others.contains(core)) client.home.push_back(core);
    }
  }
  loans_change(client_name(id) + " waits");
  return {};
}

Status LeaseTable::away(ClientId id) {
  const auto found = find(id);
  if (!found.ok()) return found.status();
  LeaseDemand& demand = found.value()->demand;
  if (!demand.idle || demand.away || found.value()->paused) return {};
  if (!someone_is_away()) {
    for (auto& [other, one] : clients_) one.claim_with_all = one.demand.claimed;
  }
  demand.away = true;
  request_replan(client_name(id) + " has waited for long");
  return {};
}

bool LeaseTable::someone_is_away() const {
  return std::any_of(clients_.begin(), clients_.end(),
                     [](const auto& one) { return one.second.demand.away; });
}

// The division from before counts as the one that is held, so that nobody's cores are others for
// its return than they were, unless that pays; where somebody came since, cores are divided anew.
// What others that wait would take back of its cores meanwhile is its own again.
void LeaseTable::come_back(ClientId id, Client& client) {
  renew();
  client.demand.away = false;
  const auto was_here = [](const auto& one) {
    return one.second.demand.away || one.second.claim_with_all.has_value();
  };
  if (std::all_of(clients_.begin(), clients_.end(), was_here)) {
    for (auto& [other, one] : clients_) {
      if (!one.demand.away) one.demand.claimed = one.claim_with_all.value_or(0);
    }
  }
  for (auto& [other, one] : clients_) {
    if (other == id || !one.demand.idle) continue;
    std::erase_if(one.home, [&client](int core) {
      return std::find(client.home.begin(), client.home.end(), core) != client.home.end();
    });
  }
  if (someone_is_away()) return;
  for (auto& [other, one] : clients_) one.claim_with_all.reset();
}

Status LeaseTable::wake(ClientId id) {
  const auto client = find(id);
  if (!client.ok()) return client.status();
  if (!client.value()->demand.idle) return {};
  if (client.value()->demand.away) come_back(id, *client.value());
  client.value()->demand.idle = false;
  loans_change(client_name(id) + " woke");
  return {};
}

Status LeaseTable::confirm(ClientId id, uint64_t sequence) {
  const auto found = clients_.find(id);
  if (found == clients_.end()) return find(id).status();
  // Of one that is not to be moved, others were planned around all that it might be using.
  const std::size_t held_before = found->second.paused ? ledger_.held(id).size() : 0;
  if (!ledger_.confirm(id, sequence)) {
    return Error{ErrorKind::kInvalid, client_name(id) + " confirmed lease " +
                                          std::to_string(sequence) + ", which is not open"};
  }
  Client& client = found->second;
  if (client.dismissed && ledger_.unconfirmed(id) == 0) return leave(id);
  if ((client.late || client.revoked) && ledger_.unconfirmed(id) == 0) {
    client.late = false;
    client.revoked = false;
    request_replan(client_name(id) + " answers again");
  }
  if (client.paused && ledger_.held(id).size() < held_before) {
    request_replan(client_name(id) + " has given up cores");
  }
  return {};
}

Status LeaseTable::set_budget(perfmodel::Budget budget, int left_to_others) {
  if (budget == budget_ && left_to_others == left_to_others_) return {};
  budget_ = std::move(budget);
  left_to_others_ = left_to_others;
  request_replan("the budget is now " + std::to_string(budget_.cores) +
                 (budget_.cores == 1 ? " core" : " cores"));
  return {};
}

Status LeaseTable::set_weight(ClientId id, double weight) {
  const auto client = find(id);
  if (!client.ok()) return client.status();
  if (!possible_weight(weight)) return weight_error(weight);
  client.value()->demand.weight = weight;
  renew();
  return {};
}

Status LeaseTable::bound(ClientId id, std::vector<int> cores) {
  const auto client = find(id);
  if (!client.ok()) return client.status();
  client.value()->bound = std::move(cores);
  renew();
  return {};
}

Status LeaseTable::share(ClientId id, double weight) {
  const auto client = find(id);
  if (!client.ok()) return client.status();
  if (!possible_weight(weight)) return weight_error(weight);
  client.value()->demand.weight = weight;
  request_replan("the user set the share of " + client_name(id) + " to " + number(weight));
  return {};
}

Status LeaseTable::pin(ClientId id, std::vector<int> cores, bool again) {
  const auto client = find(id);
  if (!client.ok()) return client.status();
  std::sort(cores.begin(), cores.end());
  cores.erase(std::unique(cores.begin(), cores.end()), cores.end());
  if (cores.empty()) return Error{ErrorKind::kInvalid, "a pin needs at least one core"};
  const std::vector<int> usable = budget_cores(machine_, budget_);
  std::size_t pinned = cores.size();
  for (int core : cores) {
    if (!std::binary_search(usable.begin(), usable.end(), core)) {
      return Error{ErrorKind::kInvalid,
                   "core " + std::to_string(core) + " is not in the budget; pin to cores that are"};
    }
  }
  const std::vector<int>& bound = client.value()->bound;
  for (int core : cores) {
    if (!bound.empty() && !std::binary_search(bound.begin(), bound.end(), core)) {
      return Error{ErrorKind::kInvalid, client_name(id) + " was started on other cores than core " +
                                            std::to_string(core) + "; pin to cores among those"};
    }
  }
  bool others = false;
  for (const auto& [other, one] : clients_) {
    if (other == id || one.detached) continue;
    others = others || one.pin.empty();
    pinned += one.pin.size();
    for (int core : cores) {
      if (std::find(one.pin.begin(), one.pin.end(), core) == one.pin.end()) continue;
      return Error{ErrorKind::kUnavailable, "core " + std::to_string(core) + " is pinned to " +
                                                client_name(other) + "; take that back first"};
    }
  }
  // Load of others is no reason to refuse what the user wants.
  const auto most = static_cast<std::size_t>(std::max(0, budget_.cores + left_to_others_));
  if (!again && (pinned > most || (others && pinned == most))) {
    return Error{ErrorKind::kUnavailable,
                 others ? "that would leave nothing for other clients; pin to fewer cores"
                        : "the budget grants " + std::to_string(most) +
                              (most == 1 ? " core" : " cores") + " at a time; pin to no more"};
  }
  client.value()->pin = std::move(cores);
  request_replan("the user pinned " + client_name(id));
  return {};
}

Status LeaseTable::unpin(ClientId id) {
  const auto client = find(id);
  if (!client.ok()) return client.status();
  client.value()->pin.clear();
  request_replan("the user took back the pin of " + client_name(id));
  return {};
}

// What stays with a client for good is its own and nothing else: of what it was lent nothing, and
// all that it lends.
void LeaseTable::end_loan(ClientId id, Client& client) {
  LeaseDemand& demand = client.demand;
  if (demand.claimed <= 0 || client.target.fraction < 1.0) return;
  std::vector<int>& cores = client.target.cores;
  if (demand.idle) cores = client.home;
  const std::set<int> of_others = home_cores_of_others(id);
  std::stable_partition(cores.begin(), cores.end(),
                        [&](int core) { return !of_others.contains(core); });
  const auto own = static_cast<std::size_t>(demand.claimed);
  if (cores.size() > own) cores.resize(own);
  std::sort(cores.begin(), cores.end());
}

// What clients that wait take back when they wake; those that are away lend nothing.
std::set<int> LeaseTable::home_cores_of_others(ClientId id) const {
  std::set<int> homes;
  for (const auto& [other, one] : clients_) {
    const bool lends = one.demand.idle && !one.demand.away;
    if (other != id && lends) homes.insert(one.home.begin(), one.home.end());
  }
  return homes;
}

// Without cores that are not to be had, and those that others are pinned to or paused with.
Lease LeaseTable::free_of_words(ClientId id, Lease lease) const {
  if (!(lease.fraction > 0 && lease.fraction < 1)) lease.fraction = 1;
  const std::vector<int> usable = budget_cores(machine_, budget_);
  const std::vector<int>& bound = clients_.at(id).bound;
  const auto held = [&](int core) {
    return std::any_of(clients_.begin(), clients_.end(), [&](const auto& other) {
      const Client& one = other.second;
      if (other.first == id || one.detached) return false;
      const bool pinned = std::binary_search(one.pin.begin(), one.pin.end(), core);
      const auto& its = one.target.cores;
      const bool whole = one.target.fraction >= 1 || lease.fraction >= 1;
      return pinned || (one.paused && whole && std::binary_search(its.begin(), its.end(), core));
    });
  };
  std::sort(lease.cores.begin(), lease.cores.end());
  std::erase_if(lease.cores, [&](int core) {
    return !std::binary_search(usable.begin(), usable.end(), core) || held(core) ||
           (!bound.empty() && !std::binary_search(bound.begin(), bound.end(), core));
  });
  if (lease.fraction < 1 && lease.cores.size() > 1) lease.cores.resize(1);
  return lease;
}

Status LeaseTable::pause(ClientId id, Lease with) {
  const auto client = find(id);
  if (!client.ok()) return client.status();
  if (client.value()->demand.away) come_back(id, *client.value());
  if (!client.value()->paused) end_loan(id, *client.value());
  client.value()->paused = true;
  with = free_of_words(id, std::move(with));
  if (!with.empty()) client.value()->target = std::move(with);
  request_replan("the user paused " + client_name(id));
  return {};
}

Status LeaseTable::resume(ClientId id) {
  const auto client = find(id);
  if (!client.ok()) return client.status();
  client.value()->paused = false;
  request_replan("the user resumed " + client_name(id));
  return {};
}

Status LeaseTable::detach(ClientId id) {
  const auto client = find(id);
  if (!client.ok()) return client.status();
  client.value()->detached = true;
  client.value()->target = {};
  request_replan("the user detached " + client_name(id));
  return {};
}

Status LeaseTable::revoke(ClientId id) {
  const auto found = clients_.find(id);
  if (found == clients_.end()) return find(id).status();
  Client& client = found->second;
  if (client.detached) return leave(id);
  client.revoked = true;
  client.late = false;
  client.target = {};
  client.home.clear();
  ledger_.take_back(id);
  ++counters_.revoked;
  request_replan(client_name(id) + " was revoked");
  return {};
}

std::vector<LeaseView> LeaseTable::view() const {
  std::vector<LeaseView> views;
  views.reserve(clients_.size());
  for (const auto& [id, client] : clients_) views.push_back(view_of(id, client));
  return views;
}

std::optional<LeaseView> LeaseTable::view(ClientId id) const {
  const auto found = clients_.find(id);
  if (found == clients_.end()) return std::nullopt;
  return view_of(id, found->second);
}

const Lease& LeaseTable::granted(ClientId id) const {
  static const Lease kNone;
  return clients_.contains(id) ? ledger_.granted(id) : kNone;
}

LeaseView LeaseTable::view_of(ClientId id, const Client& client) const {
  LeaseView view;
  view.id = id;
  view.granted = ledger_.granted(id);
  view.target = client.target;
  view.claim = client.demand.claimed;
  view.borrowed = std::max(0, client.demand.used - client.demand.claimed);
  view.weight = client.demand.weight;
  view.priority = client.demand.priority;
  view.idle = client.demand.idle;
  view.away = client.demand.away;
  view.paused = client.paused;
  view.pinned = !client.pin.empty();
  view.bound = !client.bound.empty();
  view.late = client.late;
  view.revoked = client.revoked;
  if (client.demand.idle) view.lends = client.home;
  view.reason = client.reason;
  return view;
}

double LeaseTable::held_cores() const {
  double sum = 0;
  for (int core = 0; core < static_cast<int>(machine_.cores.size()); ++core) {
    sum += ledger_.used(core);
  }
  return sum;
}

int LeaseTable::lent_to(ClientId id) const {
  const auto found = clients_.find(id);
  if (found == clients_.end() || found->second.demand.claimed <= 0) return 0;
  const LeaseDemand& demand = found->second.demand;
  const Lease& granted = ledger_.granted(id);
  const int beyond = static_cast<int>(granted.cores.size()) - demand.claimed;
  return std::clamp(beyond, 0, std::max(0, demand.used - demand.claimed));
}

std::vector<int> LeaseTable::own_cores(ClientId id) const {
  const auto found = clients_.find(id);
  if (found == clients_.end()) return {};
  const Lease& granted = ledger_.granted(id);
  const int lent = lent_to(id);
  if (lent == 0) return granted.cores;
  const std::set<int> of_others = home_cores_of_others(id);
  std::vector<int> own = granted.cores;
  std::erase_if(own, [&](int core) { return of_others.contains(core); });
  if (own.size() + static_cast<std::size_t>(lent) != granted.cores.size()) return {};
  return own;
}

bool LeaseTable::is_away(ClientId id) const {
  const auto found = clients_.find(id);
  return found != clients_.end() && found->second.demand.away;
}

std::map<int, double> LeaseTable::held(ClientId id) const {
  return clients_.contains(id) ? ledger_.held(id) : std::map<int, double>{};
}

int LeaseTable::lent_cores() const {
  int sum = 0;
  for (const auto& [id, client] : clients_) {
    sum += std::max(0, client.demand.used - client.demand.claimed);
  }
  return sum;
}

}  // namespace optile::sched
