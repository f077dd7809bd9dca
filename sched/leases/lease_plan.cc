#include "sched/leases/lease_plan.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <set>
#include <utility>

#include "base/at.h"
#include "sched/leases/core_assignment.h"

namespace optile::sched {
namespace {

using base::at;
using perfmodel::Machine;

constexpr double kWhole = 1.0 - 1e-9;
constexpr double kElsewhere = -1.0;  // the room on a core that is not in the budget

class Planner {
 public:
  Planner(const LeaseResources& resources, std::optional<int> claims_of,
          std::vector<PlanClient> clients, const AllocationPolicy& policy)
      : machine_(resources.machine),
        clients_(std::move(clients)),
        policy_(policy),
        claims_of_(claims_of),
        cores_(budget_cores(resources.machine, resources.budget)),
        room_(resources.machine.cores.size(), kElsewhere) {
    for (int core : cores_) room_[at(core)] = 1.0;
    const int granted = resources.budget.cores + resources.left_to_others;
    capacity_ = std::min(granted, static_cast<int>(cores_.size()));
    without_load_ = resources.budget.cores - capacity_;
    for (const PlanClient& client : clients_) {
      if (!client.fixed) pinned_.insert(client.pin.begin(), client.pin.end());
      PlannedLease lease;
      lease.id = client.demand.id;
      plan_.leases.push_back(lease);
    }
  }

  LeasePlan run() {
    set_fixed_aside();
    for (std::size_t i = 0; i < clients_.size(); ++i) {
      if (!clients_[i].fixed && !clients_[i].pin.empty()) pin(i);
    }
    for (std::size_t i = 0; i < clients_.size(); ++i) {
      if (!clients_[i].fixed && plan_.leases[i].target.empty()) pool_.push_back(i);
    }
    AllocationProblem problem;
    for (int core : cores_) {
      if (room_[at(core)] >= kWhole) whole_.push_back(core);
    }
    problem.cores = std::clamp(left_for_the_rest(), 0, static_cast<int>(whole_.size()));
    problem.claims_of = claims_of_;
    plan_.claims_of = problem.cores;
    gather_bound();
    for (std::size_t i : pool_) problem.demands.push_back(demand_within_bounds(i));
    plan_.allocation = policy_.allocate(problem);
    if (plan_.allocation.turns) {
      take_turns(problem.cores);
    } else {
      take_cores();
    }
    return std::move(plan_);
  }

 private:
  // Commands of the user are not cut by load of others, the rest is; of it one core at least is
  // left.
  int left_for_the_rest() const {
    return std::min(capacity_, std::max(1, capacity_ + without_load_));
  }

  // Of these the cores of the budget, as many as it grants. One that somebody fixed is on was
  // counted against the capacity already.
  std::vector<int> within(const std::vector<int>& cores) {
    std::vector<int> kept;
    for (int core : cores) {
      if (!in_budget(core)) continue;
      const bool counts = room_[at(core)] >= kWhole;
      if (counts && capacity_ <= 0) continue;
      kept.push_back(core);
      if (counts) --capacity_;
    }
    return kept;
  }

  void set_fixed_aside() {
    std::map<int, double> taken;
    for (std::size_t i = 0; i < clients_.size(); ++i) {
      const PlanClient& client = clients_[i];
      if (!client.fixed) continue;
      for (const auto& [core, fraction] : client.occupied) {
        if (in_budget(core)) taken[core] += fraction;
      }
    }
    int left = capacity_;
    for (std::size_t i = 0; i < clients_.size(); ++i) {
      const PlanClient& client = clients_[i];
      if (!client.fixed) continue;
      Lease& target = plan_.leases[i].target;
      target.fraction = client.target.fraction;
      for (int core : client.target.cores) {
        const bool shared = client.target.fraction < kWhole;
        if (!in_budget(core) || pinned_.contains(core) || (left <= 0 && !shared)) continue;
        target.cores.push_back(core);
        if (!shared) --left;
      }
      if (target.empty()) target = {};
    }
    for (const auto& [core, fraction] : taken) room_[at(core)] = std::max(0.0, 1.0 - fraction);
    capacity_ -= static_cast<int>(taken.size());
  }

  void pin(std::size_t i) {
    Lease& target = plan_.leases[i].target;
    target.cores = within(clients_[i].pin);
    for (int core : target.cores) room_[at(core)] = 0;
  }

  // Those that are bound to the same cores divide these evenly: at most so many each.
  void gather_bound() {
    std::erase_if(pool_, [this](std::size_t i) {
      const std::vector<int>& bound = clients_[i].bound;
      if (bound.empty()) return false;
      std::vector<int>& usable = usable_by_[bound];
      if (usable.empty()) {
        std::set_intersection(bound.begin(), bound.end(), whole_.begin(), whole_.end(),
                              std::back_inserter(usable));
      }
      if (!usable.empty()) bound_to_[bound] += clients_[i].demand.away ? 0 : 1;
      return usable.empty();  // nothing there is free: no lease
    });
  }

  // To be asked for once: it takes the curve along.
  LeaseDemand demand_within_bounds(std::size_t i) {
    std::vector<double> progress = std::exchange(clients_[i].demand.progress, {});
    LeaseDemand demand = clients_[i].demand;
    demand.progress = std::move(progress);
    const std::vector<int>& bound = clients_[i].bound;
    if (bound.empty()) return demand;
    const int room = static_cast<int>(usable_by_.at(bound).size());
    demand.most = std::clamp(room / std::max(1, bound_to_.at(bound)), 1, demand.most);
    demand.floor = std::min(demand.floor, demand.most);
    return demand;
  }

  // On the cores that are in use already before others, so that few clients move.
  std::vector<TurnCore> turn_cores(int whole_cores) const {
    std::map<int, int> users;
    for (std::size_t i : pool_) {
      for (int core : clients_[i].target.cores) ++users[core];
    }
    std::vector<int> order = whole_;
    std::stable_sort(order.begin(), order.end(), [&users](int a, int b) {
      const auto of = [&users](int core) { return users.contains(core) ? users.at(core) : 0; };
      return of(a) > of(b);
    });
    order.resize(static_cast<std::size_t>(whole_cores));
    std::sort(order.begin(), order.end());
    std::vector<TurnCore> cores;
    cores.reserve(cores_.size());
    for (int core : order) cores.push_back({core, 1.0});
    for (int core : cores_) {
      const double room = room_[at(core)];
      if (room > 1e-6 && room < kWhole) cores.push_back({core, room});
    }
    return cores;
  }

  void take_turns(int whole_cores) {
    std::vector<TurnWish> wishes;
    std::vector<std::size_t> places;
    for (std::size_t i : pool_) {
      const PlanClient& client = clients_[i];
      if (client.demand.idle) continue;
      const int held = client.target.empty() ? -1 : client.target.cores.front();
      wishes.push_back({client.demand.id, policy_.turn_weight(client.demand), held, client.bound});
      places.push_back(i);
    }
    const std::vector<TurnGrant> grants = assign_turns(turn_cores(whole_cores), wishes);
    for (std::size_t k = 0; k < grants.size(); ++k) {
      if (grants[k].core < 0) continue;
      plan_.leases[places[k]].target = {{grants[k].core}, grants[k].fraction};
    }
  }

  void take_cores() {
    std::map<ClientId, const LeaseShare*> shares;
    for (const LeaseShare& share : plan_.allocation.shares) shares[share.id] = &share;
    // Who wakes goes first, so that it takes back its own from those that borrowed it.
    std::vector<std::size_t> order = pool_;
    std::stable_sort(order.begin(), order.end(), [this](std::size_t a, std::size_t b) {
      return wakes(a) != wakes(b) ? wakes(a) : clients_[a].demand.id < clients_[b].demand.id;
    });
    // Who can go to few places goes first; who can go anywhere takes what is left.
    std::vector<std::vector<int>> places;
    for (const auto& [bound, clients] : bound_to_) places.push_back(bound);
    std::stable_sort(places.begin(), places.end(),
                     [](const auto& a, const auto& b) { return a.size() < b.size(); });
    places.emplace_back();
    for (const std::vector<int>& place : places) {
      std::vector<std::size_t> here;
      std::vector<CoreWish> wishes;
      for (std::size_t i : order) {
        if (clients_[i].bound != place) continue;
        const LeaseShare& share = *shares.at(clients_[i].demand.id);
        plan_.leases[i].claim = share.claim;
        plan_.leases[i].used = share.cores;
        here.push_back(i);
        wishes.push_back({share.id, share.cores, held_by(i)});
      }
      give_cores(place, here, wishes);
    }
  }

  // What it would rather keep than others. One that chooses before those that can go anywhere
  // leaves them what it was lent.
  std::vector<int> held_by(std::size_t i) const {
    if (wakes(i)) return clients_[i].home;
    std::vector<int> held = clients_[i].target.cores;
    if (clients_[i].bound.empty()) return held;
    for (std::size_t other : pool_) {
      if (!wakes(other)) continue;
      const std::vector<int>& home = clients_[other].home;
      std::erase_if(held, [&home](int core) {
        return std::find(home.begin(), home.end(), core) != home.end();
      });
    }
    return held;
  }

  // Out of what is left of the whole cores, and of the place where there is one.
  void give_cores(const std::vector<int>& place, const std::vector<std::size_t>& clients,
                  const std::vector<CoreWish>& wishes) {
    std::vector<int> usable;
    if (place.empty()) {
      usable = whole_;
    } else {
      std::set_intersection(place.begin(), place.end(), whole_.begin(), whole_.end(),
                            std::back_inserter(usable));
    }
    const std::vector<CoreGrant> grants = assign_cores(machine_, usable, wishes);
    std::vector<bool> given(machine_.cores.size(), false);
    for (std::size_t k = 0; k < clients.size(); ++k) {
      for (int core : grants[k].cores) given[static_cast<std::size_t>(core)] = true;
      plan_.leases[clients[k]].target = {grants[k].cores, 1.0};
    }
    std::erase_if(whole_, [&given](int core) { return given[static_cast<std::size_t>(core)]; });
  }

  bool wakes(std::size_t i) const { return !clients_[i].demand.idle && !clients_[i].home.empty(); }

  bool in_budget(int core) const {
    return core >= 0 && at(core) < room_.size() && room_[at(core)] >= 0;
  }

  const Machine& machine_;
  std::vector<PlanClient> clients_;
  const AllocationPolicy& policy_;
  std::optional<int> claims_of_;
  std::vector<int> cores_;    // of the budget
  std::vector<double> room_;  // by core of the machine
  int capacity_ = 0;          // cores that are still to be given
  int without_load_ = 0;      // what the capacity is less, or more, where others' load counts
  std::set<int> pinned_;
  std::vector<int> whole_;  // cores that nobody fixed or pinned is on
  std::vector<std::size_t> pool_;
  std::map<std::vector<int>, std::vector<int>>
      usable_by_;                             // of whole_, by what clients are bound to
  std::map<std::vector<int>, int> bound_to_;  // clients, by the same
  LeasePlan plan_;
};

}  // namespace

LeasePlan plan_leases(const LeaseResources& resources, std::optional<int> claims_of,
                      std::vector<PlanClient> clients, const AllocationPolicy& policy) {
  return Planner(resources, claims_of, std::move(clients), policy).run();
}

}  // namespace optile::sched
