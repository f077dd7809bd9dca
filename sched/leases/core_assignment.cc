#include "sched/leases/core_assignment.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <set>
#include <utility>

#include "base/at.h"

namespace optile::sched {
namespace {

using base::at;

using perfmodel::Budget;
using perfmodel::Machine;

constexpr int kNobody = -1;

bool granted(const Budget& budget, int os_index) {
  return std::binary_search(budget.units.begin(), budget.units.end(), os_index);
}

// Who has which core while an assignment is being made. Clients are places in the list of wishes.
class Assignment {
 public:
  Assignment(const Machine& machine, const std::vector<int>& usable,
             const std::vector<CoreWish>& wishes)
      : machine_(machine), wishes_(wishes) {
    owner_.assign(machine.cores.size(), kNobody);
    held_by_.assign(machine.cores.size(), kNobody);
    usable_.assign(machine.cores.size(), false);
    tile_size_.assign(machine.tiles.size(), 0);
    for (int core : usable) {
      usable_[at(core)] = true;
      ++tile_size_[at(tile(core))];
    }
    free_ = tile_size_;
    in_tile_.assign(wishes.size(), std::vector<int>(machine.tiles.size(), 0));
    count_.assign(wishes.size(), 0);
    kept_.assign(wishes.size(), 0);
    anchored_.assign(wishes.size(), false);
  }

  void run() {
    for (int client = 0; client < clients(); ++client) keep(client);
    for (int client = 0; client < clients(); ++client) shrink(client);
    for (std::size_t i = 0; i < owner_.size(); ++i) {
      if (owner_[i] != kNobody && owner_[i] == held_by_[i]) ++kept_[at(owner_[i])];
    }
    for (int client : by_need()) grow(client);
    // Only for whom something changes: what is settled stays settled.
    for (int client = 0; client < clients(); ++client) {
      if (count_[at(client)] != static_cast<int>(wishes_[at(client)].held.size())) mend(client);
    }
  }

  std::vector<CoreGrant> grants() const {
    std::vector<CoreGrant> grants;
    grants.reserve(wishes_.size());
    for (const CoreWish& wish : wishes_) grants.push_back({wish.id, {}});
    for (int core = 0; core < static_cast<int>(owner_.size()); ++core) {
      if (owner_[at(core)] != kNobody) grants[at(owner_[at(core)])].cores.push_back(core);
    }
    return grants;
  }

 private:
  int clients() const { return static_cast<int>(wishes_.size()); }
  int tile(int core) const { return machine_.cores[at(core)].tile; }
  int node(int tile) const { return machine_.tiles[at(tile)].numa_node; }
  int tiles() const { return static_cast<int>(machine_.tiles.size()); }
  int wanted(int client) const { return wishes_[at(client)].count; }
  int have(int client, int tile) const { return in_tile_[at(client)][at(tile)]; }

  void give(int core, int client) {
    int& owner = owner_[at(core)];
    const int tile_of_core = tile(core);
    if (owner != kNobody) {
      --in_tile_[at(owner)][at(tile_of_core)];
      --count_[at(owner)];
      ++free_[at(tile_of_core)];
    }
    owner = client;
    if (client != kNobody) {
      ++in_tile_[at(client)][at(tile_of_core)];
      ++count_[at(client)];
      --free_[at(tile_of_core)];
    }
  }

  int free_in(int tile) const { return free_[at(tile)]; }

  int on_node(int client, int wanted_node) const {
    int sum = 0;
    for (int t = 0; t < tiles(); ++t) sum += node(t) == wanted_node ? have(client, t) : 0;
    return sum;
  }

  void keep(int client) {
    for (int core : wishes_[at(client)].held) {
      if (core < 0 || core >= static_cast<int>(owner_.size())) continue;
      if (!usable_[at(core)] || owner_[at(core)] != kNobody) continue;
      give(core, client);
      held_by_[at(core)] = client;
    }
  }

  // Gives up the tile of which it has least, on the node where it has least.
  void shrink(int client) {
    while (count_[at(client)] > wanted(client)) {
      int worst = -1;
      for (int t = 0; t < tiles(); ++t) {
        if (have(client, t) == 0) continue;
        if (worst < 0 || gives_up_before(client, t, worst)) worst = t;
      }
      const auto& cores = machine_.tiles[at(worst)].cores;
      for (auto core = cores.rbegin(); core != cores.rend(); ++core) {
        if (owner_[at(*core)] != client) continue;
        give(*core, kNobody);
        break;
      }
    }
  }

  bool gives_up_before(int client, int a, int b) const {
    const bool a_broken = have(client, a) < tile_size_[at(a)];
    const bool b_broken = have(client, b) < tile_size_[at(b)];
    if (a_broken != b_broken) return a_broken;
    const int a_node = on_node(client, node(a));
    const int b_node = on_node(client, node(b));
    if (a_node != b_node) return a_node < b_node;
    if (have(client, a) != have(client, b)) return have(client, a) < have(client, b);
    return a > b;
  }

  // Who needs most finds whole tiles first.
  std::vector<int> by_need() const {
    std::vector<int> order(wishes_.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [this](int a, int b) {
      return wanted(a) - count_[at(a)] > wanted(b) - count_[at(b)];
    });
    return order;
  }

  void grow(int client) {
    while (count_[at(client)] < wanted(client)) {
      const int need = wanted(client) - count_[at(client)];
      const int home = home_node(client, need);
      int best = -1;
      for (int t = 0; t < tiles(); ++t) {
        if (free_in(t) == 0) continue;
        if (best < 0 || better_tile(client, need, home, t, best)) best = t;
      }
      if (best < 0) return;
      int left = need;
      for (int core : machine_.tiles[at(best)].cores) {
        if (left == 0 || !usable_[at(core)] || owner_[at(core)] != kNobody) continue;
        give(core, client);
        --left;
      }
    }
  }

  // Where it has most; for a newcomer the node that fits most tightly, else the emptiest.
  int home_node(int client, int need) const {
    std::vector<int> room(at(std::max(1, machine_.numa_nodes)), 0);
    for (int t = 0; t < tiles(); ++t) room[at(node(t))] += free_in(t);
    int home = 0;
    for (int n = 1; n < static_cast<int>(room.size()); ++n) {
      const int mine = on_node(client, n);
      const int best = on_node(client, home);
      const int here = room[at(n)];
      const int there = room[at(home)];
      const bool fits = here >= need;
      const bool home_fits = there >= need;
      if (mine != best) {
        if (mine > best) home = n;
      } else if (fits != home_fits ? fits : fits ? here < there : here > there) {
        home = n;
      }
    }
    return home;
  }

  int room_on(int wanted_node) const {
    int sum = 0;
    for (int t = 0; t < tiles(); ++t) sum += node(t) == wanted_node ? free_in(t) : 0;
    return sum;
  }

  // First its own broken tile, then the home node where that has enough; whole tiles while one is
  // needed, and for the rest the tile that has just enough.
  bool better_tile(int client, int need, int home, int a, int b) const {
    const bool a_mine = have(client, a) > 0;
    const bool b_mine = have(client, b) > 0;
    if (a_mine != b_mine) return a_mine;
    const bool a_home = node(a) == home;
    const bool b_home = node(b) == home;
    if (a_home != b_home && room_on(home) >= need) return a_home;
    const int a_free = free_in(a);
    const int b_free = free_in(b);
    const auto useful_whole = [&](int t, int free) {
      return free == tile_size_[at(t)] && free <= need;
    };
    const bool a_whole = useful_whole(a, a_free);
    const bool b_whole = useful_whole(b, b_free);
    if (a_whole != b_whole) return a_whole;
    if (a_whole && a_home != b_home) return a_home;
    const bool a_fits = a_free >= need;
    const bool b_fits = b_free >= need;
    if (a_fits != b_fits) return a_fits;
    if (a_home != b_home) return a_home;
    if (a_free != b_free) return a_fits ? a_free < b_free : a_free > b_free;
    return a < b;
  }

  bool broken(int client, int t) const {
    return have(client, t) > 0 && have(client, t) < tile_size_[at(t)];
  }

  // Broken tiles beyond the one that a client may have.
  int excess(int client) const {
    if (client == kNobody) return 0;
    int sum = 0;
    for (int t = 0; t < tiles(); ++t) sum += broken(client, t) ? 1 : 0;
    return std::max(0, sum - 1);
  }

  // Whether a client that gives `core` for `other` still keeps something of before, or goes where
  // it is let in without anybody waiting for it: otherwise two could wait for each other.
  bool may_trade(int client, int core, int other) const {
    if (client == kNobody || wishes_[at(client)].held.empty()) return true;
    const int kept = kept_[at(client)] - (held_by_[at(core)] == client ? 1 : 0) +
                     (held_by_[at(other)] == client ? 1 : 0);
    if (kept > 0) return true;
    const int before = held_by_[at(other)];
    return !anchored_[at(client)] && (before == kNobody || kept_[at(before)] > 0);
  }

  // Somebody moves onto what this client gives up: from now on it has to stay.
  void anchor(int client, int core) {
    const int before = held_by_[at(core)];
    if (client != kNobody && kept_[at(client)] == 0 && before != kNobody && before != client) {
      anchored_[at(before)] = true;
    }
  }

  void trade(int core, int other) {
    const int mine = owner_[at(core)];
    const int theirs = owner_[at(other)];
    if (held_by_[at(core)] == mine) --kept_[at(mine)];
    if (theirs != kNobody && held_by_[at(other)] == theirs) --kept_[at(theirs)];
    give(core, kNobody);
    give(other, mine);
    if (theirs != kNobody) give(core, theirs);
    if (held_by_[at(other)] == mine) ++kept_[at(mine)];
    if (theirs != kNobody && held_by_[at(core)] == theirs) ++kept_[at(theirs)];
    anchor(mine, other);
    anchor(theirs, core);
  }

  // Moves what it has of one broken tile into another while that leaves fewer broken tiles to all
  // together.
  void mend(int client) {
    for (bool better = true; better && excess(client) > 0;) {
      better = false;
      for (int from = 0; from < tiles() && !better; ++from) {
        if (!broken(client, from)) continue;
        for (int to = 0; to < tiles() && !better; ++to) {
          if (to == from || !broken(client, to) || have(client, to) < have(client, from)) continue;
          better = move_helps(client, from, to);
        }
      }
    }
  }

  bool move_helps(int client, int from, int to) {
    std::set<int> concerned = {client};
    for (int core : machine_.tiles[at(to)].cores) concerned.insert(owner_[at(core)]);
    const auto sum = [&] {
      int broken_ones = 0;
      for (int one : concerned) broken_ones += excess(one);
      return broken_ones;
    };
    const int before = sum();
    std::vector<std::pair<int, int>> trades;
    for (int core : machine_.tiles[at(from)].cores) {
      if (owner_[at(core)] != client) continue;
      const int other = partner_in(client, core, to);
      if (other < 0) break;
      trade(core, other);
      trades.emplace_back(core, other);
    }
    if (sum() < before) return true;
    for (auto one = trades.rbegin(); one != trades.rend(); ++one) trade(one->second, one->first);
    return false;
  }

  // A core of this tile to have instead of `core`: a free one, else of somebody who is in the tile
  // of `core` already, else anybody's.
  int partner_in(int client, int core, int to) const {
    int best = -1;
    int best_rank = 3;
    for (int other : machine_.tiles[at(to)].cores) {
      const int theirs = owner_[at(other)];
      if (!usable_[at(other)] || theirs == client) continue;
      if (!may_trade(client, core, other) || !may_trade(theirs, other, core)) continue;
      const int rank = theirs == kNobody ? 0 : have(theirs, tile(core)) > 0 ? 1 : 2;
      if (rank >= best_rank) continue;
      best = other;
      best_rank = rank;
    }
    return best;
  }

  const Machine& machine_;
  const std::vector<CoreWish>& wishes_;
  std::vector<int> owner_;    // by core
  std::vector<int> held_by_;  // by core, before
  std::vector<bool> usable_;
  std::vector<int> tile_size_;             // usable cores, by tile
  std::vector<int> free_;                  // of them, those that nobody has
  std::vector<std::vector<int>> in_tile_;  // by client and tile
  std::vector<int> count_;                 // by client
  std::vector<int> kept_;                  // by client, of what it held
  std::vector<bool> anchored_;             // by client: others rely on what it gives up
};

class Turns {
 public:
  Turns(const std::vector<TurnCore>& cores, const std::vector<TurnWish>& wishes)
      : cores_(cores), wishes_(wishes), place_(wishes.size(), 0), weight_(cores.size(), 0.0) {}

  std::vector<TurnGrant> run() {
    std::vector<std::size_t> homeless;
    for (std::size_t i = 0; i < wishes_.size(); ++i) {
      const auto home = std::find_if(cores_.begin(), cores_.end(), [&](const TurnCore& core) {
        return core.core == wishes_[i].held_core && can_use(i, core.core);
      });
      if (home == cores_.end()) {
        homeless.push_back(i);
      } else {
        put(i, static_cast<std::size_t>(home - cores_.begin()));
      }
    }
    std::stable_sort(homeless.begin(), homeless.end(), [this](std::size_t a, std::size_t b) {
      return wishes_[a].weight > wishes_[b].weight;
    });
    for (std::size_t i : homeless) put(i, lightest(i));
    while (even_out()) {
    }
    std::vector<TurnGrant> grants;
    for (std::size_t i = 0; i < wishes_.size(); ++i) {
      if (place_[i] == kNowhere) {
        grants.push_back({wishes_[i].id, kNobody, 0.0});
        continue;
      }
      const TurnCore& core = cores_[place_[i]];
      grants.push_back(
          {wishes_[i].id, core.core, core.room * wishes_[i].weight / weight_[place_[i]]});
    }
    return grants;
  }

 private:
  static constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);
  static constexpr double kWorthMoving = 0.98;  // of the load before; closer is not worth a move

  double load(std::size_t core) const { return weight_[core] / cores_[core].room; }

  bool can_use(std::size_t client, int core) const {
    const std::vector<int>& bound = wishes_[client].bound;
    return bound.empty() || std::find(bound.begin(), bound.end(), core) != bound.end();
  }

  // Of those that it can use.
  std::size_t lightest(std::size_t client) const {
    std::size_t best = kNowhere;
    for (std::size_t c = 0; c < cores_.size(); ++c) {
      if (!can_use(client, cores_[c].core)) continue;
      if (best == kNowhere || load(c) < load(best)) best = c;
    }
    return best;
  }

  void put(std::size_t client, std::size_t core) {
    place_[client] = core;
    if (core != kNowhere) weight_[core] += wishes_[client].weight;
  }

  // Moves one client to its lightest core if that core stays clearly lighter than the one it left.
  bool even_out() {
    std::size_t mover = wishes_.size();
    std::size_t target = kNowhere;
    double heaviest = 0;
    for (std::size_t i = 0; i < wishes_.size(); ++i) {
      if (place_[i] == kNowhere) continue;
      const std::size_t to = lightest(i);
      const double here = load(place_[i]);
      const double there = (weight_[to] + wishes_[i].weight) / cores_[to].room;
      if (place_[i] == to || there >= kWorthMoving * here || here <= heaviest) continue;
      heaviest = here;
      mover = i;
      target = to;
    }
    if (mover == wishes_.size()) return false;
    weight_[place_[mover]] -= wishes_[mover].weight;
    put(mover, target);
    return true;
  }

  const std::vector<TurnCore>& cores_;
  const std::vector<TurnWish>& wishes_;
  std::vector<std::size_t> place_;  // by client
  std::vector<double> weight_;      // by core
};

}  // namespace

std::vector<int> budget_cores(const Machine& machine, const Budget& budget) {
  // Asked for with every decision: no search for each unit.
  std::vector<bool> is_granted(budget.units.empty() ? 0 : at(budget.units.back()) + 1);
  for (const int unit : budget.units) is_granted[at(unit)] = true;
  const auto usable = [&](int unit) {
    const std::size_t os_index = at(machine.units[at(unit)].os_index);
    return os_index < is_granted.size() && is_granted[os_index];
  };
  std::vector<int> cores;
  for (int core = 0; core < static_cast<int>(machine.cores.size()); ++core) {
    const auto& of_core = machine.cores[at(core)].units;
    if (std::any_of(of_core.begin(), of_core.end(), usable)) cores.push_back(core);
  }
  return cores;
}

Budget within(const Machine& machine, Budget budget, const std::vector<int>& units) {
  std::erase_if(budget.units, [&](int unit) {
    return std::find(units.begin(), units.end(), unit) == units.end();
  });
  const auto cores = static_cast<int>(budget_cores(machine, budget).size());
  budget.cores = std::clamp(cores, 1, std::max(1, budget.cores));
  return budget;
}

std::vector<int> units_of(const Machine& machine, const Budget& budget,
                          const std::vector<int>& cores) {
  std::vector<int> units;
  for (int core : cores) {
    for (int unit : machine.cores[at(core)].units) {
      const int os_index = machine.units[at(unit)].os_index;
      if (granted(budget, os_index)) units.push_back(os_index);
    }
  }
  std::sort(units.begin(), units.end());
  return units;
}

std::vector<CoreGrant> assign_cores(const Machine& machine, const std::vector<int>& usable,
                                    const std::vector<CoreWish>& wishes) {
  Assignment assignment(machine, usable, wishes);
  assignment.run();
  return assignment.grants();
}

std::vector<TurnGrant> assign_turns(const std::vector<TurnCore>& cores,
                                    const std::vector<TurnWish>& wishes) {
  if (cores.empty()) return {};
  return Turns(cores, wishes).run();
}

}  // namespace optile::sched
