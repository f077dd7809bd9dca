// Leases of the attached clients: what their sessions know becomes demands, what the lease table
// decides becomes masks of threads. Owned by the controller; the daemon's one thread.
//
// Masks are set at once and from outside, so a lease is confirmed as soon as they are: whatever the
// client runs then runs within it. Its widths follow with its next plan page.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "daemon/leases/lease_weights.h"
#include "daemon/leases/leased_client.h"
#include "daemon/leases/lending_trials.h"
#include "daemon/leases/rebalance_backoff.h"
#include "daemon/load/external_load.h"
#include "daemon/process/restart_reservations.h"
#include "perfmodel/machine/budget.h"
#include "perfmodel/machine/machine.h"
#include "sched/leases/lease_table.h"

namespace optile::daemon {

class Leases {
 public:
  struct Dependencies {
    // Confines all threads of a client's process to these processing units (os indices); none: they
    // get back what they had. To be repeated now and then.
    std::function<void(uint64_t client, int pid, const std::vector<int>& units)> confine;
    // Busy time so far, of all units and of these processes. Without it nobody else takes cores.
    std::function<LoadReading(const std::vector<int>& pids)> read_load = {};
    bool by_user = false;  // of lease_weights()
    // Whose cores are kept for them for a while from `began` on.
    RestartReservations::Read held_before = {};
    std::chrono::milliseconds began{0};
  };
  Leases(const perfmodel::Machine& machine, const perfmodel::Budget& budget,
         Dependencies dependencies);

  // `cores`: that it could use if it were alone.
  void arrive(uint64_t client, int pid, int cores, double share = 1.0,
              sched::Priority priority = sched::Priority::kNormal);
  // Who it belongs to, and to which cores of the machine whoever started it bound it (none: not at
  // all). Right after its arrival.
  void set_owner(uint64_t client, unsigned uid, const std::string& job,
                 const std::vector<int>& bound_to);
  // What it may use of the machine has changed since.
  void bind(uint64_t client, const std::vector<int>& bound_to);
  // Gone, or going for sure; or it has no lease for another reason (`how`).
  void leave(uint64_t client, const std::string& how = "left");
  bool has(uint64_t client) const { return clients_.contains(client); }
  // A program is about to come where nobody is: what keeps cores busy from now on is others' load.
  // `launcher`: a process that becomes the program or starts it; 0: not known.
  void expect_launch(std::chrono::milliseconds now, int launcher);
  // About once a second: what the kernel grants, of which the cores that others keep busy are left
  // to them. `now`: as in decide(). `more_to_come`: programs that are about to attach are busy too,
  // so where nothing is known yet of others' load it is looked for later, within ten seconds:
  // who only says that it will come does not hold it up for good.
  void set_budget(const perfmodel::Budget& budget, std::chrono::milliseconds now,
                  bool more_to_come = false);
  // Somebody has arrived: who comes back is no longer waited for. `now` as in decide().
  void on_reattach(std::chrono::milliseconds now);
  // Whether others' load was told from the clients' own since somebody came.
  bool knows_load() const { return external_.known(); }
  // The part of all cores that a newcomer would have by weight; `expected`: shares of others of its
  // user that are about to come.
  double part_of(const LeaseParty& newcomer, double expected) const;
  bool empty() const { return clients_.empty(); }
  std::size_t size() const { return clients_.size(); }
  // By the kernel, with what is left to others' load or kept for those who come back.
  const perfmodel::Budget& as_granted() const { return budget_; }
  int left_to_others() const { return external_.cores(); }

  // `predicted`: seconds of a step with 1, 2, … cores; `measured`: of its steps now, 0 = none yet.
  // A measured step counts for more than a predicted one from then on. `settled`: its session is
  // not searching, so that its cores may be changed without losing what it has begun.
  void demand(uint64_t client, const std::vector<double>& predicted, double measured, bool settled);

  // ClientCurve's, for one that has a lease. recall() right after its arrival.
  void recall(uint64_t client, EarlierCurve curve);
  void set_current_step(uint64_t client, uint32_t step_number, const CurveSubject& about = {});
  std::optional<EarlierCurve> learned(uint64_t client, int64_t when) const;

  // Whether it has something to do for more cores than its own: where it is the only one that works
  // it is lent what there is, since a curve that was measured beside others may be wrong.
  void set_wants_more(uint64_t client, bool whether);

  // So many whole steps it has made on the cores that it has. Who has come beside others is given
  // cores as soon as something is known of it, and again once it has been seen on those: searches
  // that this ends are about cores that are lost anyway. True while either is to come.
  bool seen(uint64_t client, std::size_t steps);

  // It can use no core for now, and can again. Meanwhile its cores are lent; its masks stay.
  void wait(uint64_t client);
  void wake(uint64_t client);
  // It has waited for long: until it wakes the others divide what there is as if it were not here.
  // Whether that is news.
  bool away(uint64_t client);
  // Whether that is tried for a while, and what came out.
  LendingTrials& lending() { return lending_; }
  const LendingTrials& lending() const { return lending_; }

  // A word of the user, by LeaseTable's rules and with its errors; the next decide() follows it.
  base::Status apply(const sched::LeaseCommand& command);

  using Granted = GrantedLease;
  // What changed since the last call. `now`: since whenever, never going back.
  std::vector<Granted> decide(std::chrono::milliseconds now);
  // Throughput with 1, 2, … cores over that alone at its own best; empty: unknown.
  std::vector<double> curve(uint64_t client) const;
  // Of one client, about once a second: threads that appeared since, or that came back from a bound
  // region to the mask of a lease before. Also of one that was detached.
  void confine_again(uint64_t client, int pid);

  // Throughput over that alone at its own best, with the cores that it has (with one, in turns):
  // measured where both are, else from its curve. nullopt while nothing is known of it.
  struct Progress {
    double value = 0;
    bool measured = false;
  };
  std::optional<Progress> progress(uint64_t client) const;

  std::vector<sched::LeaseView> view() const;
  const sched::LeaseTable& table() const { return table_; }
  // What the user said of a client that has a lease; its weight follows from that.
  LeaseParty party(uint64_t client) const;

 private:
  using Client = LeasedClient;
  using Terms = LeaseTerms;
  std::map<uint64_t, LeaseWeight> weights() const;
  void weigh_if_due();
  bool set_activity(uint64_t client, sched::Activity activity);
  void carry_out(std::chrono::milliseconds now, std::vector<Granted>& granted);
  void apply(const sched::LeaseChange& change, std::vector<Granted>& granted);
  Terms terms_of(uint64_t client, const sched::Lease& lease, bool last) const;
  sched::Lease in_force(uint64_t client, const sched::Lease& lease) const;
  std::vector<int> own_units(uint64_t client, const Terms& terms) const;
  bool differs(uint64_t client, const Terms& terms) const;
  Granted take(uint64_t client, const Terms& terms);
  void tell_whose_cores(std::vector<Granted>& granted);
  static void keep_the_last(std::vector<Granted>& granted);
  void tell_curves(std::chrono::milliseconds now, bool divides);
  void tell_of_newcomer(uint64_t id, Client& client, int part, std::chrono::milliseconds now);
  bool someone_searches() const;
  void follow_load(const perfmodel::Budget& budget, std::chrono::milliseconds now,
                   bool more_to_come);
  void cut_budget();
  bool needs_no_mask(uint64_t client, const sched::Lease& lease, bool last) const;

  sched::LeaseTable table_;
  Dependencies dependencies_;
  std::map<uint64_t, Client> clients_;
  perfmodel::Budget budget_;  // as the kernel grants it
  RestartReservations reservations_;
  std::vector<int> arrived_;  // pids, since it was last told
  bool weights_due_ = false;  // once for all who come or go together
  RebalanceBackoff pace_;
  uint64_t moves_ = 0;  // leases that became wider or narrower
  std::optional<LoadReading> load_;
  std::chrono::milliseconds load_read_{0};
  bool foreseen_ = false;  // so was load_
  ExternalCores external_;
  LendingTrials lending_;
};

}  // namespace optile::daemon
