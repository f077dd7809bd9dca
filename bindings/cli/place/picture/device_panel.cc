#include <algorithm>
#include <cmath>
#include <cstdio>

#include "bindings/cli/place/picture/device_colours.h"
#include "bindings/cli/place/picture/panels.h"

namespace optile::cli {
namespace {

constexpr double kLine = 22;
constexpr double kBarHeight = 12;
constexpr double kNameEnd = 200;
constexpr std::size_t kNameLetters = 20;
constexpr std::size_t kFewDevices = 8;  // of more, those without nodes are only counted
constexpr double kLoadBar = 340;
constexpr double kMemoryStart = 680;
constexpr double kMemoryBar = 220;
constexpr double kTransferWhite = 0.55;

std::string figure(double value, const char* unit) {
  char text[64];
  const double size = std::abs(value);
  const int digits = size >= 100 ? 0 : (size >= 10 ? 1 : 2);
  std::snprintf(text, sizeof text, "%.*f %s", value == 0 ? 0 : digits, value, unit);
  return text;
}

struct Columns {
  std::vector<double> own;  // time of its nodes
  std::vector<int> nodes;
};

Columns columns_of(const Pictured& pictured) {
  Columns columns;
  columns.own.assign(pictured.cluster.devices.size(), 0);
  columns.nodes.assign(pictured.cluster.devices.size(), 0);
  for (placement::NodeId id = 0; id < pictured.graph.size(); ++id) {
    const auto device = pictured.answer.assignment[static_cast<std::size_t>(id)];
    const auto at = static_cast<std::size_t>(device);
    columns.own[at] += pictured.cluster.time_ms(pictured.graph.node(id), device);
    ++columns.nodes[at];
  }
  return columns;
}

double largest(const std::vector<double>& values) {
  double most = 0;
  for (const double value : values) {
    if (std::isfinite(value)) most = std::max(most, value);
  }
  return most;
}

double part_of(double value, double whole) {
  if (!(whole > 0)) return 0;
  return std::isfinite(value) ? std::clamp(value / whole, 0.0, 1.0) : 1;
}

void draw_memory(const Pictured& pictured, std::size_t device, double most, double y, Svg& svg) {
  const double cap = pictured.cluster.devices[device].memory_bytes;
  const double used = pictured.answer.memory[device];
  const bool capped = std::isfinite(cap);
  svg.rect({kMemoryStart, y, kMemoryBar, kBarHeight}, "#eeeeee");
  svg.rect({kMemoryStart, y, kMemoryBar * part_of(used, capped ? cap : most), kBarHeight},
           used > cap ? "#c00000" : "#8c8c8c");
  svg.text(kMemoryStart + kMemoryBar + 8, y + 10,
           shown_bytes(used) + (capped ? " of " + shown_bytes(cap) : ""), {11});
}

// How many devices are not listed.
double draw_rest(const Columns& columns, std::size_t shown, double y, Svg& svg) {
  const std::size_t rest = columns.own.size() - shown;
  if (rest == 0) return y;
  const auto used = static_cast<std::size_t>(std::count_if(
      columns.nodes.begin(), columns.nodes.end(), [](int nodes) { return nodes > 0; }));
  svg.text(
      kPictureMargin + 20, y + 10,
      "and " + std::to_string(rest) + (used > shown ? " more devices" : " devices without nodes"),
      {11, "start", "#666666"});
  return y + kLine;
}

}  // namespace

std::string shown_ms(double ms) {
  if (!std::isfinite(ms)) return "no time";
  if (ms != 0 && std::abs(ms) < 0.1) return figure(ms * 1e3, "us");
  return std::abs(ms) < 1e4 ? figure(ms, "ms") : figure(ms / 1e3, "s");
}

std::string shown_bytes(double bytes) {
  if (!std::isfinite(bytes)) return "no limit";
  if (bytes < 1e3) return figure(bytes, "B");
  if (bytes < 1e6) return figure(bytes / 1e3, "kB");
  return bytes < 1e9 ? figure(bytes / 1e6, "MB") : figure(bytes / 1e9, "GB");
}

double draw_devices(const Pictured& pictured, double y, Svg& svg) {
  const Columns columns = columns_of(pictured);
  const double most_load = largest(pictured.answer.load);
  const double most_memory = largest(pictured.answer.memory);
  const bool transfers = [&] {
    for (std::size_t d = 0; d < columns.own.size(); ++d) {
      if (pictured.answer.load[d] > columns.own[d] * (1 + 1e-9)) return true;
    }
    return false;
  }();
  svg.text(kNameEnd, y + 10, transfers ? "load: nodes, and paler what comes on top" : "load",
           {11, "start", "#666666"});
  svg.text(kMemoryStart, y + 10, "memory", {11, "start", "#666666"});
  y += kLine - 4;
  std::vector<std::size_t> shown;
  const bool few = columns.own.size() <= kFewDevices;
  for (std::size_t d = 0; d < columns.own.size() && shown.size() < kPictureDevices; ++d) {
    if (few || columns.nodes[d] > 0) shown.push_back(d);
  }
  for (const std::size_t d : shown) {
    const std::string& colour = pictured.colours[d];
    const double load = pictured.answer.load[d];
    svg.rect({kPictureMargin, y, kBarHeight, kBarHeight}, colour);
    svg.text(kPictureMargin + 20, y + 10, pictured.cluster.devices[d].name, {}, kNameLetters);
    svg.rect({kNameEnd, y, kLoadBar, kBarHeight}, "#eeeeee");
    svg.rect({kNameEnd, y, kLoadBar * part_of(load, most_load), kBarHeight},
             lighter(colour, kTransferWhite));
    svg.rect(
        {kNameEnd, y, kLoadBar * part_of(std::min(columns.own[d], load), most_load), kBarHeight},
        colour);
    svg.text(kNameEnd + kLoadBar + 8, y + 10, shown_ms(load), {11});
    draw_memory(pictured, d, most_memory, y, svg);
    svg.text(kPictureWidth - kPictureMargin, y + 10, std::to_string(columns.nodes[d]) + " nodes",
             {11, "end"});
    y += kLine;
  }
  return draw_rest(columns, shown.size(), y, svg) + 10;
}

}  // namespace optile::cli
