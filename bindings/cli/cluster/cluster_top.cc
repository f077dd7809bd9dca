#include "bindings/cli/cluster/cluster_top.h"

#include <unistd.h>

#include <chrono>
#include <clocale>
#include <cstdio>
#include <memory>
#include <sstream>

#include "base/result.h"
#include "bindings/abi/api_fields.h"
#include "bindings/cli/cluster/cluster_question.h"
#include "bindings/cli/cluster/plan_text.h"
#include "bindings/cli/cluster/plan_words.h"
#include "bindings/cli/top/ncurses_terminal.h"

namespace optile::cli {
namespace {

using std::chrono::milliseconds;
using WatchClock = std::chrono::steady_clock;

struct ClusterAnswers {
  Json cluster;
  Json plans;
};

base::Result<ClusterAnswers> look_at(const std::string& socket) {
  base::Result<Json> cluster = ask_about_cluster(socket, "GET", "/v1/cluster");
  if (!cluster.ok()) return cluster.error();
  base::Result<Json> plans = ask_about_cluster(socket, "GET", "/v1/cluster/plans");
  if (!plans.ok()) return plans.error();
  return ClusterAnswers{std::move(cluster).value(), std::move(plans).value()};
}

std::string picture_text(const ClusterAnswers& answers) {
  const std::string state = text_of(answers.cluster, field::kState);
  std::string text = "this node is in no cluster; jobs of this machine\n";
  if (state != "none") {
    const std::string leader = shown_field(answers.cluster, field::kLeader);
    text = "cluster of " + shown_field(answers.cluster, field::kUser) + ", node " +
           shown_field(answers.cluster, field::kName) + ": " + state + "; leader " +
           (leader.empty() ? "none" : leader) + ", epoch " +
           text_of(answers.cluster, field::kEpoch) + "\n";
  }
  const std::string messages = messages_of(answers.cluster);
  if (!messages.empty()) text += "note  " + messages + "\n";
  return text + node_table(answers.cluster, answers.plans);
}

Picture picture_of(const std::string& text, Size size) {
  Picture picture;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (picture.size() == static_cast<std::size_t>(size.rows)) break;
    Line shown_line;
    add(shown_line, line);
    picture.push_back(cut_line(shown_line, size.columns));
  }
  picture.resize(static_cast<std::size_t>(size.rows));
  return picture;
}

void follow(Terminal& terminal, const std::string& socket, milliseconds interval,
            std::string text) {
  auto next_look = WatchClock::now() + interval;
  while (true) {
    terminal.show(picture_of(text + "\nq quits\n", terminal.size()));
    const auto left = std::chrono::ceil<milliseconds>(next_look - WatchClock::now());
    const Terminal::Event event = terminal.wait(std::max(milliseconds(0), left));
    if (event.closed || (event.key && *event.key == 'q')) return;
    if (WatchClock::now() < next_look) continue;
    const base::Result<ClusterAnswers> seen = look_at(socket);
    text = seen.ok() ? picture_text(seen.value()) : seen.message() + "\n";
    next_look = WatchClock::now() + interval;
  }
}

}  // namespace

int watch_cluster(const Options& options, const std::string& socket) {
  const base::Result<ClusterAnswers> first = look_at(socket);
  if (!first.ok()) return report_failure(first.message());
  if (options.json) {
    const Json both = {{"cluster", first.value().cluster},
                       {field::kPlans, list_of(first.value().plans, field::kPlans)},
                       {field::kMessages, list_of(first.value().plans, field::kMessages)}};
    std::printf("%s\n", both.dump(2).c_str());
    return 0;
  }
  const std::string text = picture_text(first.value());
  const bool live = !options.top.once && isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1;
  std::setlocale(LC_CTYPE, "");
  base::Result<std::unique_ptr<NcursesTerminal>> terminal =
      live ? NcursesTerminal::open() : base::invalid("no terminal is asked for");
  if (!terminal.ok()) {
    std::fputs(text.c_str(), stdout);
    return 0;
  }
  const milliseconds interval(static_cast<int64_t>(options.top.interval_seconds * 1000));
  follow(*terminal.value(), socket, interval, text);
  terminal.value()->close();
  return terminal.value()->end_as_asked();
}

}  // namespace optile::cli
