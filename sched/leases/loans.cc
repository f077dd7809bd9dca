#include "sched/leases/loans.h"

#include <algorithm>
#include <cstddef>

namespace optile::sched {
namespace {

bool someone_is_away(const LeaseRecords& records) {
  return std::any_of(records.begin(), records.end(),
                     [](const auto& one) { return one.second.demand.away; });
}

}  // namespace

std::set<int> home_cores_of_others(const LeaseRecords& records, ClientId id) {
  std::set<int> homes;
  for (const auto& [other, one] : records) {
    const bool lends = one.demand.idle && !one.demand.away;
    if (other != id && lends) homes.insert(one.home.begin(), one.home.end());
  }
  return homes;
}

void begin_loan(LeaseRecords& records, ClientId id) {
  LeaseRecord& record = records.at(id);
  record.demand.idle = true;
  // What it borrowed from others that wait goes back to them and not to it.
  const std::set<int> of_others = home_cores_of_others(records, id);
  record.home.clear();
  if (record.target.fraction < 1.0) return;
  for (int core : record.target.cores) {
    if (!of_others.contains(core)) record.home.push_back(core);
  }
}

void end_loan(LeaseRecords& records, ClientId id) {
  LeaseRecord& record = records.at(id);
  const LeaseDemand& demand = record.demand;
  if (demand.claimed <= 0 || record.target.fraction < 1.0) return;
  std::vector<int>& cores = record.target.cores;
  if (demand.idle) cores = record.home;
  const std::set<int> of_others = home_cores_of_others(records, id);
  std::stable_partition(cores.begin(), cores.end(),
                        [&](int core) { return !of_others.contains(core); });
  const auto own = static_cast<std::size_t>(demand.claimed);
  if (cores.size() > own) cores.resize(own);
  std::sort(cores.begin(), cores.end());
}

void go_away(LeaseRecords& records, ClientId id) {
  if (!someone_is_away(records)) {
    for (auto& [other, one] : records) one.claim_with_all = one.demand.claimed;
  }
  records.at(id).demand.away = true;
}

void come_back(LeaseRecords& records, ClientId id) {
  LeaseRecord& record = records.at(id);
  record.demand.away = false;
  const auto was_here = [](const auto& one) {
    return one.second.demand.away || one.second.claim_with_all.has_value();
  };
  if (std::all_of(records.begin(), records.end(), was_here)) {
    for (auto& [other, one] : records) {
      if (!one.demand.away) one.demand.claimed = one.claim_with_all.value_or(0);
    }
  }
  for (auto& [other, one] : records) {
    if (other == id || !one.demand.idle) continue;
    std::erase_if(one.home, [&record](int core) {
      return std::find(record.home.begin(), record.home.end(), core) != record.home.end();
    });
  }
  if (someone_is_away(records)) return;
  for (auto& [other, one] : records) one.claim_with_all.reset();
}

}  // namespace optile::sched
