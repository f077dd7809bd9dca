// Who has which cores: events in, changes of leases out. A state machine without clock or
// descriptors, driven by the daemon's loop; one thread. Time is ticks of whatever length the caller
// chooses, passed in.
//
// A core is never with two clients, not even for a moment: a lease grows only by cores that nobody
// may be using, that is, whose former user confirmed a lease without them, left, or was revoked.
// Leases taken in turns add up to one core at most by the same rule.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "perfmodel/machine/budget.h"
#include "perfmodel/machine/machine.h"
#include "sched/leases/core_ownership.h"
#include "sched/leases/lease_plan.h"
#include "sched/leases/lease_view.h"

namespace optile::sched {

inline constexpr std::size_t kMostLeases = 4096;    // clients; arrivals beyond are refused
inline constexpr std::size_t kMostUnconfirmed = 8;  // leases of a client; it gets no more until it
                                                    // confirms one
inline constexpr std::size_t kMostCauses = 3;       // in the reason of one change

struct LeaseChange {
  ClientId id = 0;
  uint64_t sequence = 0;  // to be confirmed with this number once the client uses nothing beyond it
  Lease lease;
  Lease before;        // the one that was sent before
  bool last = false;   // the client was detached: let it go once it confirms
  double gain = 0;     // of its weighted progress that the plan predicts; 0 where unknown
  std::string cause;   // why, and what that is predicted to bring
  std::string reason;  // one line: who, from, to, why
};

// The same line for several changes of one lease that follow each other at once: the lease before
// the first of them, and the last.
std::string whole_change_text(const Lease& before, const LeaseChange& last);

struct LeaseSettings {
  AllocationPolicy policy;
  uint64_t confirm_ticks = 50;  // longer unconfirmed: late
};

class LeaseTable {
 public:
  LeaseTable(perfmodel::Machine machine, perfmodel::Budget budget, LeaseSettings settings);

  // Events. They take effect with the next decide(). kNotFound: no such client.
  base::Status arrive(ClientId id, double weight, Priority priority);
  // Gone for sure: its cores are free at once. `how`: for the reasons of others.
  base::Status leave(ClientId id, const std::string& how = "left");
  // A new curve (LeaseDemand::progress), and how few and how many cores make sense.
  base::Status demand(ClientId id, std::vector<double> progress, int floor, int most);
  base::Status wait(ClientId id);  // can use nothing now
  // It has waited for so long that the others are planned for as if it were not here. When it wakes
  // it is the first to get cores, those that it had, and as things were before if nobody came
  // since. Nothing changes for one that is paused: it keeps its lease.
  base::Status away(ClientId id);
  base::Status wake(ClientId id);
  base::Status borrows(ClientId id, Borrowing how);      // by its curve unless said
  base::Status confirm(ClientId id, uint64_t sequence);  // kInvalid: not open, or out of date
  // `left_to_others`: cores beside the budget's that are busy with what has no lease. They are
  // there all the same for who is pinned or paused.
  base::Status set_budget(perfmodel::Budget budget, int left_to_others = 0);
  // What its share comes to beside the others', where that is not the share itself. With the event
  // that changed it.
  base::Status set_weight(ClientId id, double weight);
  // Whoever started it bound it to these cores of the machine, ascending; none: to all.
  base::Status bound(ClientId id, std::vector<int> cores);

  // Words of the user. They bind until they are taken back.
  base::Status share(ClientId id, double weight);
  // Cores of the machine, not processing units. kInvalid: one is not in the budget, or not among
  // those that the client is bound to. kUnavailable: another pin has one of them, or nothing would
  // be left for other clients. `again`: the pin held before, under another table or before a
  // detachment; that it leaves nothing, as it may have done already, is no reason then.
  base::Status pin(ClientId id, std::vector<int> cores, bool again = false);
  base::Status unpin(ClientId id);
  // Its lease stays as it is, whatever the others do: what is its own, it neither lends nor
  // borrows. `with`: that it stays so is an earlier word, and this is the lease; of it counts what
  // is in the budget and what no other such word has.
  base::Status pause(ClientId id, Lease with = {});
  base::Status resume(ClientId id);
  base::Status detach(ClientId id);  // its cores go back when it confirms; then it is forgotten
  // Takes everything from a client without its word. Only for one that cannot run (stopped) and
  // has to ask before it uses a core again; what was sent to it before is void and must not reach
  // it. It is planned for again once it confirms the empty lease that the next decide() sends.
  base::Status revoke(ClientId id);

  // What to send now, those that only give up first. `tick` never goes back.
  std::vector<LeaseChange> decide(uint64_t tick);

  std::vector<LeaseView> view() const;  // by id
  std::optional<LeaseView> view(ClientId id) const;
  const Lease& granted(ClientId id) const;  // LeaseView::granted; empty for one that is not here
  const LeaseCounters& counters() const { return counters_; }
  const perfmodel::Budget& budget() const { return budget_; }
  int left_to_others() const { return left_to_others_; }
  const perfmodel::Machine& machine() const { return machine_; }
  std::size_t clients() const { return clients_.size(); }
  double held_cores() const;  // sum of what all may be using
  int lent_cores() const;     // beyond claims
  // Of the cores that it was granted: those of others. 0 for one that is not here.
  int lent_to(ClientId id) const;
  // The others of them; none where these cannot be told apart.
  std::vector<int> own_cores(ClientId id) const;
  bool is_away(ClientId id) const;
  // What it may be using, until it confirms: core and fraction.
  std::map<int, double> held(ClientId id) const;
  const std::string& cause() const { return cause_; }  // of the plan in force

 private:
  struct Client {
    LeaseDemand demand;
    Lease target;
    std::vector<int> home;
    // While somebody is away: its claim when nobody was; nullopt: it came since.
    std::optional<int> claim_with_all;
    std::vector<int> pin;
    std::vector<int> bound;
    bool paused = false;
    bool detached = false;
    bool dismissed = false;  // detached and told so
    bool late = false;
    bool revoked = false;
    double gain = 0;
    std::string reason;
  };

  LeaseView view_of(ClientId id, const Client& client) const;
  base::Result<Client*> find(ClientId id);
  void mark_late(uint64_t tick);
  std::set<int> home_cores_of_others(ClientId id) const;
  void end_loan(ClientId id, Client& client);
  bool someone_is_away() const;
  void come_back(ClientId id, Client& client);
  PlanClient plan_client(ClientId id, const Client& client) const;
  Lease free_of_words(ClientId id, Lease lease) const;
  void renew();
  void loans_change(std::string cause);
  void request_replan(std::string cause);
  void add_cause(std::string cause);
  void plan();
  Lease next_lease(ClientId id, const Client& client) const;
  void send(ClientId id, Client& client, Lease next, uint64_t tick,
            std::vector<LeaseChange>& changes);
  void break_deadlock(uint64_t tick, std::vector<LeaseChange>& changes);
  std::string cause_for(const Client& client) const;
  std::string reason_for(ClientId id, const Client& client, const Lease& before,
                         const Lease& next) const;

  perfmodel::Machine machine_;
  perfmodel::Budget budget_;
  int left_to_others_ = 0;
  LeaseSettings settings_;
  CoreOwnership ledger_;
  std::map<ClientId, Client> clients_;
  std::vector<std::string> causes_;  // since the last plan
  bool stale_ = false;               // a plan is due
  std::optional<int> claims_of_;     // AllocationProblem::claims_of of that plan
  std::string cause_;                // of the plan in force
  LeaseCounters counters_;
};

}  // namespace optile::sched
