// Leases of the attached clients: what is known of them becomes demands, what the lease table
// decides becomes masks of threads. Owned by the lease manager, on whose records it works; the
// daemon's one thread.
//
// Masks are set at once and from outside, so a lease is confirmed as soon as they are: whatever the
// client runs then runs within it. Its widths follow with its next plan page.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "daemon/leases/lease_budget.h"
#include "daemon/leases/lease_masks.h"
#include "daemon/leases/lease_weights.h"
#include "daemon/leases/lending_trials.h"
#include "daemon/leases/managed_client.h"
#include "daemon/leases/rebalance_backoff.h"
#include "perfmodel/machine/budget.h"
#include "perfmodel/machine/machine.h"
#include "sched/leases/lease_table.h"

namespace optile::daemon {

// What is new about a client; the rest stays.
struct ClientFacts {
  struct Demand {
    std::vector<double> predicted;  // seconds of a step with 1, 2, … cores
    // Of its steps now, 0 = none yet: counts for more than a predicted one from then on.
    double measured = 0;
    // Its session is not searching, so that its cores may be changed without losing what it has
    // begun.
    bool settled = false;
  };
  struct Step {  // ClientCurve::set_current_step()
    uint32_t number = 0;
    CurveSubject about = {};
  };
  struct Owner {
    unsigned uid = 0;
    std::string job;
  };
  std::optional<Owner> owner = {};  // right after its arrival
  // To which cores of the machine whoever started it bound it, or what it may use of them has
  // changed since; none: not at all.
  std::optional<std::vector<int>> bound_to = {};
  std::optional<Step> step = {};
  std::optional<Demand> demand = {};
  std::optional<EarlierCurve> earlier = {};  // ClientCurve::recall(), like owner
  // Whether it has something to do for more cores than its own: where it is the only one that works
  // it is lent what there is, since a curve that was measured beside others may be wrong.
  std::optional<bool> wants_more = {};
  // So many whole steps it has made on the cores that it has. Who has come beside others is given
  // cores as soon as something is known of it, and again once it has been seen on those: searches
  // that this ends are about cores that are lost anyway.
  std::optional<std::size_t> steps_here = {};
};

class Leases {
 public:
  struct Dependencies {
    // Confines all threads of a client's process to these processing units (os indices); none: they
    // get back what they had. To be repeated now and then.
    LeaseMasks::Confine confine;
    LeaseBudget::ReadLoad read_load = {};
    bool by_user = false;  // of lease_weights()
    // Whose cores are kept for them for a while from `began` on.
    RestartReservations::Read held_before = {};
    std::chrono::milliseconds began{0};
  };
  // The clients outlive this.
  Leases(const perfmodel::Machine& machine, const perfmodel::Budget& budget,
         ManagedClients& clients, Dependencies dependencies);

  // It has a lease from now on (ManagedClient::state). `cores`: that it could use if it were alone.
  void arrive(uint64_t client, int pid, int cores, double share = 1.0,
              sched::Priority priority = sched::Priority::kNormal);
  // Gone, or going for sure; or it has no lease for another reason (`how`).
  void leave(uint64_t client, const std::string& how = "left");
  void update(uint64_t client, ClientFacts facts);  // nothing, of one that has no lease
  // Whether that is news. While it waits its cores are lent; its masks stay.
  bool set_activity(uint64_t client, sched::Activity activity);
  // A command of the user, by LeaseTable's rules and with its errors; the next decide() follows it.
  base::Status apply(const sched::LeaseCommand& command);
  // About once a second: what the kernel grants, of which the cores that others keep busy are left
  // to them. `now`: as in decide(). `more_to_come`: programs that are about to attach are busy too,
  // so where nothing is known yet of others' load it is looked for later, within ten seconds:
  // who only says that it will come does not hold it up for good.
  void set_budget(const perfmodel::Budget& budget, std::chrono::milliseconds now,
                  bool more_to_come = false);
  // Somebody has arrived: who comes back is no longer waited for. `now` as in decide().
  void on_reattach(std::chrono::milliseconds now);

  // What changed since the last call. `now`: since whenever, never going back.
  std::vector<GrantedLease> decide(std::chrono::milliseconds now);
  // Of one client, about once a second: threads that appeared since, or that came back from a bound
  // region to the mask of a lease before. Also of one that was detached.
  void confine_again(uint64_t client, int pid) const { masks_.repeat(client, pid); }

  std::vector<sched::LeaseView> view() const;
  const sched::LeaseTable& table() const { return table_; }
  const ManagedClients& clients() const { return clients_; }
  LeaseBudget& budget() { return budget_; }
  const LeaseBudget& budget() const { return budget_; }
  // Whether what is lent brings something is tried for a while, and what came out.
  LendingTrials& lending() { return lending_; }
  const LendingTrials& lending() const { return lending_; }

 private:
  void weigh_if_due();
  void cut_budget();
  void end_lease(uint64_t id, ManagedClient& client);
  void carry_out(std::chrono::milliseconds now, std::vector<GrantedLease>& granted);

  sched::LeaseTable table_;
  bool by_user_;
  ManagedClients& clients_;
  LeaseBudget budget_;
  LeaseMasks masks_;
  bool weights_due_ = false;  // once for all who come or go together
  RebalanceBackoff pace_;
  LendingTrials lending_;
};

}  // namespace optile::daemon
