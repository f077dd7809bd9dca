#include "sched/leases/user_commands.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <sstream>
#include <utility>

#include "sched/leases/core_assignment.h"
#include "sched/leases/loans.h"

namespace optile::sched {
namespace {

using base::Error;
using base::ErrorKind;
using base::Status;

std::string number(double value) {
  std::ostringstream text;
  text << value;
  return text.str();
}

bool contains(const std::vector<int>& sorted, int core) {
  return std::binary_search(sorted.begin(), sorted.end(), core);
}

Status check_cores(const LeaseRecord& record, const LeaseCommand& pin,
                   const std::vector<int>& cores, const LeaseResources& resources) {
  if (cores.empty()) return Error{ErrorKind::kInvalid, "a pin needs at least one core"};
  const std::vector<int> usable = budget_cores(resources.machine, resources.budget);
  for (int core : cores) {
    if (!contains(usable, core)) {
      return Error{ErrorKind::kInvalid,
                   "core " + std::to_string(core) + " is not in the budget; pin to cores that are"};
    }
  }
  for (int core : cores) {
    if (!record.bound.empty() && !contains(record.bound, core)) {
      return Error{ErrorKind::kInvalid, client_name(pin.client) +
                                            " was started on other cores than core " +
                                            std::to_string(core) + "; pin to cores among those"};
    }
  }
  return {};
}

Status check_other_pins(const LeaseCommand& pin, const std::vector<int>& cores,
                        const LeaseResources& resources, const LeaseRecords& records) {
  std::size_t pinned = cores.size();
  bool others = false;
  for (const auto& [other, one] : records) {
    if (other == pin.client || one.detached) continue;
    others = others || one.pin.empty();
    pinned += one.pin.size();
    for (int core : cores) {
      if (!contains(one.pin, core)) continue;
      return Error{ErrorKind::kUnavailable, "core " + std::to_string(core) + " is pinned to " +
                                                client_name(other) + "; take that back first"};
    }
  }
  // Load of others is no reason to refuse what the user wants.
  const auto most =
      static_cast<std::size_t>(std::max(0, resources.budget.cores + resources.left_to_others));
  if (pin.again || (pinned <= most && !(others && pinned == most))) return {};
  return Error{ErrorKind::kUnavailable,
               others ? "that would leave nothing for other clients; pin to fewer cores"
                      : "the budget grants " + std::to_string(most) +
                            (most == 1 ? " core" : " cores") + " at a time; pin to no more"};
}

Status pin(const LeaseCommand& command, const LeaseResources& resources, LeaseRecords& records) {
  std::vector<int> cores = command.cores;
  std::sort(cores.begin(), cores.end());
  cores.erase(std::unique(cores.begin(), cores.end()), cores.end());
  LeaseRecord& record = records.at(command.client);
  if (Status may = check_cores(record, command, cores, resources); !may.ok()) return may;
  if (Status may = check_other_pins(command, cores, resources, records); !may.ok()) return may;
  record.pin = std::move(cores);
  return {};
}

// Without cores that are not to be had, and those that others are pinned to or paused with.
Lease free_of_commands(ClientId id, Lease lease, const LeaseResources& resources,
                       const LeaseRecords& records) {
  if (!(lease.fraction > 0 && lease.fraction < 1)) lease.fraction = 1;
  const std::vector<int> usable = budget_cores(resources.machine, resources.budget);
  const std::vector<int>& bound = records.at(id).bound;
  const auto held = [&](int core) {
    return std::any_of(records.begin(), records.end(), [&](const auto& other) {
      const LeaseRecord& one = other.second;
      if (other.first == id || one.detached) return false;
      const bool whole = one.target.fraction >= 1 || lease.fraction >= 1;
      return contains(one.pin, core) || (one.paused && whole && contains(one.target.cores, core));
    });
  };
  std::sort(lease.cores.begin(), lease.cores.end());
  std::erase_if(lease.cores, [&](int core) {
    return !contains(usable, core) || held(core) || (!bound.empty() && !contains(bound, core));
  });
  if (lease.fraction < 1 && lease.cores.size() > 1) lease.cores.resize(1);
  return lease;
}

void pause(const LeaseCommand& command, const LeaseResources& resources, LeaseRecords& records) {
  LeaseRecord& record = records.at(command.client);
  if (record.demand.away) come_back(records, command.client);
  if (!record.paused) end_loan(records, command.client);
  record.paused = true;
  Lease lease =
      free_of_commands(command.client, {command.cores, command.fraction}, resources, records);
  if (!lease.empty()) record.target = std::move(lease);
}

}  // namespace

Status check_weight(double weight) {
  if (std::isfinite(weight) && weight >= 1e-3 && weight <= 1e3) return {};
  return Error{ErrorKind::kInvalid,
               "a share of " + number(weight) + " is not between 0.001 and 1000"};
}

base::Result<std::string> carry_out(const LeaseCommand& command, const LeaseResources& resources,
                                    LeaseRecords& records) {
  using Kind = LeaseCommand::Kind;
  const std::string who = client_name(command.client);
  LeaseRecord& record = records.at(command.client);
  switch (command.kind) {
    case Kind::kShare:
      if (Status may = check_weight(command.share); !may.ok()) return may.error();
      record.demand.weight = command.share;
      return "the user set the share of " + who + " to " + number(command.share);
    case Kind::kPin:
      if (Status done = pin(command, resources, records); !done.ok()) return done.error();
      return "the user pinned " + who;
    case Kind::kUnpin:
      record.pin.clear();
      return "the user took back the pin of " + who;
    case Kind::kPause:
      pause(command, resources, records);
      return "the user paused " + who;
    case Kind::kResume:
      record.paused = false;
      return "the user resumed " + who;
    case Kind::kDetach:
      record.detached = true;
      record.target = {};
      return "the user detached " + who;
    case Kind::kAttach:
      break;
  }
  return Error{ErrorKind::kInvalid, who + " is here already"};
}

}  // namespace optile::sched
