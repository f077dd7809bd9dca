// Who has which cores: demands, activity and commands in, changes of leases out. A state machine
// without clock or descriptors, driven by the daemon's loop; one thread. Time is ticks of whatever
// length the caller chooses, passed in. How many cores a demand is worth is the allocation policy's
// (allocation_policy.h); that no core is with two clients is the hand-over's (core_handover.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "perfmodel/machine/budget.h"
#include "perfmodel/machine/machine.h"
#include "sched/leases/allocation_policy.h"
#include "sched/leases/core_handover.h"
#include "sched/leases/lease_command.h"
#include "sched/leases/lease_record.h"
#include "sched/leases/lease_view.h"
#include "sched/leases/progress_policy.h"

namespace optile::sched {

inline constexpr std::size_t kMostLeases = 4096;  // clients; arrivals beyond are refused
inline constexpr std::size_t kMostCauses = 3;     // in the reason of one change

struct LeaseSettings {
  std::shared_ptr<const AllocationPolicy> policy = std::make_shared<ProgressPolicy>();  // no null
  uint64_t confirm_ticks = 50;  // longer unconfirmed: late
};

enum class Activity {
  kWorks,
  kWaits,  // can use nothing now: its cores are lent
  // It has waited for so long that the others are planned for as if it were not here. When it wakes
  // it is the first to get cores, those that it had, and as things were before if nobody came
  // since. Nothing changes for one that works, or is paused: it keeps its lease.
  kAway,
};

// What is new about a client; the rest stays.
struct LeaseUpdate {
  struct Curve {
    std::vector<double> progress;  // LeaseDemand's, as are the others
    int floor = 1;
    int most = kNoLimit;
  };
  std::optional<Curve> curve = {};
  std::optional<Borrowing> borrows = {};
  // What its share comes to beside the others', where that is not the share itself. With the event
  // that changed it.
  std::optional<double> weight = {};
  // Whoever started it bound it to these cores of the machine, ascending; none: to all.
  std::optional<std::vector<int>> bound = {};
  std::optional<Activity> activity = {};
};

class LeaseTable {
 public:
  LeaseTable(perfmodel::Machine machine, perfmodel::Budget budget,
             const LeaseSettings& settings = {});

  // Events. They take effect with the next decide(). kNotFound: no such client.
  base::Status arrive(ClientId id, double weight, Priority priority);
  // Gone for sure: its cores are free at once. `how`: for the reasons of others.
  base::Status leave(ClientId id, const std::string& how = "left");
  // kInvalid: the weight is not possible; then nothing is changed.
  base::Status update(ClientId id, LeaseUpdate update);
  base::Status apply(const LeaseCommand& command);       // see there
  base::Status confirm(ClientId id, uint64_t sequence);  // kInvalid: not open, or out of date
  // Whether that is another one. `left_to_others`: LeaseResources's.
  bool set_budget(perfmodel::Budget budget, int left_to_others = 0);

  // What to send now, those that only give up first. `tick` never goes back.
  std::vector<LeaseChange> decide(uint64_t tick);

  std::vector<LeaseView> view() const;  // by id
  std::optional<LeaseView> view(ClientId id) const;
  LeaseSummary summary() const;
  std::size_t client_count() const { return clients_.size(); }
  // Of the cores that it was granted, those that are not lent; none where these cannot be told
  // apart.
  std::vector<int> own_cores(ClientId id) const;
  const LeaseResources& resources() const { return resources_; }
  const CoreOwnership& ownership() const { return handover_.ownership(); }

 private:
  base::Result<LeaseRecord*> find(ClientId id);
  void set_activity(ClientId id, LeaseRecord& record, Activity activity);
  // A plan is due. Without renewal only who waits has changed: claims stay.
  void request_replan(std::string cause, bool renews = true);
  void plan();

  LeaseResources resources_;
  std::shared_ptr<const AllocationPolicy> policy_;
  CoreHandover handover_;
  LeaseRecords clients_;
  std::vector<std::string> causes_;  // since the last plan
  bool stale_ = false;               // a plan is due
  std::optional<int> claims_of_;     // AllocationProblem::claims_of of that plan
  std::string cause_;                // of the plan in force
  LeaseCounters counters_;           // of plans
};

}  // namespace optile::sched
