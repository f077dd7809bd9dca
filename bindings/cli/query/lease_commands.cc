#include "bindings/cli/query/lease_commands.h"

#include <cstdio>
#include <cstdlib>

#include "bindings/abi/api_fields.h"

namespace optile::cli {
namespace {

constexpr std::size_t kCellBytes = 160;  // of one formatted row, without its texts

const char* word_of(Verb verb) {
  switch (verb) {
    case Verb::kShare:
      return field::kShare;
    case Verb::kPin:
      return field::kPin;
    case Verb::kUnpin:
      return field::kUnpin;
    case Verb::kPause:
      return field::kPause;
    case Verb::kResume:
      return field::kResume;
    case Verb::kDetach:
      return field::kDetach;
    case Verb::kAttach:
      return field::kAttach;
    default:
      return nullptr;
  }
}

std::string cores_text(const Json& lease) {
  const double fraction = number_of(lease, field::kFraction);
  std::string cores = core_ranges(list_of(lease, field::kCores));
  if (fraction >= 1 || cores == "-") return cores;
  char part[32];
  std::snprintf(part, sizeof part, "%.2f of ", fraction);
  return part + cores;
}

std::string state_of(const Json& lease) {
  std::string state;
  for (const char* word :
       {field::kPinned, field::kPaused, field::kBound, field::kIdle, field::kAway, field::kLate}) {
    if (!lease.value(word, false)) continue;
    state += (state.empty() ? "" : ",") + std::string(word);
  }
  if (number_of(lease, field::kBorrowed) > 0) state += state.empty() ? "borrows" : ",borrows";
  if (!text_of(lease, field::kTeam).empty()) state += state.empty() ? "wide" : ",wide";
  return state.empty() ? "-" : state;
}

std::string pending_text(const Json& lease) {
  std::string text;
  for (const Json& command : list_of(lease, field::kPending)) {
    if (command.is_string()) text += "; pending: " + command.get<std::string>();
  }
  return text;
}

std::string row(const Json& lease) {
  char cells[kCellBytes];
  std::snprintf(cells, sizeof cells, "%6.6s  %-12s  %6.4g  %-8.8s  %-14s  ",
                text_of(lease, field::kId).c_str(), cores_text(lease).c_str(),
                number_of(lease, field::kShare), text_of(lease, field::kPriority).c_str(),
                state_of(lease).c_str());
  const std::string team = text_of(lease, field::kTeam);
  return cells + text_of(lease, field::kProgram) + ": " + text_of(lease, field::kReason) +
         (team.empty() ? "" : "; " + team) + pending_text(lease) + "\n";
}

std::string unleased_row(const Json& client) {
  return "client " + text_of(client, field::kId) + "  pid " + text_of(client, field::kPid) + "  " +
         text_of(client, field::kProgram) + ": no lease, it runs where the kernel puts it" +
         (text_of(client, field::kReason).empty() ? ""
                                                  : " (" + text_of(client, field::kReason) + ")") +
         "\n";
}

}  // namespace

bool changes_a_lease(Verb verb) {
  return word_of(verb) != nullptr;
}

Json lease_request(const Options& options) {
  Json body = {{field::kClient, std::strtoull(options.query.client.c_str(), nullptr, 10)}};
  const char* word = word_of(options.verb);
  if (options.verb == Verb::kShare) {
    body[word] = std::strtod(options.query.share.c_str(), nullptr);
  } else if (options.verb == Verb::kPin) {
    body[word] = options.query.cores;
  } else {
    body[word] = true;
  }
  return body;
}

std::string core_ranges(const Json& cores) {
  std::string text;
  for (std::size_t i = 0; i < cores.size();) {
    if (!cores[i].is_number_integer()) return "-";
    const auto first = cores[i].get<int64_t>();
    int64_t last = first;
    while (++i < cores.size() && cores[i].is_number_integer() && cores[i] == last + 1) ++last;
    text += (text.empty() ? "" : ",") + std::to_string(first);
    if (last > first) text += "-" + std::to_string(last);
  }
  return text.empty() ? "-" : text;
}

std::string lease_table(const Json& answer) {
  const Json budget = answer.value(field::kBudget, Json::object());
  char head[kCellBytes];
  std::snprintf(head, sizeof head,
                "budget  %.0f cores; %.4g held by leases, %.0f lent, %.0f left to "
                "others\n",
                number_of(budget, field::kCores), number_of(answer, field::kHeldCores),
                number_of(answer, field::kLentCores), number_of(answer, field::kLeftToOthers));
  std::string text = head;
  const Json clients = list_of(answer, field::kClients);
  if (clients.empty()) text += "no leases: no program is attached that may be changed\n";
  if (!clients.empty()) {
    std::snprintf(head, sizeof head, "%6s  %-12s  %6s  %-8s  %-14s  %s\n", "client", "cores",
                  "share", "priority", "state", "program: why");
    text += head;
  }
  for (const Json& lease : clients) text += row(lease);
  for (const Json& client : list_of(answer, field::kUnleased)) text += unleased_row(client);
  return text;
}

std::string lease_line(const Json& answer, uint64_t client) {
  for (const Json& lease : list_of(answer, field::kClients)) {
    if (lease.value(field::kId, uint64_t{0}) != client) continue;
    const std::string state = state_of(lease);
    char share[32];
    std::snprintf(share, sizeof share, "%.4g", number_of(lease, field::kShare));
    return "client " + std::to_string(client) + "  " + text_of(lease, field::kProgram) +
           ": cores " + cores_text(lease) + ", share " + share +
           (state == "-" ? "" : ", " + state) + pending_text(lease) + "\n";
  }
  for (const Json& one : list_of(answer, field::kUnleased)) {
    if (one.value(field::kId, uint64_t{0}) == client) return unleased_row(one);
  }
  return "";
}

}  // namespace optile::cli
