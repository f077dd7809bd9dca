#include "daemon/leases/lease_weights.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace optile::daemon {
namespace {

constexpr double kLeastWeight = 1e-3, kMostWeight = 1e3;  // LeaseTable::share

}  // namespace

std::map<uint64_t, LeaseWeight> lease_weights(const std::vector<LeaseParty>& parties,
                                              bool by_user) {
  std::map<std::pair<unsigned, std::string>, int> ranks;
  for (const LeaseParty& one : parties) {
    if (!one.job.empty()) ++ranks[{one.uid, one.job}];
  }
  std::map<uint64_t, LeaseWeight> weights;
  std::map<std::pair<unsigned, sched::Priority>, double> of_user;
  for (const LeaseParty& one : parties) {
    LeaseWeight& made = weights[one.client];
    if (!one.job.empty()) made.ranks = ranks.at({one.uid, one.job});
    made.weight = one.share / made.ranks;
    of_user[{one.uid, one.priority}] += made.weight;
  }
  std::map<sched::Priority, double> of_class;
  for (const LeaseParty& one : parties) {
    double& weight = weights.at(one.client).weight;
    if (by_user) weight /= of_user.at({one.uid, one.priority});
    weight = std::clamp(weight, kLeastWeight, kMostWeight);
    of_class[one.priority] += weight;
  }
  for (const LeaseParty& one : parties) {
    LeaseWeight& made = weights.at(one.client);
    made.part = made.weight / of_class.at(one.priority);
  }
  return weights;
}

}  // namespace optile::daemon
