// Clients that arrive, wait, stop, die and change their minds, with messages that take their time,
// against one lease table. What each client really uses is kept here, apart from the table's books.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include "sched/leases/core_assignment.h"
#include "sched/leases/lease_table.h"
#include "tests/sanitized.h"
#include "tests/sched/leases/curves.h"
#include "tests/sched/leases/lease_commands.h"
#include "tests/sched/simulation/machines.h"

namespace optile::sched {
namespace {

using curves::integer;
using curves::Random;

constexpr double kRounding = 1e-6;
constexpr uint64_t kManyClientsEvery = 20;  // seeds

struct SimulatedClient {
  std::vector<int> bound;  // none: to nothing
  Lease uses;
  std::deque<LeaseChange> inbox;
  bool stopped = false;
  bool dead = false;        // the table does not know yet
  uint64_t noticed_at = 0;  // tick at which it learns
};

struct Confirmation {
  uint64_t arrives = 0;
  ClientId id = 0;
  uint64_t sequence = 0;
};

class Simulation {
 public:
  Simulation(const perfmodel::Machine& machine, uint64_t seed)
      : random_(seed),
        whole_(machines::whole(machine)),
        table_(machine, whole_, settings()),
        usable_(budget_cores(machine, whole_)),
        most_clients_(integer(random_, 2, seed % kManyClientsEvery == 0 ? 300 : 40)) {}

  void run(int ticks) {
    for (int i = 0; i < ticks && !::testing::Test::HasFailure(); ++i) {
      const int events = integer(random_, 0, 3);
      for (int k = 0; k < events; ++k) something_happens();
      step();
    }
  }

  // Calm clients of which one waits, for so long that it is away, and comes back: everybody is owed
  // as much as before.
  void one_is_away_for_a_while() {
    for (const LeaseView& view : table_.view())
      (void)table_.update(view.id, {.activity = Activity::kWorks});
    settle();
    // A second look: what the first led to is what is held from now on.
    for (const LeaseView& view : table_.view())
      (void)table_.apply(commands::share(view.id, view.weight));
    settle();
    std::map<ClientId, int> claims;
    std::vector<ClientId> candidates;
    for (const LeaseView& view : table_.view()) {
      claims[view.id] = view.claim;
      if (view.claim > 0 && !view.paused && !view.pinned) candidates.push_back(view.id);
    }
    if (candidates.empty()) return;
    const int which = integer(random_, 0, static_cast<int>(candidates.size()) - 1);
    const ClientId id = candidates[static_cast<std::size_t>(which)];
    ASSERT_TRUE(table_.update(id, {.activity = Activity::kWaits}).ok());
    if (integer(random_, 0, 1) == 0) settle();
    ASSERT_TRUE(table_.update(id, {.activity = Activity::kAway}).ok());
    settle();
    EXPECT_EQ(table_.view(id)->claim, 0) << id;
    EXPECT_EQ(table_.summary().lent_cores, 0);
    ASSERT_TRUE(table_.update(id, {.activity = Activity::kWorks}).ok());
    settle();
    for (const LeaseView& view : table_.view()) {
      EXPECT_EQ(view.claim, claims.at(view.id)) << view.id << " beside " << id;
    }
    ++returns_;
  }

  // Everybody answers again: all that was promised arrives, and nobody is left without.
  void calm_down() {
    for (auto& [id, client] : clients_) {
      if (!client.dead) client.stopped = false;
    }
    set_budget(whole_);
    settle();
    EXPECT_LE(table_.summary().held_cores, table_.resources().budget.cores + kRounding);
    for (const LeaseView& view : table_.view()) {
      EXPECT_FALSE(view.late) << view.id;
      EXPECT_EQ(view.granted.cores, view.target.cores) << view.id;
      EXPECT_NEAR(view.granted.fraction, view.target.fraction, kRounding) << view.id;
      EXPECT_EQ(clients_.at(view.id).uses, view.granted) << view.id;
    }
    nobody_is_left_without();
  }

  // All go; the next one finds the whole machine.
  void end() {
    while (!clients_.empty()) {
      EXPECT_TRUE(table_.leave(clients_.begin()->first).ok());
      clients_.erase(clients_.begin());
    }
    confirmations_.clear();
    EXPECT_EQ(table_.summary().held_cores, 0.0);
    EXPECT_TRUE(table_.view().empty());
    ASSERT_TRUE(table_.arrive(++last_id_, 1.0, Priority::kNormal).ok());
    const auto sent = table_.decide(++tick_);
    ASSERT_EQ(sent.size(), 1u);
    EXPECT_EQ(static_cast<int>(sent[0].lease.cores.size()), whole_.cores);
  }

  LeaseCounters counters() const { return table_.summary().counters; }
  uint64_t returns() const { return returns_; }

 private:
  static LeaseSettings settings() {
    LeaseSettings made;
    made.confirm_ticks = 12;
    return made;
  }

  static std::size_t index(int core) { return static_cast<std::size_t>(core); }

  ClientId any_client() {
    if (clients_.empty()) return 0;
    auto found = clients_.begin();
    std::advance(found, integer(random_, 0, static_cast<int>(clients_.size()) - 1));
    return found->second.dead ? 0 : found->first;
  }

  void arrive() {
    if (static_cast<int>(clients_.size()) >= most_clients_) return;
    const auto priority = integer(random_, 0, 4) == 0 ? Priority::kBatch : Priority::kNormal;
    ASSERT_TRUE(table_.arrive(++last_id_, curves::uniform(random_, 0.3, 3.0), priority).ok());
    clients_[last_id_] = {};
    if (integer(random_, 0, 4) == 0) bind(last_id_);
    if (integer(random_, 0, 2) != 0) new_curve(last_id_);
  }

  // As a launcher does, before anything else happens to it.
  void bind(ClientId id) {
    const int first = integer(random_, 0, whole_.cores - 1);
    const int count = integer(random_, 1, std::max(1, whole_.cores / 2));
    std::vector<int>& bound = clients_.at(id).bound;
    for (int c = first; c < std::min(first + count, whole_.cores); ++c) bound.push_back(c);
    ASSERT_TRUE(table_.update(id, {.bound = bound}).ok());
  }

  void new_curve(ClientId id) {
    const int cores = std::min(whole_.cores, 64);
    table_
        .update(id, {.curve = LeaseUpdate::Curve{curves::any(random_, cores),
                                                 integer(random_, 0, 2), kNoLimit}})
        .ok();
  }

  // Killed: it uses nothing from now on, the table hears of it a little later.
  void die(ClientId id) {
    SimulatedClient& client = clients_.at(id);
    client.dead = true;
    client.uses = {};
    client.noticed_at = tick_ + static_cast<uint64_t>(integer(random_, 0, 3));
  }

  void something_happens() {
    const int what = integer(random_, 0, 18);
    if (what < 7) return arrive();
    const ClientId id = any_client();
    if (id == 0) return;
    // Refusals (a pin on a pinned core, a client that was detached) are part of it.
    switch (what) {
      case 7:
      case 8:
        return die(id);
      case 9:
        clients_.at(id).stopped = true;
        return;
      case 10:
        clients_.at(id).stopped = false;
        return;
      case 11:
      case 12:
        return new_curve(id);
      case 13:
        table_.update(id, {.activity = Activity::kWaits}).ok();
        if (integer(random_, 0, 1) == 0) table_.update(id, {.activity = Activity::kAway}).ok();
        return;
      case 14:
        table_.update(id, {.activity = Activity::kWorks}).ok();
        return;
      case 15:
        table_.apply(commands::share(id, curves::uniform(random_, 0.2, 5.0))).ok();
        return;
      case 16:
        return user_pins(id);
      case 17:
        return integer(random_, 0, 2) == 0 ? user_pauses(id)
                                           : (void)table_.apply(commands::resume(id)).ok();
      default:
        return integer(random_, 0, 2) == 0 ? (void)table_.apply(commands::detach(id)).ok()
                                           : change_budget();
    }
  }

  void user_pins(ClientId id) {
    if (integer(random_, 0, 1) == 0) {
      table_.apply(commands::unpin(id)).ok();
      return;
    }
    const int first = integer(random_, 0, whole_.cores - 1);
    const int count = integer(random_, 1, std::max(1, whole_.cores / 8));
    std::vector<int> cores;
    for (int c = first; c < std::min(first + count, whole_.cores); ++c) cores.push_back(c);
    table_.apply(commands::pin(id, cores)).ok();
  }

  // It keeps what is its own, and nothing that another one will want back.
  void user_pauses(ClientId id) {
    const auto before = table_.view(id);
    if (!table_.apply(commands::pause(id)).ok() || before->claim == 0 || before->pinned) return;
    const auto paused = table_.view(id);
    EXPECT_LE(static_cast<int>(paused->target.cores.size()), before->claim) << id;
  }

  void change_budget() {
    perfmodel::Budget budget = whole_;
    if (integer(random_, 0, 2) != 0) {
      budget.units.clear();
      for (int unit : whole_.units) {
        if (integer(random_, 0, 3) != 0) budget.units.push_back(unit);
      }
      const auto cores = budget_cores(table_.resources().machine, budget);
      budget.cores = std::max(1, integer(random_, 1, std::max(1, static_cast<int>(cores.size()))));
    }
    set_budget(budget);
  }

  void set_budget(const perfmodel::Budget& budget) {
    table_.set_budget(budget);
    usable_ = budget_cores(table_.resources().machine, budget);
  }

  // Clients that were detached, and let go of.
  void forget_detached(const std::vector<LeaseView>& views) {
    std::set<ClientId> known;
    for (const LeaseView& view : views) known.insert(view.id);
    std::erase_if(clients_, [&](const auto& one) { return !known.contains(one.first); });
  }

  void settle() {
    int quiet = 0;
    for (int i = 0; i < 2000 && quiet < 16; ++i) quiet = step() == 0 ? quiet + 1 : 0;
    ASSERT_GE(quiet, 16) << "never settles";
  }

  int step() {
    ++tick_;
    for (auto one = clients_.begin(); one != clients_.end();) {
      if (one->second.dead && one->second.noticed_at <= tick_) {
        table_.leave(one->first).ok();  // it may have been let go of just before
        one = clients_.erase(one);
      } else {
        ++one;
      }
    }
    for (auto& [id, client] : clients_) {
      if (!client.stopped && !client.dead && integer(random_, 0, 2) != 0) read_inbox(id, client);
    }
    for (auto one = confirmations_.begin(); one != confirmations_.end();) {
      if (one->arrives > tick_) {
        ++one;
        continue;
      }
      table_.confirm(one->id, one->sequence).ok();  // it may be gone by now
      one = confirmations_.erase(one);
    }
    const auto sent = table_.decide(tick_);
    for (const LeaseChange& change : sent) {
      EXPECT_FALSE(change.reason.empty());
      for (int core : change.lease.cores) {
        const auto& before = change.before.cores;
        EXPECT_TRUE(std::binary_search(usable_.begin(), usable_.end(), core) ||
                    std::binary_search(before.begin(), before.end(), core))
            << "core " << core << " is not in the budget";
        const std::vector<int>& bound = clients_.at(change.id).bound;
        EXPECT_TRUE(bound.empty() || std::binary_search(bound.begin(), bound.end(), core))
            << "client " << change.id << " is bound elsewhere than to core " << core;
      }
      clients_.at(change.id).inbox.push_back(change);
    }
    check();
    return static_cast<int>(sent.size());
  }

  // An op boundary: it takes one lease or all that are there, and says so.
  void read_inbox(ClientId id, SimulatedClient& client) {
    if (client.inbox.empty()) return;
    const bool all = integer(random_, 0, 1) == 0;
    const LeaseChange change = all ? client.inbox.back() : client.inbox.front();
    if (all) {
      client.inbox.clear();
    } else {
      client.inbox.pop_front();
    }
    client.uses = change.lease;
    confirmations_.push_back(
        {tick_ + static_cast<uint64_t>(integer(random_, 0, 3)), id, change.sequence});
  }

  void check() {
    const std::vector<LeaseView> views = table_.view();
    forget_detached(views);
    std::vector<double> used(table_.resources().machine.cores.size(), 0.0);
    std::vector<double> counted = used;
    for (const LeaseView& view : views) {
      const std::map<int, double> may_use = table_.ownership().held(view.id);
      for (const auto& [core, fraction] : may_use) counted.at(index(core)) += fraction;
      const SimulatedClient& client = clients_.at(view.id);
      for (int core : client.uses.cores) {
        used.at(index(core)) += client.uses.fraction;
        const auto held = may_use.find(core);
        ASSERT_TRUE(held != may_use.end()) << "client " << view.id << " uses core " << core;
        ASSERT_LE(client.uses.fraction, held->second + kRounding);
      }
    }
    for (std::size_t core = 0; core < used.size(); ++core) {
      ASSERT_LE(used[core], 1 + kRounding) << "core " << core << " is used twice";
      ASSERT_LE(counted[core], 1 + kRounding) << "core " << core << " is granted twice";
    }
  }

  // Only where the user's words leave nothing may somebody who can run be without a core.
  void nobody_is_left_without() {
    double bound = 0;
    for (const LeaseView& view : table_.view()) {
      if (view.paused || view.pinned) bound += static_cast<double>(view.target.cores.size());
    }
    for (const LeaseView& view : table_.view()) {
      if (view.idle || view.paused || view.pinned || bound >= whole_.cores) continue;
      if (view.bound) continue;  // others may have all that it can use
      EXPECT_FALSE(view.granted.empty()) << view.id;
    }
  }

  Random random_;
  perfmodel::Budget whole_;
  LeaseTable table_;
  std::vector<int> usable_;
  int most_clients_;
  std::map<ClientId, SimulatedClient> clients_;
  std::vector<Confirmation> confirmations_;
  ClientId last_id_ = 0;
  uint64_t tick_ = 0;
  uint64_t returns_ = 0;
};

// 5 machines × 4 blocks × 50: 1,000 seeds in all.
class LeaseSimulation : public ::testing::TestWithParam<std::tuple<const char*, uint64_t>> {
 public:
  static constexpr uint64_t kBlocks = 4;
  static constexpr uint64_t kSeedsOfBlock = test::kSanitized ? 10 : 50;
};

TEST_P(LeaseSimulation, LosesNoCoreAndGrantsNoneTwice) {
  const auto [description, block] = GetParam();
  const perfmodel::Machine machine = machines::machine(description);
  const int ticks = machine.cores.size() > 100 ? 30 : 60;
  LeaseCounters sum;
  uint64_t returns = 0;
  for (uint64_t seed = block * kSeedsOfBlock + 1; seed <= (block + 1) * kSeedsOfBlock; ++seed) {
    SCOPED_TRACE(std::string(description) + ", seed " + std::to_string(seed));
    Simulation simulation(machine, seed);
    simulation.run(seed % kManyClientsEvery == 0 ? 4 * ticks : ticks);
    simulation.calm_down();
    simulation.one_is_away_for_a_while();
    simulation.end();
    sum.changes += simulation.counters().changes;
    sum.late += simulation.counters().late;
    returns += simulation.returns();
    if (HasFailure()) return;
  }
  // The interesting things did happen.
  EXPECT_GT(sum.changes, 20 * kSeedsOfBlock);
  // On four cores clients mostly take turns.
  EXPECT_TRUE(machine.cores.size() <= 4 || returns > kSeedsOfBlock / 10) << returns;
  if (test::kSanitized) return;  // the rest is too rare for so few seeds
  EXPECT_GT(sum.late, 10u);
}

INSTANTIATE_TEST_SUITE_P(
    Machines, LeaseSimulation,
    ::testing::Combine(::testing::Values("pack:1 l3:1 core:4 pu:1", "pack:1 l2:8 core:2 pu:1",
                                         "pack:1 l2:34 core:2 pu:4",
                                         "pack:2 numa:1 l3:12 core:8 pu:2",
                                         "pack:2 numa:2 l3:12 core:8 pu:2"),
                       ::testing::Range(uint64_t{0}, LeaseSimulation::kBlocks)));

}  // namespace
}  // namespace optile::sched
