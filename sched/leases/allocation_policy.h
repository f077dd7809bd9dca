// How many cores each client gets, from measured curves: the interface of policies.
// Called by the lease plan whenever demands, clients or the budget change. Pure, same answer for
// the same problem in any order; any thread. Its cost is counted in `operations`, not in time.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "sched/leases/lease.h"

namespace optile::sched {

inline constexpr int kMostCores = 4096;  // of a curve; what lies beyond counts as flat
inline constexpr int kNoLimit = std::numeric_limits<int>::max();

// Cores of others that wait: what the curve gains from, or, where nobody else works, all of them.
enum class Borrowing { kNothing, kByCurve, kAll };

struct LeaseDemand {
  ClientId id = 0;
  double weight = 1.0;  // the user's share; anything but a positive number counts as 1
  Priority priority = Priority::kNormal;
  // Element n-1: throughput with n cores over the client's throughput alone at its own best. Counts
  // as its running maximum: nobody has to use all cores of a lease. Empty: not measured yet; such a
  // client gets its floor and an even part of what nobody is known to gain from.
  std::vector<double> progress;
  int floor = 1;  // cores it is owed while there are enough for everybody's floor
  int most = kNoLimit;
  bool idle = false;  // waits and can use nothing now: keeps its claim, its cores may be lent
  bool away = false;  // idle, and for so long that it has no claim: as if it were not here
  Borrowing borrows = Borrowing::kByCurve;
  int claimed = 0;  // LeaseShare::claim of the last allocation; 0 for a newcomer
  int used = 0;     // LeaseShare::cores of the last allocation
};

struct AllocationProblem {
  int cores = 0;
  std::vector<LeaseDemand> demands;  // ids differ
  // These claims were made of so many cores, and since then only who waits has changed: where they
  // can, they stay. nullopt: otherwise.
  std::optional<int> claims_of;
};

struct LeaseShare {
  ClientId id = 0;
  int claim = 0;          // cores it is owed, whether it waits or not
  int cores = 0;          // to use now: the claim, plus what is lent to it, less what it lends
  double fraction = 1.0;  // in turns: part of one core (cores is 0 then); else 1
};

struct Allocation {
  std::vector<LeaseShare> shares;  // by id
  bool turns = false;              // clients outnumber cores and share them in turns
  bool kept = false;               // nothing changed: no other division gains enough
  bool exact = true;
  double worth = 0;  // sum of weight × progress with `cores`
  double gain = 0;   // of that over `used`
  uint64_t operations = 0;
};

// Of an answer: the sum of cores (or of fractions) never exceeds the problem's; while clients do
// not outnumber cores everybody who does not wait gets one at least; those that are away get none.
class AllocationPolicy {
 public:
  virtual ~AllocationPolicy() = default;
  virtual Allocation allocate(const AllocationProblem& problem) const = 0;
  // What its part of the time is to be where clients outnumber cores, beside those of others.
  virtual double turn_weight(const LeaseDemand& demand) const = 0;
};

}  // namespace optile::sched
