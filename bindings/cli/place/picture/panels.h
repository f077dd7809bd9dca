// The parts of a picture of a placement, from top to bottom. Each draws itself from `y` on over the
// whole width and returns where it ends.
#pragma once

#include <string>
#include <vector>

#include "bindings/cli/place/picture/drawn_graph.h"
#include "bindings/cli/place/picture/svg.h"
#include "placement/answer.h"
#include "placement/cluster.h"
#include "placement/timeline.h"

namespace optile::cli {

inline constexpr double kPictureWidth = 1200;
inline constexpr double kPictureMargin = 24;
// Devices that are listed one by one; how many more there are is said.
inline constexpr std::size_t kPictureDevices = 16;

struct Pictured {
  const placement::Graph& graph;
  const placement::Cluster& cluster;
  const placement::Answer& answer;
  std::vector<std::string> colours;  // of each device
};

// A line for each device that has nodes: colour, load (its nodes' own time and the rest, which is
// transfers), memory, number of nodes.
double draw_devices(const Pictured& pictured, double y, Svg& svg);
double draw_graph(const Pictured& pictured, double y, Svg& svg);
// A row for each device along time; nothing without spans.
double draw_timeline(const Pictured& pictured, const std::vector<placement::Span>& spans, double y,
                     Svg& svg);

// "1.5 ms", "3.2 GB": three digits and a unit that suits them.
std::string shown_ms(double ms);
std::string shown_bytes(double bytes);

}  // namespace optile::cli
