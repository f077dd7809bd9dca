#include "bindings/cli/top/layout.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "bindings/cli/top/client_table.h"
#include "bindings/cli/top/core_map.h"
#include "bindings/cli/top/shown_text.h"

namespace optile::cli {
namespace {

constexpr std::size_t kRecentShown = 5;
constexpr std::size_t kRecentInFile = 10;

std::string counted(uint64_t number, const char* what) {
  return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
}

std::string cores_number(double cores) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.4g", cores);
  return text.data();
}

// What matters more stands first: a narrow terminal shows the begin.
std::string head_text(const Scene& scene) {
  const Snapshot& seen = scene.seen;
  std::string text = "optiled " + seen.version + "  " + counted(seen.clients.size(), "client") +
                     "  " + cores_number(seen.leased_cores) + " of " +
                     counted(seen.budget_cores, "core") + " leased, " +
                     std::to_string(seen.lent_cores) + " lent";
  if (seen.left_to_others > 0) {
    text += ", " + std::to_string(seen.left_to_others) + " left to others";
  }
  text += "  machine: " + counted(seen.cores, "core") + " in " + counted(seen.tiles.size(), "tile");
  if (seen.numa_nodes > 1) text += ", " + counted(seen.numa_nodes, "NUMA node");
  if (!seen.limited_by.empty()) text += ", limited by " + seen.limited_by;
  return text + "  " + seen.machine;
}

Line head_line(const Scene& scene) {
  Line line;
  if (!scene.unreachable.empty()) {
    add(line, "daemon unreachable, retrying", {.bold = true, .reverse = true});
    add(line, "  ");
  }
  add(line, head_text(scene), {.bold = true});
  return line;
}

Line text_line(const std::string& text, Style style = {}) {
  Line line;
  add(line, text, style);
  return line;
}

std::string cause_text(const Scene& scene) {
  const std::string& cause = scene.seen.cause;
  return "last lease plan: " + (cause.empty() ? "none yet" : cause);
}

Picture recent_lines(const Scene& scene, std::size_t most) {
  Picture lines;
  for (const ChangeSeen& change : scene.seen.recent) {
    if (lines.size() == most) break;
    lines.push_back(text_line("  " + change.at + "  " + change.text));
  }
  if (!lines.empty()) {
    lines.insert(lines.begin(), text_line("last lease changes (UTC)", {.bold = true}));
  }
  return lines;
}

// Why the selected client has its cores and its widths, in full.
Picture detail_lines(const Scene& scene, uint64_t selected) {
  Picture lines;
  const ClientSeen* client = scene.seen.find(selected);
  if (client == nullptr) return lines;
  const auto say = [&](const char* what, const std::string& text) {
    Line line;
    add(line, scene.letters.of(selected), client_style(scene.letters, selected, false));
    add(line, what + (text.empty() ? "-" : text));
    lines.push_back(std::move(line));
  };
  say(" now: ", doing_text(*client));
  say(" lease: ", client->leased ? client->reason : "none; it runs where the kernel puts it");
  return lines;
}

// Rows for the rest of the table, so that the selected one is among them.
std::size_t first_row(const Snapshot& seen, uint64_t selected, std::size_t rows) {
  std::size_t at = 0;
  for (std::size_t i = 0; i < seen.clients.size(); ++i) {
    if (seen.clients[i].id == selected) at = i;
  }
  const std::size_t before = rows / 2;
  const std::size_t last = seen.clients.size() - std::min(rows, seen.clients.size());
  return std::min(at - std::min(at, before), last);
}

// Who gets how many of the rows.
struct Shares {
  std::size_t left = 0;

  std::size_t take(std::size_t wanted) {
    const std::size_t taken = std::min(wanted, left);
    left -= taken;
    return taken;
  }
};

void append(Picture& picture, const Picture& lines, std::size_t from, std::size_t count) {
  for (std::size_t i = from; i < lines.size() && i < from + count; ++i) picture.push_back(lines[i]);
}

Picture clients_picture(const Scene& scene, uint64_t selected, Size size) {
  const Snapshot& seen = scene.seen;
  Shares rows{static_cast<std::size_t>(size.rows)};
  const ClientTable table = client_table({seen, scene.letters, selected, size.columns});
  const Picture recent = recent_lines(scene, kRecentShown);
  const Picture detail = detail_lines(scene, selected);

  const std::size_t head = rows.take(1);
  std::size_t clients = rows.take(std::min<std::size_t>(1, table.rows.size()));
  const auto half = static_cast<int>((rows.left + 1) / 2);
  const Picture map =
      half == 0 ? Picture{} : core_map(seen, scene.letters, selected, {size.columns, half});
  const std::size_t cores = rows.take(map.size());
  const std::size_t header = rows.take(1);
  clients += rows.take(std::min<std::size_t>(3, table.rows.size()) - clients);
  const std::size_t cause = rows.take(1);
  const std::size_t details = rows.take(detail.size());
  const std::size_t legend = rows.take(map.empty() ? 0 : 1);
  std::size_t changes = rows.left >= 2 ? rows.take(std::min<std::size_t>(2, recent.size())) : 0;
  clients += rows.take(table.rows.size() - clients);
  if (changes > 0) changes += rows.take(recent.size() - changes);
  const std::size_t gap = rows.left >= 2 ? 1 : 0;  // before and after the clients

  Picture picture;
  append(picture, {head_line(scene)}, 0, head);
  append(picture, {text_line(cause_text(scene))}, 0, cause);
  append(picture, map, 0, cores);
  append(picture, {text_line(std::string("        ") + kMapLegend, {.dim = true})}, 0, legend);
  append(picture, Picture(1), 0, gap);
  Line titles = table.header;
  if (clients < table.rows.size()) {
    const std::string part =
        "  " + std::to_string(clients) + " of " + std::to_string(table.rows.size());
    titles = cut_line(titles, size.columns - columns_of(part));
    add(titles, part);
  }
  append(picture, {titles}, 0, header);
  append(picture, table.rows, first_row(seen, selected, clients), clients);
  append(picture, detail, 0, details);
  append(picture, Picture(1), 0, gap);
  append(picture, recent, 0, changes);
  return picture;
}

Picture pane_picture(const Interaction::Pane& pane, int rows) {
  Picture picture;
  if (rows > 1) picture.push_back(text_line(pane.title, {.bold = true, .reverse = true}));
  for (std::size_t i = pane.first; i < pane.lines.size(); ++i) {
    if (picture.size() >= static_cast<std::size_t>(rows)) break;
    picture.push_back(text_line(pane.lines[i]));
  }
  return picture;
}

// While something is typed its end has to be seen.
Line bottom_line(const Interaction& interaction, int columns) {
  std::string text = interaction.bottom_line();
  if (interaction.asking()) {
    while (columns_of(text) > columns && !text.empty()) text.erase(0, 1);
  }
  return text_line(text, {.bold = true});
}

}  // namespace

Picture draw(const Scene& scene, const Interaction& interaction, Size size) {
  const int rows = std::max(1, size.rows);
  const int columns = std::max(1, size.columns);
  Picture picture;
  if (rows > 1) {
    picture = interaction.pane() != nullptr
                  ? pane_picture(*interaction.pane(), rows - 1)
                  : clients_picture(scene, interaction.selected(), {columns, rows - 1});
  }
  picture.resize(static_cast<std::size_t>(rows - 1));
  picture.push_back(bottom_line(interaction, columns));
  for (Line& line : picture) line = cut_line(line, columns);
  return picture;
}

std::string plain_picture(const Scene& scene) {
  Picture picture = {head_line(scene), text_line(cause_text(scene)), {}};
  const Picture map = core_map(scene.seen, scene.letters, 0, {kPlainColumns, 0});
  append(picture, map, 0, map.size());
  if (!map.empty()) picture.push_back(text_line(std::string("        ") + kMapLegend));
  picture.emplace_back();
  const ClientTable table = client_table({scene.seen, scene.letters, 0, 0});
  if (table.rows.empty()) {
    picture.push_back(text_line("no clients: start one with optile run"));
  } else {
    picture.push_back(table.header);
    append(picture, table.rows, 0, table.rows.size());
  }
  for (const ClientSeen& client : scene.seen.clients) {
    append(picture,
           {text_line("  " + scene.letters.of(client.id) + " lease: " +
                      (client.leased ? client.reason : "none; it runs where the kernel puts it"))},
           0, 1);
  }
  const Picture recent = recent_lines(scene, kRecentInFile);
  if (!recent.empty()) picture.emplace_back();
  append(picture, recent, 0, recent.size());
  return plain_text(picture);
}

}  // namespace optile::cli
