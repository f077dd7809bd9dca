#include "daemon/leases/lease_commands.h"

#include <algorithm>
#include <cstddef>
#include <optional>

namespace optile::daemon {
namespace {

using Kind = LeaseCommand::Kind;

bool holds_cores(Kind kind) {
  return kind == Kind::kPin || kind == Kind::kPause;
}

// Whether `later`, of the same client, leaves nothing of `earlier` to be kept.
bool replaces(Kind later, Kind earlier) {
  switch (later) {
    case Kind::kUnpin:
      return earlier == Kind::kPin;
    case Kind::kResume:
      return earlier == Kind::kPause;
    case Kind::kDetach:
      return true;
    default:
      return later == earlier;
  }
}

}  // namespace

std::string text_of(const LeaseCommand& command) {
  std::string cores;
  for (const int core : command.cores) cores += " " + std::to_string(core);
  switch (command.kind) {
    case Kind::kShare:
      return "share " + std::to_string(command.share);
    case Kind::kPin:
      return "pinned to cores" + cores;
    case Kind::kUnpin:
      return "not pinned any more";
    case Kind::kPause:
      return "paused";
    case Kind::kResume:
      return "resumed";
    case Kind::kDetach:
      return "detached";
    case Kind::kAttach:
      return "attached again";
  }
  return "";
}

base::Status LeaseCommands::check_part(const Leases& leases, const LeaseCommand& command) const {
  if (!command.bounded || !holds_cores(command.kind)) return {};
  std::size_t cores = command.cores.size();
  const std::optional<sched::LeaseView> view = leases.table().view(command.client);
  if (view && command.kind == Kind::kPause && command.cores.empty()) {
    // What it keeps is its own: of what it was lent nothing, and all that it lends.
    cores = view->idle ? view->lends.size() : view->granted.cores.size();
    if (view->claim > 0) cores = std::min(cores, static_cast<std::size_t>(view->claim));
  }
  return bounds_.check(leases, command.client, cores);
}

base::Status LeaseCommands::give(Leases& leases, const LeaseCommand& command) {
  if (base::Status may = check_part(leases, command); !may.ok()) return may;
  base::Status done = leases.apply(command);
  if (!done.ok()) return done;
  const bool holds = holds_cores(command.kind);
  if (holds && command.bounded) bounds_.note(command.client);
  const std::optional<sched::LeaseView> view = leases.table().view(command.client);
  const bool held = view && (view->pinned || view->paused) && command.kind != Kind::kDetach;
  if (!held || (holds && !command.bounded)) bounds_.forget(command.client);
  return done;
}

void LeaseCommands::keep(const Leases* leases, ManagedClient& one, const LeaseCommand& command) {
  std::erase_if(one.pending, [&command](const PendingCommand& earlier) {
    return replaces(command.kind, earlier.command.kind);
  });
  if (persisted_ == nullptr) return;
  LeaseCommand kept = command;
  if (command.kind == Kind::kPause) {
    const auto view = leases->table().view(command.client);
    const sched::Lease lease = view ? view->target : sched::Lease();
    kept.cores = lease.cores;
    kept.fraction = lease.fraction;
  }
  persisted_->record(one.client->attach_request().pid, kept);
}

std::vector<std::string> LeaseCommands::reapply(ManagedClient& one,
                                                const CarryOut& carry_out) const {
  std::vector<std::string> refused;
  if (persisted_ == nullptr) return refused;
  one.pending.clear();
  for (LeaseCommand& command : persisted_->commands_of(one.client->attach_request().pid)) {
    command.client = one.client->id();
    command.again = true;
    const base::Status done = carry_out(command);
    if (done.ok()) continue;
    refused.push_back(sched::client_name(command.client) + ", from before it attached: " +
                      text_of(command) + "; that cannot be fulfilled: " + done.message());
    one.pending.push_back({command, done.message()});
  }
  return refused;
}

void LeaseCommands::retry(ManagedClients& clients, const CarryOut& carry_out) {
  for (auto& [id, one] : clients) {
    std::erase_if(one.pending, [&carry_out](PendingCommand& pending) {
      const base::Status done = carry_out(pending.command);
      if (!done.ok()) pending.why = done.message();
      return done.ok();
    });
  }
}

std::vector<uint64_t> LeaseCommands::enforce_parts(Leases& leases, ManagedClients& clients) {
  std::vector<uint64_t> beyond = bounds_.beyond(leases);
  for (const uint64_t client : beyond) {
    for (const Kind kind : {Kind::kUnpin, Kind::kResume}) {
      const LeaseCommand command{client, kind, 1.0, {}, false};
      (void)leases.apply(command);
      keep(&leases, clients.at(client), command);
    }
    bounds_.forget(client);
  }
  return beyond;
}

}  // namespace optile::daemon
