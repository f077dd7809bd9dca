#include "daemon/process/restart_reservations.h"

#include <algorithm>

namespace optile::daemon {

bool RestartReservations::due(Time now) const {
  return read_ && (!read_at_ || now >= until_ || now - *read_at_ >= kReadEvery);
}

bool RestartReservations::look(const std::set<int>& attached, Time now) {
  if (!read_) return false;
  const std::set<int> before = std::exchange(kept_, {});
  processes_.clear();
  units_.clear();
  awaited_ = 0;
  read_at_ = now;
  if (now < until_) {
    for (HeldProcess& one : read_()) add(std::move(one));
  }
  for (auto& [pid, process] : processes_) {
    if (attached.contains(pid)) take_back(pid, process);
  }
  end_if_all_are_back();
  return kept_ != before;
}

bool RestartReservations::came(int pid) {
  const auto found = processes_.find(pid);
  if (found == processes_.end() || found->second.back) return false;
  changed_ = false;
  take_back(pid, found->second);
  end_if_all_are_back();
  return changed_;
}

void RestartReservations::add(HeldProcess process) {
  std::vector<int>& its = process.units;
  std::sort(its.begin(), its.end());
  its.erase(std::unique(its.begin(), its.end()), its.end());
  if (its.empty() || processes_.contains(process.pid)) return;
  for (const int number : its) {
    ++units_[number].to_come;
    kept_.insert(number);
  }
  processes_[process.pid].units = std::move(its);
  ++awaited_;
}

void RestartReservations::take_back(int pid, Process& process) {
  process.back = true;
  --awaited_;
  for (const int number : process.units) {
    Unit& unit = units_.at(number);
    if (--unit.to_come == 0) nobody_comes_for(unit);
  }
  for (const int number : process.units) {
    Unit& unit = units_.at(number);
    unit.back.push_back(pid);
    if (unit.to_come == 0) ++process.elsewhere;
  }
  for (const int number : process.units) {
    Unit& unit = units_.at(number);
    if (process.elsewhere == 0) ++unit.claimed;
    refresh(number, unit);
  }
}

// Who is back on it has something of its own then, and lays no claim to the rest.
void RestartReservations::nobody_comes_for(const Unit& unit) {
  for (const int pid : unit.back) {
    Process& process = processes_.at(pid);
    if (process.elsewhere++ > 0) continue;
    for (const int number : process.units) {
      Unit& its = units_.at(number);
      --its.claimed;
      refresh(number, its);
    }
  }
}

void RestartReservations::refresh(int number, const Unit& unit) {
  const bool keep = unit.to_come > 0 && unit.claimed == 0;
  if (keep == kept_.contains(number)) return;
  changed_ = true;
  if (keep) {
    kept_.insert(number);
  } else {
    kept_.erase(number);
  }
}

// Nobody is added to those that an earlier daemon held.
void RestartReservations::end_if_all_are_back() {
  if (awaited_ > 0) return;
  read_ = {};
  processes_.clear();
  units_.clear();
}

}  // namespace optile::daemon
