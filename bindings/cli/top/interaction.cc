#include "bindings/cli/top/interaction.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "bindings/cli/query/lease_commands.h"
#include "bindings/cli/top/core_map.h"
#include "bindings/cli/top/shown_text.h"

namespace optile::cli {
namespace {

constexpr int kPage = 10;
constexpr const char* kKeysLine =
    "q quit  ? help  enter explain  s share  p pin/unpin  space pause/resume  d detach/attach";
constexpr const char* kPaneLine = "up/down scroll  q back";

std::vector<std::string> help_lines() {
  return {"q           quit",
          "up, down    select a client (also k and j)",
          "enter, e    explain the selected client: its lease, and its longest ops",
          "s           share: weigh its progress when cores are divided",
          "p           pin it to exactly these cores, or take its pin back",
          "space       leave its cores as they are, or take that back",
          "d           detach: no lease any more, or take that back",
          "?           this help",
          "",
          std::string("cores       ") + kMapLegend,
          "            [ ] around cores that share a cache; one row or more for each NUMA node",
          "width       of its ops, narrowest to widest",
          "of alone    throughput over that alone at its own best: pred(icted) by its curve, or",
          "            meas(ured)",
          "steps/s     counted over the last 10 seconds, or longer where there were few",
          "now         what is being tried, or the last decision",
          "",
          "Every change is the same as with optile share, pin, unpin, pause, resume, detach and",
          "attach."};
}

Options options_for(Verb verb, uint64_t client) {
  Options options;
  options.verb = verb;
  options.query.client = std::to_string(client);
  return options;
}

// A share that is no number goes to the daemon as it was typed: it says what is wrong with it.
Json share_text(uint64_t client, const std::string& typed) {
  Options options = options_for(Verb::kShare, client);
  options.query.share = typed;
  Json command = lease_request(options);
  char* end = nullptr;
  std::strtod(typed.c_str(), &end);
  if (typed.empty() || *end != '\0') command["share"] = typed;
  return command;
}

}  // namespace

void Interaction::follow(const Snapshot& seen) {
  if (seen.find(selected_) != nullptr) return;
  selected_ = seen.clients.empty() ? 0 : seen.clients.front().id;
}

void Interaction::open_pane(std::string title, std::vector<std::string> lines) {
  pane_ = {std::move(title), std::move(lines), 0};
  pane_open_ = true;
}

std::string Interaction::bottom_line() const {
  if (asking()) return question_ + answer_ + "_";
  if (!message_.empty()) return message_;
  return pane_open_ ? kPaneLine : kKeysLine;
}

Wish Interaction::on_key(int key, const Snapshot& seen) {
  if (key == kKeyResize) return {};
  message_.clear();
  if (asking()) return on_answer(key);
  if (pane_open_) return on_pane_key(key);
  if (key == 'q' || key == 'Q') return {Wish::Kind::kQuit, 0, {}};
  if (key == '?' || key == 'h') {
    open_pane("optile top", help_lines());
    return {};
  }
  if (key == kKeyUp || key == 'k') move(seen, -1);
  if (key == kKeyDown || key == 'j') move(seen, 1);
  if (key == kKeyPageUp) move(seen, -kPage);
  if (key == kKeyPageDown) move(seen, kPage);
  const ClientSeen* client = seen.find(selected_);
  if (key == kKeyEnter || key == 'e') {
    if (client != nullptr) return {Wish::Kind::kExplain, client->id, {}};
    show_message("no client is attached: start one with optile run");
    return {};
  }
  const bool command = key == 's' || key == 'p' || key == ' ' || key == 'd';
  if (!command) return {};
  if (client != nullptr) return on_command_key(key, *client);
  show_message("no client is attached: start one with optile run");
  return {};
}

Wish Interaction::on_command_key(int key, const ClientSeen& client) {
  asked_client_ = client.id;
  if (key == ' ') return issue(client.paused ? Verb::kResume : Verb::kPause);
  if (key == 'p' && client.pinned) return issue(Verb::kUnpin);
  if (key == 'd' && client.detached) return issue(Verb::kAttach);
  ask(key == 's' ? Asked::kShare : (key == 'p' ? Asked::kPin : Asked::kDetach), client);
  return {};
}

Wish Interaction::issue(Verb verb) const {
  return {Wish::Kind::kIssue, 0, lease_request(options_for(verb, asked_client_))};
}

void Interaction::ask(Asked what, const ClientSeen& client) {
  const std::string who = "client " + std::to_string(client.id);
  asked_ = what;
  answer_.clear();
  if (what == Asked::kShare) question_ = "share of " + who + " (1 is what everybody has): ";
  if (what == Asked::kPin) question_ = "cores for " + who + " alone, such as 0-3,6: ";
  if (what == Asked::kDetach) {
    question_ = "detach " + who + " (" + cut(client.command, 24) + ")? y/n ";
  }
}

Wish Interaction::on_answer(int key) {
  if (key == kKeyEscape) {
    asked_ = Asked::kNothing;
    return {};
  }
  if (asked_ == Asked::kDetach) {
    asked_ = Asked::kNothing;
    return key == 'y' || key == 'Y' ? issue(Verb::kDetach) : Wish{};
  }
  if (key == kKeyBackspace && !answer_.empty()) answer_.pop_back();
  if (key >= ' ' && key < 0x7f && answer_.size() < kMaxAnswer) answer_ += static_cast<char>(key);
  if (key != kKeyEnter) return {};
  const Asked asked = std::exchange(asked_, Asked::kNothing);
  if (answer_.empty()) return {};
  if (asked == Asked::kShare) return {Wish::Kind::kIssue, 0, share_text(asked_client_, answer_)};
  Options options = options_for(Verb::kPin, asked_client_);
  options.query.cores = answer_;
  return {Wish::Kind::kIssue, 0, lease_request(options)};
}

Wish Interaction::on_pane_key(int key) {
  const std::size_t last = pane_.lines.empty() ? 0 : pane_.lines.size() - 1;
  const auto scroll = [&](int by) {
    const auto to = static_cast<int64_t>(pane_.first) + by;
    pane_.first = static_cast<std::size_t>(std::clamp<int64_t>(to, 0, static_cast<int64_t>(last)));
  };
  if (key == kKeyUp || key == 'k') scroll(-1);
  if (key == kKeyDown || key == 'j') scroll(1);
  if (key == kKeyPageUp) scroll(-kPage);
  if (key == kKeyPageDown || key == ' ') scroll(kPage);
  if (key == 'q' || key == 'e' || key == '?' || key == kKeyEnter || key == kKeyEscape) {
    pane_open_ = false;
  }
  return {};
}

void Interaction::move(const Snapshot& seen, int by) {
  if (seen.clients.empty()) return;
  int64_t at = 0;
  for (std::size_t i = 0; i < seen.clients.size(); ++i) {
    if (seen.clients[i].id == selected_) at = static_cast<int64_t>(i);
  }
  at = std::clamp<int64_t>(at + by, 0, static_cast<int64_t>(seen.clients.size()) - 1);
  selected_ = seen.clients[static_cast<std::size_t>(at)].id;
}

}  // namespace optile::cli
