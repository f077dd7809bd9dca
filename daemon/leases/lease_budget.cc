#include "daemon/leases/lease_budget.h"

#include <algorithm>
#include <set>
#include <utility>

#include "sched/leases/core_assignment.h"

namespace optile::daemon {
namespace {

// The first two figures of others' load are taken over this long at least: the kernel counts in
// hundredths of a second. One over more than the longest says little about now.
constexpr std::chrono::milliseconds kShortestFirstLook{300};
constexpr std::chrono::milliseconds kLongestLook{60000};
constexpr std::chrono::milliseconds kForeseen{10000};  // those started together come within this

}  // namespace

LeaseBudget::LeaseBudget(perfmodel::Budget granted, ReadLoad read_load,
                         RestartReservations reservations)
    : granted_(std::move(granted)),
      read_load_(std::move(read_load)),
      reservations_(std::move(reservations)) {}

void LeaseBudget::expect_launch(Time now, int launcher) {
  if (!read_load_) return;
  if (load_ && foreseen_ && now - load_read_ < kForeseen) return;
  load_ = read_load_(launcher > 0 ? std::vector{launcher} : std::vector<int>());
  load_read_ = now;
  foreseen_ = true;
}

void LeaseBudget::note_departure(int pid, bool last) {
  // What it used since the last reading would pass for others', if that does not know it.
  if (load_ && !load_->processes.contains(pid)) {
    load_.reset();
    foreseen_ = false;
  }
  if (last) external_ = {};
}

bool LeaseBudget::refresh_reservations(const ManagedClients& clients, Time now) {
  bool changed = false;
  if (reservations_.due(now)) {
    std::set<int> attached;
    for (const auto& [id, client] : clients) {
      if (client.has_lease()) attached.insert(client.state->pid);
    }
    changed = reservations_.look(attached, now);
  } else {
    for (const int pid : arrived_) changed = reservations_.came(pid) || changed;
  }
  arrived_.clear();
  return changed;
}

void LeaseBudget::refresh(const perfmodel::Budget& granted, const ManagedClients& clients, Time now,
                          bool more_to_come) {
  // Who is still to come keeps cores busy that are its own.
  const bool more = more_to_come || reservations_.keeps_some();
  if (read_load_) follow_load(granted, clients, now, more);
  granted_ = granted;
}

perfmodel::Budget LeaseBudget::to_divide(const perfmodel::Machine& machine) const {
  perfmodel::Budget left = granted_;
  left.cores = std::max(1, granted_.cores - external_.cores());
  if (!reservations_.keeps_some()) return left;
  std::vector<int> units = granted_.units;
  std::erase_if(units, [this](int unit) { return reservations_.units().contains(unit); });
  return sched::within(machine, std::move(left), units);
}

void LeaseBudget::follow_load(const perfmodel::Budget& budget, const ManagedClients& clients,
                              Time now, bool more_to_come) {
  const Time passed = now - load_read_;
  const bool empty = std::none_of(clients.begin(), clients.end(),
                                  [](const auto& one) { return one.second.has_lease(); });
  const bool waits_for_more = more_to_come && !external_.has_figure();
  const bool too_early = passed < (waits_for_more ? kForeseen : kShortestFirstLook);
  if (load_ && !empty && !external_.known() && too_early) return;
  std::vector<int> pids;
  std::set<int> used;
  for (const auto& [id, client] : clients) {
    if (!client.has_lease()) continue;
    pids.push_back(client.state->pid);
    const std::vector<int>& its = client.state->units;
    const std::vector<int>& units = its.empty() ? budget.units : its;
    used.insert(units.begin(), units.end());
  }
  LoadReading reading = read_load_(pids);
  // A launcher that is no client may have become one's parent, which is of the same run.
  if (load_ && std::exchange(foreseen_, false)) {
    std::erase_if(load_->processes, [&](const auto& one) {
      const bool is_client = reading.processes.contains(one.first);
      if (!is_client) load_->relatives.insert(one);
      return !is_client;
    });
  }
  if (load_ && !empty && passed <= kLongestLook) {
    if (const auto load = external_load_between(*load_, reading, budget.units, used)) {
      external_.feed(*load, passed);
    }
  }
  load_ = std::move(reading);
  load_read_ = now;
}

}  // namespace optile::daemon
