// Programs that are killed, stopped and continued, and a daemon that is killed and started again,
// many times: no core is left out, and none is with two. The kernel's masks, the file that outlives
// the daemon and the clock are the test's.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "daemon/leases/leases.h"
#include "sched/leases/core_assignment.h"
#include "tests/sanitized.h"
#include "tests/sched/leases/curves.h"
#include "tests/sched/simulation/machines.h"

namespace optile::daemon {
namespace {

using sched::curves::integer;
using sched::curves::Random;
using std::chrono::milliseconds;
using Units = std::set<int>;

constexpr double kRounding = 1e-6;
constexpr milliseconds kStep{100};
constexpr int kLatestBack = 125;  // steps after the daemon's end: a shim's longest pause
constexpr int kRounds = 60;

struct Program {
  int pid = 0;
  Units mask;  // none: it may run anywhere
  bool stopped = false;
  bool attached = false;
  milliseconds comes{0};
  Units own;  // that it had when the daemon ended, and nobody else who had nothing but such
};

struct Seen {
  int kills = 0;
  int stops = 0;
  int restarts = 0;
  int kept_apart = 0;  // times that somebody was back while another's cores were kept
};

class Scene {
 public:
  Scene(const perfmodel::Machine& machine, uint64_t seed)
      : random_(seed), machine_(machine), whole_(sched::machines::whole(machine)) {
    start_daemon();
  }

  void run() {
    for (int round = 0; round < kRounds && !::testing::Test::HasFailure(); ++round) {
      something_happens();
      const int steps = integer(random_, 0, 3) == 0 ? integer(random_, 1, 200) : 1;
      for (int i = 0; i < steps; ++i) step();
    }
  }

  const Seen& seen() const { return seen_; }

 private:
  void start_daemon() {
    before_ = file_;
    began_ = now_;
    clients_.clear();
    leases_ = std::make_unique<Leases>(
        machine_, whole_, clients_,
        Leases::Dependencies{[this](uint64_t client, int pid, const std::vector<int>& units) {
                               confine(client, pid, units);
                             },
                             {},
                             false,
                             [this] { return held_before(); },
                             now_});
  }

  void confine(uint64_t client, int pid, const std::vector<int>& units) {
    programs_.at(client).mask = {units.begin(), units.end()};
    if (units.empty()) {
      file_.erase(pid);
      before_.erase(pid);
    } else {
      file_[pid] = units;
    }
  }

  std::vector<HeldProcess> held_before() const {
    std::vector<HeldProcess> all;
    for (const auto& [pid, units] : before_) all.push_back({pid, units});
    return all;
  }

  void something_happens() {
    const int what = integer(random_, 0, 9);
    if (programs_.empty() || what < 2) return start();
    if (what < 4) return restart();
    auto found = programs_.begin();
    std::advance(found, integer(random_, 0, static_cast<int>(programs_.size()) - 1));
    if (what < 6) return kill(found->first);
    if (found->second.stopped) {
      go_on(found->first, found->second);
    } else {
      stop(found->first, found->second);
    }
  }

  void start() {
    if (programs_.size() >= kMost) return;
    const uint64_t id = ++last_id_;
    programs_[id].pid = static_cast<int>(id) + 100;
    attach(id);
  }

  // Under its number as before: the books are easier to read.
  void attach(uint64_t id) {
    Program& program = programs_.at(id);
    program.attached = true;
    leases_->arrive(id, program.pid, whole_.cores);
    leases_->on_reattach(now_);
    if (id % 2 == 0) {
      std::vector<double> predicted;
      for (int n = 1; n <= whole_.cores; ++n) predicted.push_back(1.0 / n);
      leases_->update(id, {.demand = ClientFacts::Demand{predicted, 0, true}});
    }
    decide();
  }

  void kill(uint64_t id) {
    ++seen_.kills;
    const Program& program = programs_.at(id);
    file_.erase(program.pid);
    before_.erase(program.pid);
    const bool attached = program.attached;
    programs_.erase(id);
    if (!attached) return;
    leases_->leave(id);
    decide();
  }

  void stop(uint64_t id, Program& program) {
    ++seen_.stops;
    program.stopped = true;
    if (!program.attached) return;
    leases_->set_activity(id, sched::Activity::kWaits);
    decide();
  }

  void go_on(uint64_t id, Program& program) {
    program.stopped = false;
    if (!program.attached) return;
    leases_->set_activity(id, sched::Activity::kWorks);
    decide();
  }

  void restart() {
    ++seen_.restarts;
    std::map<int, int> users;
    for (const auto& [pid, units] : file_) {
      for (const int unit : units) ++users[unit];
    }
    std::set<int> in_turns;
    for (const auto& [pid, units] : file_) {
      const bool nothing_else =
          std::all_of(units.begin(), units.end(), [&](int unit) { return users[unit] > 1; });
      if (nothing_else) in_turns.insert(units.begin(), units.end());
    }
    for (auto& [id, program] : programs_) {
      program.own.clear();
      const auto left = file_.find(program.pid);
      if (left != file_.end()) program.own = {left->second.begin(), left->second.end()};
      for (const int unit : in_turns) program.own.erase(unit);
      program.attached = false;
      program.comes = now_ + integer(random_, 1, kLatestBack) * kStep;
    }
    start_daemon();
  }

  void step() {
    now_ += kStep;
    std::vector<uint64_t> back;
    for (const auto& [id, program] : programs_) {
      if (!program.attached && !program.stopped && program.comes <= now_) back.push_back(id);
    }
    for (const uint64_t id : back) attach(id);
    if (now_.count() % 1000 == 0) {
      leases_->set_budget(whole_, now_);
      decide();
    }
    check();
  }

  void decide() { leases_->decide(now_); }

  Units units_of(const Program& one) const {
    return one.mask.empty() ? Units(whole_.units.begin(), whole_.units.end()) : one.mask;
  }

  static bool common(const Units& a, const Units& b) {
    return std::any_of(a.begin(), a.end(), [&](int unit) { return b.contains(unit); });
  }

  void check() {
    no_core_is_lost();
    for (const auto& [id, program] : programs_) {
      for (const auto& [other, one] : programs_) {
        if (id != other && !program.stopped && !one.stopped) are_apart(id, other);
      }
    }
  }

  // Of those that are here each core is with somebody, but what is kept for who is still to come.
  void no_core_is_lost() {
    const bool someone = std::any_of(programs_.begin(), programs_.end(), [](const auto& one) {
      return one.second.attached && !one.second.stopped;
    });
    if (!someone) return;
    const auto cores = sched::budget_cores(machine_, leases_->table().resources().budget).size();
    ASSERT_NEAR(leases_->table().summary().held_cores, static_cast<double>(cores), kRounding)
        << "at " << now_.count();
    if (now_ - began_ < RestartReservations::kLongest + std::chrono::seconds(1)) return;
    ASSERT_EQ(cores, machine_.cores.size()) << "kept for ever, at " << now_.count();
  }

  void are_apart(uint64_t id, uint64_t other) {
    const Program& program = programs_.at(id);
    const Program& one = programs_.at(other);
    if (!program.attached) return;
    const auto lease = leases_->table().view(id);
    const bool whole = lease && !lease->granted.empty() && lease->granted.fraction >= 1;
    if (!whole) return;  // turns add up by the table's books, which no_core_is_lost() reads
    if (one.attached) {
      const auto its = leases_->table().view(other);
      if (!its || its->granted.empty()) return;  // everything is kept for others
      ASSERT_FALSE(common(units_of(program), units_of(one)))
          << id << " and " << other << " at " << now_.count();
      return;
    }
    // It may be using them still.
    if (one.own.empty() || now_ - began_ >= RestartReservations::kLongest) return;
    ++seen_.kept_apart;
    ASSERT_FALSE(common(units_of(program), one.own))
        << id << " has what " << other << " is still on, at " << now_.count();
  }

  static constexpr std::size_t kMost = 6;

  Random random_;
  perfmodel::Machine machine_;
  perfmodel::Budget whole_;
  std::map<uint64_t, Program> programs_;
  std::map<int, std::vector<int>> file_;    // by pid; outlives the daemon
  std::map<int, std::vector<int>> before_;  // what the daemon there is now found in it
  ManagedClients clients_;
  std::unique_ptr<Leases> leases_;
  uint64_t last_id_ = 0;
  milliseconds now_{0};
  milliseconds began_{0};
  Seen seen_;
};

class LeaseRestarts : public ::testing::TestWithParam<const char*> {
 public:
  static constexpr uint64_t kSeeds = test::kSanitized ? 5 : 100;
};

TEST_P(LeaseRestarts, LosesNoCoreAndGrantsNoneTwice) {
  Seen sum;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE(std::string(GetParam()) + ", seed " + std::to_string(seed));
    Scene scene(sched::machines::machine(GetParam()), seed);
    scene.run();
    if (HasFailure()) return;
    sum.kills += scene.seen().kills;
    sum.stops += scene.seen().stops;
    sum.restarts += scene.seen().restarts;
    sum.kept_apart += scene.seen().kept_apart;
  }
  if (test::kSanitized) return;
  EXPECT_GE(sum.kills, 1000);
  EXPECT_GE(sum.stops, 1000);
  EXPECT_GE(sum.restarts, 1000);
  EXPECT_GE(sum.kept_apart, 1000);
}

INSTANTIATE_TEST_SUITE_P(Machines, LeaseRestarts,
                         ::testing::Values("pack:1 l3:1 core:4 pu:1", "pack:1 l2:8 core:2 pu:1",
                                           "pack:2 numa:1 l3:3 core:8 pu:2"));

}  // namespace
}  // namespace optile::daemon
