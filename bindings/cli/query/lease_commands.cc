#include "bindings/cli/query/lease_commands.h"

#include <cstdio>
#include <cstdlib>

namespace optile::cli {
namespace {

constexpr std::size_t kCellBytes = 160;  // of one formatted row, without its texts

const char* word_of(Verb verb) {
  switch (verb) {
    case Verb::kShare:
      return "share";
    case Verb::kPin:
      return "pin";
    case Verb::kUnpin:
      return "unpin";
    case Verb::kPause:
      return "pause";
    case Verb::kResume:
      return "resume";
    case Verb::kDetach:
      return "detach";
    case Verb::kAttach:
      return "attach";
    default:
      return nullptr;
  }
}

std::string cores_text(const Json& lease) {
  const double fraction = number_of(lease, "fraction");
  std::string cores = core_ranges(list_of(lease, "cores"));
  if (fraction >= 1 || cores == "-") return cores;
  char part[32];
  std::snprintf(part, sizeof part, "%.2f of ", fraction);
  return part + cores;
}

std::string state_of(const Json& lease) {
  std::string state;
  for (const char* word : {"pinned", "paused", "bound", "idle", "away", "late"}) {
    if (!lease.value(word, false)) continue;
    state += (state.empty() ? "" : ",") + std::string(word);
  }
  if (number_of(lease, "borrowed") > 0) state += state.empty() ? "borrows" : ",borrows";
  if (!text_of(lease, "team").empty()) state += state.empty() ? "wide" : ",wide";
  return state.empty() ? "-" : state;
}

std::string unkept_text(const Json& lease) {
  std::string text;
  for (const Json& word : list_of(lease, "unkept")) {
    if (word.is_string()) text += "; not kept: " + word.get<std::string>();
  }
  return text;
}

std::string row(const Json& lease) {
  char cells[kCellBytes];
  std::snprintf(cells, sizeof cells, "%6.6s  %-12s  %6.4g  %-8.8s  %-14s  ",
                text_of(lease, "id").c_str(), cores_text(lease).c_str(), number_of(lease, "share"),
                text_of(lease, "priority").c_str(), state_of(lease).c_str());
  const std::string team = text_of(lease, "team");
  return cells + text_of(lease, "program") + ": " + text_of(lease, "reason") +
         (team.empty() ? "" : "; " + team) + unkept_text(lease) + "\n";
}

std::string unleased_row(const Json& client) {
  return "client " + text_of(client, "id") + "  pid " + text_of(client, "pid") + "  " +
         text_of(client, "program") + ": no lease, it runs where the kernel puts it" +
         (text_of(client, "reason").empty() ? "" : " (" + text_of(client, "reason") + ")") + "\n";
}

}  // namespace

bool changes_a_lease(Verb verb) {
  return word_of(verb) != nullptr;
}

Json lease_request(const Options& options) {
  Json body = {{"client", std::strtoull(options.query.client.c_str(), nullptr, 10)}};
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
  const Json budget = answer.value("budget", Json::object());
  char head[kCellBytes];
  std::snprintf(head, sizeof head,
                "budget  %.0f cores; %.4g held by leases, %.0f lent, %.0f left to "
                "others\n",
                number_of(budget, "cores"), number_of(answer, "held_cores"),
                number_of(answer, "lent_cores"), number_of(answer, "left_to_others"));
  std::string text = head;
  const Json clients = list_of(answer, "clients");
  if (clients.empty()) text += "no leases: no program is attached that may be changed\n";
  if (!clients.empty()) {
    std::snprintf(head, sizeof head, "%6s  %-12s  %6s  %-8s  %-14s  %s\n", "client", "cores",
                  "share", "priority", "state", "program: why");
    text += head;
  }
  for (const Json& lease : clients) text += row(lease);
  for (const Json& client : list_of(answer, "unleased")) text += unleased_row(client);
  return text;
}

std::string lease_line(const Json& answer, uint64_t client) {
  for (const Json& lease : list_of(answer, "clients")) {
    if (lease.value("id", uint64_t{0}) != client) continue;
    const std::string state = state_of(lease);
    char share[32];
    std::snprintf(share, sizeof share, "%.4g", number_of(lease, "share"));
    return "client " + std::to_string(client) + "  " + text_of(lease, "program") + ": cores " +
           cores_text(lease) + ", share " + share + (state == "-" ? "" : ", " + state) +
           unkept_text(lease) + "\n";
  }
  for (const Json& one : list_of(answer, "unleased")) {
    if (one.value("id", uint64_t{0}) == client) return unleased_row(one);
  }
  return "";
}

}  // namespace optile::cli
