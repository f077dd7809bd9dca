// What of the kernel's budget there is to divide: without the cores that others keep busy, and
// those that are kept for programs that come back after a restart. Owned by the leases; the
// daemon's one thread. `now`: since whenever, never going back.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <vector>

#include "daemon/leases/managed_client.h"
#include "daemon/load/external_load.h"
#include "daemon/process/restart_reservations.h"
#include "perfmodel/machine/budget.h"
#include "perfmodel/machine/machine.h"

namespace optile::daemon {

class LeaseBudget {
 public:
  using Time = std::chrono::milliseconds;
  // Busy time so far, of all units and of these processes. Without it nobody else takes cores.
  using ReadLoad = std::function<LoadReading(const std::vector<int>& pids)>;
  LeaseBudget(perfmodel::Budget granted, ReadLoad read_load, RestartReservations reservations);

  // A program is about to come where nobody is: what keeps cores busy from now on is others' load.
  // `launcher`: a process that becomes the program or starts it; 0: not known.
  void expect_launch(Time now, int launcher);
  void note_arrival(int pid) { arrived_.push_back(pid); }
  // `last`: nobody else is here; who comes next comes into another world.
  void note_departure(int pid, bool last);
  // Who comes back is no longer waited for. Whether what is kept has changed.
  bool refresh_reservations(const ManagedClients& clients, Time now);
  // Leases::set_budget().
  void refresh(const perfmodel::Budget& granted, const ManagedClients& clients, Time now,
               bool more_to_come);

  // By the kernel, with what is left to others' load or kept for those who come back.
  const perfmodel::Budget& as_granted() const { return granted_; }
  perfmodel::Budget to_divide(const perfmodel::Machine& machine) const;
  int left_to_others() const { return external_.cores(); }
  // Whether others' load was told from the clients' own since somebody came.
  bool knows_load() const { return external_.known(); }
  bool awaits_somebody() const { return reservations_.keeps_some(); }

 private:
  void follow_load(const perfmodel::Budget& budget, const ManagedClients& clients, Time now,
                   bool more_to_come);

  perfmodel::Budget granted_;
  ReadLoad read_load_;
  RestartReservations reservations_;
  std::vector<int> arrived_;  // pids, since it was last told
  std::optional<LoadReading> load_;
  Time load_read_{0};
  bool foreseen_ = false;  // so was load_
  ExternalCores external_;
};

}  // namespace optile::daemon
