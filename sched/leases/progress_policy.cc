#include "sched/leases/progress_policy.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "sched/leases/core_knapsack.h"

namespace optile::sched {
namespace {

// So small that they decide between equals only: first for what is held, then for fewer cores.
constexpr double kStay = 1e-8;
constexpr double kFewer = 1e-9;
constexpr double kRounding = 1e-6;

struct Client {
  const LeaseDemand* demand = nullptr;
  double weight = 1.0;
  std::vector<double> rising;  // running maximum of progress
  int useful = 0;              // the fewest cores with the greatest of it
  int floor = 1;
  int most = 1;

  bool known() const { return !rising.empty(); }
  bool batch() const { return demand->priority == Priority::kBatch; }
  double progress(int cores) const {
    if (cores <= 0 || rising.empty()) return 0;
    return rising[std::min(static_cast<std::size_t>(cores), rising.size()) - 1];
  }
};

// A client in one division of cores.
struct Seat {
  const Client* client = nullptr;
  bool gains = true;  // false: waits
  int least = 0;
  int most = 0;
  int held = 0;
  int cores = 0;

  double worth(int n) const { return gains ? client->weight * client->progress(n) : 0.0; }
};

double weight_of(const LeaseDemand& demand) {
  const bool sane = std::isfinite(demand.weight) && demand.weight > 0;
  return sane ? std::clamp(demand.weight, 1e-3, 1e3) : 1.0;
}

Client client_of(const LeaseDemand& demand, int cores) {
  Client client;
  client.demand = &demand;
  client.weight = weight_of(demand);
  client.most = std::clamp(demand.most, 1, std::max(cores, 1));
  client.floor = std::clamp(demand.floor, 1, client.most);
  const auto most = static_cast<std::size_t>(std::clamp(cores, 0, kMostCores));
  client.rising.resize(std::min(demand.progress.size(), most));
  double best = 0;
  for (std::size_t i = 0; i < client.rising.size(); ++i) {
    const double value = std::min(demand.progress[i], 1.0);
    if (std::isfinite(demand.progress[i]) && value > best) {
      best = value;
      client.useful = static_cast<int>(i) + 1;
    }
    client.rising[i] = best;
  }
  return client;
}

// Everybody one core, then the floors in rounds, as long as there are cores.
void set_floors(std::vector<Seat>& seats, int cores) {
  int left = cores;
  for (bool more = true; more;) {
    more = false;
    for (Seat& seat : seats) {
      if (left == 0 || seat.least >= seat.client->floor) continue;
      ++seat.least;
      --left;
      more = true;
    }
  }
}

class Division {
 public:
  Division(std::vector<Seat> seats, int cores, const ProgressThresholds& thresholds)
      : seats_(std::move(seats)), cores_(cores), thresholds_(thresholds) {}

  std::vector<Seat> run() {
    choose();
    if (held_is_possible() && !pays()) {
      for (Seat& seat : seats_) seat.cores = seat.held;
    }
    spread_rest();
    return seats_;
  }

  bool exact() const { return exact_; }
  uint64_t operations() const { return operations_; }

 private:
  bool held_is_possible() const {
    int sum = 0;
    for (const Seat& seat : seats_) {
      if (seat.held < seat.least || seat.held > seat.most) return false;
      sum += seat.held;
    }
    return sum <= cores_;
  }

  int given() const {
    int sum = 0;
    for (const Seat& seat : seats_) sum += seat.cores;
    return sum;
  }

  // Of the weighted progress, what moving one core costs it within the horizon.
  double price(const Seat& seat) const {
    if (seat.held <= 0) return 0;
    const double horizon = std::max(thresholds_.horizon_seconds, 1e-9);
    return std::max(0.0, thresholds_.moving_seconds_per_core) * seat.worth(seat.held) / horizon;
  }

  // `spare`: beyond its least it cannot have more. `anew`: whatever it holds.
  KnapsackRow row_of(const Seat& seat, int spare, bool anew) const {
    KnapsackRow row;
    row.least = seat.least;
    const int useful = std::max(seat.gains ? seat.client->useful : 0, seat.held);
    const int most = std::max(seat.least, std::min(seat.most, useful));
    const bool may_stay = seat.held > 0 && !anew;
    const double stay = may_stay ? std::max(price(seat), kStay * seat.client->weight) : 0.0;
    const double fewer = kFewer * seat.client->weight;
    row.worth.resize(static_cast<std::size_t>(std::min(most - seat.least, spare)) + 1);
    int n = seat.least;
    for (double& worth : row.worth) {
      worth = seat.worth(n) - stay * std::abs(n - seat.held) - fewer * n;
      ++n;
    }
    return row;
  }

  // Normal clients first, with the floors of the others set aside; then batch clients; then those
  // who wait keep what nobody gains from.
  void choose() {
    int set_aside = 0;
    for (Seat& seat : seats_) {
      seat.cores = seat.least;
      set_aside += seat.least;
    }
    const int spare = cores_ - set_aside;
    if (somebody_known(true)) {
      choose_among(false, spare, true);
      best_of_normal_ = worth_of(false, &Seat::cores);
      choose_among(false, spare);
      best_of_normal_ = std::max(best_of_normal_, worth_of(false, &Seat::cores));
      trim();
      choose_among(true, cores_ - given());
    } else {
      choose_among(false, spare);
    }
    int left = cores_ - given();
    for (Seat& seat : seats_) {
      if (seat.gains) continue;
      const int more = std::clamp(std::min(seat.held, seat.most) - seat.cores, 0, left);
      seat.cores += more;
      left -= more;
    }
  }

  // Of those that a choice is about.
  static bool is_known(const Seat& seat, bool batch) {
    return seat.gains && seat.client->known() && seat.client->batch() == batch;
  }

  bool somebody_known(bool batch) const {
    return std::any_of(seats_.begin(), seats_.end(),
                       [batch](const Seat& seat) { return is_known(seat, batch); });
  }

  // `anew`: as if nobody held anything.
  void choose_among(bool batch, int spare, bool anew = false) {
    std::vector<Seat*> mine;
    std::vector<KnapsackRow> rows;
    int room = spare;
    for (Seat& seat : seats_) {
      if (!is_known(seat, batch)) continue;
      room += seat.least;
      rows.push_back(row_of(seat, spare, anew));
      mine.push_back(&seat);
    }
    if (rows.empty()) return;
    const KnapsackChoice choice = choose_cores(rows, room, thresholds_.most_operations);
    for (std::size_t i = 0; i < mine.size(); ++i) mine[i]->cores = choice.cores[i];
    exact_ = exact_ && choice.exact;
    operations_ += choice.operations;
  }

  // Takes from normal clients what they gain next to nothing from, the cheapest first: of the best
  // that they could have, so that it is no more however often cores are divided.
  void trim() {
    double allowed = std::max(0.0, worth_of(false, &Seat::cores) - fewest_worth());
    while (true) {
      Seat* cheapest = nullptr;
      int to = 0;
      double least_loss = 0;
      for (Seat& seat : seats_) {
        if (!is_known(seat, false)) continue;
        // Down to the next width that is worth less.
        int n = seat.cores - 1;
        while (n > seat.least && seat.worth(n - 1) == seat.worth(n)) --n;
        ++operations_;
        if (n < seat.least) continue;
        const double loss = (seat.worth(seat.cores) - seat.worth(n)) / (seat.cores - n);
        if (cheapest != nullptr && loss >= least_loss) continue;
        cheapest = &seat;
        to = n;
        least_loss = loss;
      }
      if (cheapest == nullptr) return;
      const double loss = least_loss * (cheapest->cores - to);
      if (loss > allowed) return;
      allowed -= loss;
      cheapest->cores = to;
    }
  }

  // What batch clients leave to the normal ones at least.
  double fewest_worth() const { return (1 - thresholds_.nothing) * best_of_normal_; }

  double worth_of(bool batch, int Seat::*cores) const {
    double sum = 0;
    for (const Seat& seat : seats_) {
      if (seat.client->batch() == batch) sum += seat.worth(seat.*cores);
    }
    return sum;
  }

  // Whether what was chosen is enough better than what is held, measured by those it changes: for
  // one class, without loss for the class above it.
  bool pays() const {
    const auto gain_pays = [this](bool batch) {
      double before = 0;
      double gain = 0;
      for (const Seat& seat : seats_) {
        if (seat.client->batch() != batch || seat.cores == seat.held) continue;
        before += seat.worth(seat.held);
        gain += seat.worth(seat.cores) - seat.worth(seat.held) -
                price(seat) * std::abs(seat.cores - seat.held);
      }
      return gain > std::max(thresholds_.least_gain, kRounding) * before + kRounding;
    };
    if (gain_pays(false)) return true;
    const double enough = std::min(worth_of(false, &Seat::held), fewest_worth());
    return worth_of(false, &Seat::cores) >= (1 - kRounding) * enough && gain_pays(true);
  }

  // What nobody is known to gain from goes to those that were not measured yet, evenly.
  void spread_rest() {
    int left = cores_ - given();
    while (left > 0) {
      Seat* poorest = nullptr;
      for (Seat& seat : seats_) {
        if (!seat.gains || seat.client->known() || seat.cores >= seat.most) continue;
        if (poorest == nullptr || seat.cores < poorest->cores) poorest = &seat;
      }
      if (poorest == nullptr) return;
      ++poorest->cores;
      --left;
    }
  }

  std::vector<Seat> seats_;
  int cores_;
  const ProgressThresholds& thresholds_;
  double best_of_normal_ = 0;  // known where there are batch clients
  bool exact_ = true;
  uint64_t operations_ = 0;
};

// Each gets a part of a core by weight, nobody more than one core.
void share_turns(const std::vector<Client>& clients, int all_cores, const AllocationPolicy& policy,
                 Allocation& allocation) {
  allocation.turns = true;
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < clients.size(); ++i) {
    allocation.shares[i].fraction = 0;
    if (!clients[i].demand->idle && clients[i].most > 0) open.push_back(i);
  }
  const auto turn = [&](std::size_t i) { return policy.turn_weight(*clients[i].demand); };
  double cores = std::max(0, all_cores);
  for (bool capped = true; capped && !open.empty();) {
    capped = false;
    double weights = 0;
    for (std::size_t i : open) weights += turn(i);
    std::vector<std::size_t> rest;
    double taken = 0;
    for (std::size_t i : open) {
      allocation.shares[i].fraction = cores * turn(i) / weights;
      if (allocation.shares[i].fraction >= 1.0) {
        allocation.shares[i].fraction = 1.0;
        taken += 1.0;
        capped = true;
      } else {
        rest.push_back(i);
      }
    }
    cores -= taken;
    open = std::move(rest);
  }
}

// Cores by claim, everybody counted as awake; those that are left out get nothing.
void divide_claims(const std::vector<Client>& clients, bool with_idle,
                   const AllocationProblem& problem, const ProgressThresholds& thresholds,
                   Allocation& allocation) {
  std::vector<Seat> seats;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < clients.size(); ++i) {
    const LeaseDemand& demand = *clients[i].demand;
    if (demand.away || (demand.idle && !with_idle)) continue;
    seats.push_back({&clients[i], true, 0, clients[i].most, demand.claimed, 0});
    places.push_back(i);
  }
  set_floors(seats, problem.cores);
  Division division(std::move(seats), problem.cores, thresholds);
  const std::vector<Seat> divided = division.run();
  for (std::size_t k = 0; k < divided.size(); ++k) {
    allocation.shares[places[k]].claim = divided[k].cores;
    allocation.shares[places[k]].cores = divided[k].cores;
  }
  allocation.exact = allocation.exact && division.exact();
  allocation.operations += division.operations();
}

// Whether the claims of before may stay as they are: everybody who is here has one, and together
// they are within the cores.
bool claims_stay(const std::vector<Client>& clients, const AllocationProblem& problem) {
  if (problem.claims_of != problem.cores) return false;
  int sum = 0;
  for (const Client& client : clients) {
    const LeaseDemand& demand = *client.demand;
    if (demand.away) continue;
    if (demand.claimed < 1 || demand.claimed > client.most) return false;
    sum += demand.claimed;
  }
  return sum <= problem.cores;
}

// `only`: no more than one does not wait.
void lend(const std::vector<Client>& clients, bool only, const AllocationProblem& problem,
          const ProgressThresholds& thresholds, Allocation& allocation) {
  std::vector<Seat> seats;
  for (std::size_t i = 0; i < clients.size(); ++i) {
    const LeaseDemand& demand = *clients[i].demand;
    const int claim = allocation.shares[i].claim;
    // Who goes idle gives back first what was lent to it.
    const int held = demand.idle ? std::min(demand.used, claim) : demand.used;
    const bool borrows = !demand.idle && demand.borrows != Borrowing::kNothing;
    const int most = borrows ? std::max(claim, clients[i].most) : claim;
    const bool everything = borrows && only && demand.borrows == Borrowing::kAll;
    const int least = demand.idle ? 0 : everything ? most : claim;
    seats.push_back({&clients[i], !demand.idle, least, most, held, 0});
  }
  Division division(std::move(seats), problem.cores, thresholds);
  const std::vector<Seat> divided = division.run();
  for (std::size_t i = 0; i < divided.size(); ++i) allocation.shares[i].cores = divided[i].cores;
  allocation.exact = allocation.exact && division.exact();
  allocation.operations += division.operations();
}

}  // namespace

double ProgressPolicy::turn_weight(const LeaseDemand& demand) const {
  return weight_of(demand) * (demand.priority == Priority::kBatch ? thresholds_.batch_turn : 1.0);
}

Allocation ProgressPolicy::allocate(const AllocationProblem& problem) const {
  std::vector<Client> clients;
  clients.reserve(problem.demands.size());
  for (const LeaseDemand& demand : problem.demands) {
    clients.push_back(client_of(demand, problem.cores));
  }
  std::sort(clients.begin(), clients.end(),
            [](const Client& a, const Client& b) { return a.demand->id < b.demand->id; });
  Allocation allocation;
  int awake = 0;
  int here = 0;
  for (const Client& client : clients) {
    allocation.shares.push_back({client.demand->id, 0, 0, 1.0});
    if (!client.demand->idle) ++awake;
    if (!client.demand->away) ++here;
  }
  if (awake > problem.cores) {
    share_turns(clients, problem.cores, *this, allocation);
    return allocation;
  }
  const bool all_fit = here <= problem.cores;
  if (claims_stay(clients, problem)) {
    for (std::size_t i = 0; i < clients.size(); ++i) {
      const LeaseDemand& demand = *clients[i].demand;
      allocation.shares[i].claim = demand.away ? 0 : demand.claimed;
      allocation.shares[i].cores = allocation.shares[i].claim;
    }
  } else {
    divide_claims(clients, all_fit, problem, thresholds_, allocation);
  }
  if (all_fit && awake < here) lend(clients, awake == 1, problem, thresholds_, allocation);

  allocation.kept = true;
  double before = 0;
  for (std::size_t i = 0; i < clients.size(); ++i) {
    const LeaseDemand& demand = *clients[i].demand;
    const LeaseShare& share = allocation.shares[i];
    allocation.kept =
        allocation.kept && share.claim == demand.claimed && share.cores == demand.used;
    if (demand.idle) continue;
    allocation.worth += clients[i].weight * clients[i].progress(share.cores);
    before += clients[i].weight * clients[i].progress(demand.used);
  }
  allocation.gain = allocation.worth - before;
  return allocation;
}

}  // namespace optile::sched
