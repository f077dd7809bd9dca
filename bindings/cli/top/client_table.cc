#include "bindings/cli/top/client_table.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "bindings/cli/query/lease_commands.h"
#include "bindings/cli/top/core_map.h"
#include "bindings/cli/top/shown_text.h"

namespace optile::cli {
namespace {

constexpr const char* kNothing = "-";
constexpr int kMarkColumns = 2;  // '>' of the selected one, and a blank
constexpr std::size_t kCommand = 3;
constexpr std::size_t kDoing = 12;

struct Column {
  const char* title;
  int most;  // columns, where not every text is whole
  int rank;  // the highest goes first
  bool to_the_right;
};

constexpr std::array<Column, 13> kColumns = {{{"", 2, 0, false},
                                              {"id", 6, 8, true},
                                              {"pid", 8, 11, true},
                                              {"command", 24, 2, false},
                                              {"phase", 14, 3, false},
                                              {"cores", 14, 1, false},
                                              {"width", 7, 7, true},
                                              {"share", 6, 9, true},
                                              {"prio", 6, 12, false},
                                              {"of alone", 9, 5, true},
                                              {"steps/s", 7, 6, true},
                                              {"state", 18, 4, false},
                                              {"now", 1000, 10, false}}};
using Cells = std::array<std::string, kColumns.size()>;
using Widths = std::array<int, kColumns.size()>;  // 0 = left out

std::string formatted(const char* format, double number) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), format, number);
  return text.data();
}

std::string cores_text(const ClientSeen& client) {
  if (!client.leased) return kNothing;
  std::string cores = core_ranges(Json(client.cores));
  if (client.fraction >= 1 || client.cores.empty()) return cores;
  return formatted("%.2f of ", client.fraction) + cores;
}

std::string width_text(const ClientSeen& client) {
  if (client.most_width <= 0) return kNothing;
  std::string most = std::to_string(client.most_width);
  if (client.least_width == client.most_width) return most;
  return std::to_string(client.least_width) + "-" + most;
}

std::string progress_text(const ClientSeen& client) {
  if (!client.progress) return kNothing;
  return formatted("%.0f%%", std::clamp(100 * *client.progress, 0.0, 999.0)) +
         (client.progress_measured ? " meas" : " pred");
}

std::string rate_text(std::optional<double> rate) {
  if (!rate || !std::isfinite(*rate)) return kNothing;
  return formatted(*rate < 10 ? "%.2f" : (*rate < 100 ? "%.1f" : "%.0f"), *rate);
}

Cells cells_of(const ClientSeen& client, const TableView& view) {
  return {view.letters.of(client.id),
          std::to_string(client.id),
          std::to_string(client.pid),
          client.command,
          phase_text(client),
          cores_text(client),
          width_text(client),
          client.leased ? formatted("%.4g", client.share) : kNothing,
          client.leased ? client.priority : kNothing,
          progress_text(client),
          rate_text(client.steps_per_second),
          state_text(client),
          doing_text(client)};
}

int total(const Widths& widths) {
  int sum = kMarkColumns;
  for (const int width : widths) sum += width > 0 ? width + 1 : 0;
  return sum - 1;
}

// As wide as what is in them; then the least important go until the rest fits.
Widths widths_of(const std::vector<Cells>& rows, int columns) {
  Widths widths{};
  for (std::size_t i = 0; i < kColumns.size(); ++i) {
    widths[i] = std::max(1, columns_of(kColumns[i].title));
    for (const Cells& row : rows) widths[i] = std::max(widths[i], columns_of(row[i]));
    if (columns > 0) widths[i] = std::min(widths[i], kColumns[i].most);
  }
  if (columns <= 0) return widths;
  // What it does now takes what is left, so it never costs another column its place.
  constexpr int kLeastDoing = 16;
  const int doing = widths[kDoing];
  widths[kDoing] = std::min(doing, kLeastDoing);
  while (total(widths) > columns) {
    std::size_t last = 0;
    for (std::size_t i = 1; i < kColumns.size(); ++i) {
      if (widths[i] > 0 && kColumns[i].rank > kColumns[last].rank) last = i;
    }
    if (last == 0) break;
    widths[last] = 0;
  }
  // Of a long command its begin is better than nothing.
  constexpr int kLeastCommand = 6;
  const int room = columns - total(widths) - 1;
  if (widths[kCommand] == 0 && room >= kLeastCommand) widths[kCommand] = room;
  if (widths[kDoing] > 0) {
    widths[kDoing] = std::min(doing, widths[kDoing] + columns - total(widths));
  }
  return widths;
}

std::string joined(const Cells& cells, const Widths& widths, std::size_t begin) {
  std::string text;
  for (std::size_t i = begin; i < cells.size(); ++i) {
    if (widths[i] == 0) continue;
    text += (i == 0 ? "" : " ") + fitted(cells[i], widths[i], kColumns[i].to_the_right);
  }
  return text;
}

}  // namespace

std::string phase_text(const ClientSeen& client) {
  if (client.whole_program) return "whole program";
  if (client.phase.empty()) return kNothing;
  if (client.phase != "exploring") return client.phase;
  return client.phase + " " + std::to_string(client.sampled_steps);
}

std::string state_text(const ClientSeen& client) {
  std::string text;
  const auto say = [&](bool holds, const std::string& word) {
    if (holds) text += (text.empty() ? "" : ",") + word;
  };
  say(client.state != "running" && !client.state.empty(), client.state);
  say(client.pinned, "pinned");
  say(client.paused, "paused");
  say(client.idle, "idle");
  say(client.late, "late");
  say(client.borrows, "borrows");
  say(client.wide, "wide");
  say(client.detached, "detached");
  say(!client.leased && !client.detached,
      client.mode.empty() || client.mode == "tune" ? "no lease" : client.mode);
  return text.empty() ? kNothing : text;
}

std::string doing_text(const ClientSeen& client) {
  if (client.whole_program) return "its threads are not steered by op";
  if (client.phase == "exploring" && client.trial_ops > 0) {
    std::string widths;
    for (const int width : client.trial_widths) {
      widths += (widths.empty() ? "" : ",") + std::to_string(width);
    }
    return "trying " + std::to_string(client.trial_ops) + (client.trial_ops == 1 ? " op" : " ops") +
           " at widths " + widths;
  }
  if (client.phase == "exploring") return "choosing what to try";
  if (client.phase == "comparing") return "comparing whole steps";
  if (!client.decision.empty()) return client.decision;
  if (client.phase == "recognising") return "looking for a step that repeats";
  return client.reason.empty() ? kNothing : client.reason;
}

ClientTable client_table(const TableView& view) {
  std::vector<Cells> rows;
  rows.reserve(view.seen.clients.size());
  for (const ClientSeen& client : view.seen.clients) rows.push_back(cells_of(client, view));
  const Widths widths = widths_of(rows, view.columns);
  ClientTable table;
  Cells titles;
  for (std::size_t i = 0; i < titles.size(); ++i) titles[i] = kColumns[i].title;
  add(table.header, "  " + joined(titles, widths, 0), {.bold = true});
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const uint64_t id = view.seen.clients[i].id;
    const bool selected = id == view.selected;
    Line line;
    add(line, selected ? "> " : "  ", {.reverse = selected});
    add(line, fitted(rows[i][0], widths[0]), client_style(view.letters, id, selected));
    add(line, joined(rows[i], widths, 1), {.reverse = selected});
    table.rows.push_back(std::move(line));
  }
  return table;
}

}  // namespace optile::cli
