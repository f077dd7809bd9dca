#include "daemon/api/lease_json.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "bindings/abi/api_fields.h"
#include "daemon/client/oversubscribed_team.h"
#include "sched/leases/core_assignment.h"

namespace optile::daemon {
namespace {

using base::invalid;

using CommandKind = LeaseCommand::Kind;

constexpr std::array<std::pair<const char*, CommandKind>, 7> kCommands = {
    {{field::kShare, CommandKind::kShare},
     {field::kPin, CommandKind::kPin},
     {field::kUnpin, CommandKind::kUnpin},
     {field::kPause, CommandKind::kPause},
     {field::kResume, CommandKind::kResume},
     {field::kDetach, CommandKind::kDetach},
     {field::kAttach, CommandKind::kAttach}}};
constexpr const char* kCoresWanted =
    "pin needs cores, as \"0-3\" or [0, 1]; optile machine lists them";
constexpr const char* kNoSuchCores =
    "there are no such cores; ranges go from the lower to the higher; optile machine lists them";

// The number that `text` begins with, which is then cut off; the largest where it is larger.
std::optional<int> take_number(std::string_view& text) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  if (digits == 0) return std::nullopt;
  int number = std::numeric_limits<int>::max();
  static_cast<void>(std::from_chars(text.data(), text.data() + digits, number));
  text.remove_prefix(digits);
  return number;
}

// "0-3,6". kUnavailable: it is one, of cores that no machine has.
base::Result<std::vector<int>> cores_in(std::string_view text) {
  std::vector<int> cores;
  bool possible = true;
  while (true) {
    const std::optional<int> first = take_number(text);
    if (!first) return invalid(kCoresWanted);
    std::optional<int> last = first;
    if (text.starts_with("-")) {
      text.remove_prefix(1);
      last = take_number(text);
      if (!last) return invalid(kCoresWanted);
    }
    possible = possible && *last >= *first && *last < static_cast<int>(kMaxPinnedCores) &&
               cores.size() <= kMaxPinnedCores;
    for (int core = *first; possible && core <= *last; ++core) cores.push_back(core);
    if (text.empty()) break;
    if (!text.starts_with(",")) return invalid(kCoresWanted);
    text.remove_prefix(1);
  }
  if (possible) return cores;
  return base::Error{base::ErrorKind::kUnavailable, kNoSuchCores};
}

base::Result<std::vector<int>> cores_of(const Json& json) {
  if (json.is_string()) return cores_in(json.get_ref<const std::string&>());
  if (!json.is_array() || json.empty() || json.size() > kMaxPinnedCores) {
    return invalid(kCoresWanted);
  }
  std::vector<int> cores;
  for (const Json& one : json) {
    if (!one.is_number_unsigned() || one.get<uint64_t>() > OPTILE_MAX_CPUS * UINT64_C(64)) {
      return invalid(kCoresWanted);
    }
    cores.push_back(one.get<int>());
  }
  return cores;
}

// In turns it has its fraction of what one core gives.
Json progress_json(const sched::LeaseView& view, const Leases& leases) {
  const std::optional<LeaseProgress> progress = progress_of(leases.clients(), view.id);
  if (!progress || view.granted.empty()) return nullptr;
  const double share = std::min(view.granted.fraction, 1.0);
  return {{field::kValue, progress->value * share},
          {field::kMeasured, progress->measured && share >= 1}};
}

Json recent_json(const LeaseHistory& history) {
  Json recent = Json::array();
  for (const LeaseEvent& event : history.newest_first()) {
    recent.push_back({{field::kAt, iso_time(event.when)},
                      {field::kClient, event.client},
                      {field::kText, event.text}});
  }
  return recent;
}

Json lease_json(const sched::LeaseView& view, const Controller& controller) {
  const auto units = [&](const std::vector<int>& cores) {
    return sched::units_of(controller.machine(),
                           controller.lease_manager().leases()->table().resources().budget, cores);
  };
  return {{field::kCores, view.granted.cores},
          {field::kUnits, units(view.granted.cores)},
          {field::kFraction, view.granted.empty() ? 0.0 : view.granted.fraction},
          {field::kBorrowed, view.borrowed},
          {field::kLends, view.lends},
          {field::kProgress, progress_json(view, *controller.lease_manager().leases())},
          {field::kShare,
           controller.lease_manager().leases()->clients().at(view.id).state->party.share},
          {field::kWeight, view.weight},
          {field::kPriority, view.priority == sched::Priority::kBatch ? "batch" : "normal"},
          {field::kIdle, view.idle},
          {field::kAway, view.away},
          {field::kPaused, view.paused},
          {field::kPinned, view.pinned},
          {field::kLate, view.late},
          {field::kBound, view.bound},
          {field::kPending, controller.lease_manager().status(view.id).pending},
          {field::kReason, view.reason}};
}

// Why an attached client has no lease, as half a sentence; in the order of what weighs most.
std::string no_lease_reason(const ClientView& client, const Controller& controller) {
  if (!client.attach_request.unseen.empty()) {
    return client.attach_request.unseen +
           ": its widths are tuned, its threads cannot be held to cores, and "
           "it counts as load of others";
  }
  if (client.attach_request.whole_program) {
    return "a whole program that was alone when it made its pools, or did not ask for its mask "
           "before: what it keeps busy is left to it";
  }
  if (!may_have_lease(client.attach_request)) return "it is only watched";
  const std::string shares_time = controller.lease_manager().status(client.id).shares_time;
  if (!shares_time.empty()) return "it shares the cores by time: " + shares_time;
  return controller.lease_manager().status(client.id).detached
             ? "it was detached; optile attach takes that back"
             : "it is bound to other cores than the daemon has";
}

Json named(const ClientView& client, bool may_be_seen) {
  if (!may_be_seen) {
    return {{field::kId, client.id},
            {field::kPid, nullptr},
            {field::kProgram, "another user's program"}};
  }
  return {{field::kId, client.id},
          {field::kPid, client.attach_request.pid},
          {field::kProgram, client.attach_request.program}};
}

}  // namespace

Json leases_json(const Controller& controller,
                 const std::function<bool(const ClientView& client)>& may_see) {
  const Leases* leases = controller.lease_manager().leases();
  const std::vector<sched::LeaseView> views =
      leases == nullptr ? std::vector<sched::LeaseView>() : leases->view();
  Json clients = Json::array();
  Json unleased = Json::array();
  for (const ClientView& client : controller.attached(tuner::Detail::kFigures)) {
    Json one = named(client, !may_see || may_see(client));
    const auto view = std::find_if(views.begin(), views.end(), [&](const sched::LeaseView& each) {
      return each.id == client.id;
    });
    if (view == views.end()) {
      one[field::kMode] = mode_name(client.attach_request.mode);
      one[field::kDetached] = controller.lease_manager().status(client.id).detached;
      one[field::kReason] = no_lease_reason(client, controller);
      unleased.push_back(std::move(one));
      continue;
    }
    one.update(lease_json(*view, controller));
    const auto held = static_cast<double>(view->granted.cores.size()) * view->granted.fraction;
    one[field::kTeam] = text_or_null(oversubscribed_team_text(client, held));
    clients.push_back(std::move(one));
  }
  return {{field::kBudget, budget_json(controller.lease_manager().budget())},
          {field::kHeldCores, leases == nullptr ? 0.0 : leases->table().summary().held_cores},
          {field::kLentCores, leases == nullptr ? 0 : leases->table().summary().lent_cores},
          {field::kLeftToOthers, leases == nullptr ? 0 : leases->budget().left_to_others()},
          {field::kCause, leases == nullptr ? "" : leases->table().summary().cause},
          {field::kRecent, recent_json(controller.lease_manager().history())},
          {field::kClients, std::move(clients)},
          {field::kUnleased, std::move(unleased)}};
}

base::Result<LeaseCommand> parse_lease_command(const Json& body) {
  const auto client = body.find(field::kClient);
  if (client == body.end()) return invalid("client is missing; see optile leases");
  LeaseCommand command;
  command.client = client->get<uint64_t>();
  const Json* argument = nullptr;
  for (const auto& [name, kind] : kCommands) {
    const auto found = body.find(name);
    if (found == body.end()) continue;
    if (argument != nullptr) return invalid("one command at a time: share, pin, unpin, pause, …");
    argument = &*found;
    command.kind = kind;
  }
  if (argument == nullptr) {
    return invalid("name one of share, pin, unpin, pause, resume, detach and attach of the client");
  }
  if (command.kind == CommandKind::kShare) command.share = argument->get<double>();
  if (command.kind == CommandKind::kPin) {
    base::Result<std::vector<int>> cores = cores_of(*argument);
    if (!cores.ok()) return cores.error();
    command.cores = std::move(cores).value();
  }
  return command;
}

}  // namespace optile::daemon
