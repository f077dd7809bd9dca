#include "bindings/cli/simulation_trace.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

namespace optile::cli {
namespace {

using Json = nlohmann::json;
using sched::CoreMap;

constexpr double kMicroseconds = 1e6;

std::size_t at(int index) {
  return static_cast<std::size_t>(index);
}

// Which group of cores each slot belongs to: whole tiles of one NUMA node, at most so many groups
// that they can be looked at; of a machine that is one or two tiles, each core.
std::vector<int> groups_of(const CoreMap& map) {
  const int tiles = static_cast<int>(map.tiles.size());
  const bool by_core = tiles < 3 && map.cores <= kMostTraceGroups;
  const int units = by_core ? map.cores : tiles;
  const int together = (units + kMostTraceGroups - 1) / kMostTraceGroups;
  std::vector<int> groups;
  int group = -1;
  int last_unit = -1;
  int in_group = 0;
  int node = -1;
  for (int slot = 0; slot < map.cores; ++slot) {
    const int unit = by_core ? slot : map.tile_of[at(slot)];
    const int here = map.tiles[at(map.tile_of[at(slot)])].node;
    if (unit != last_unit) {
      if (group < 0 || in_group == together || here != node) {
        ++group;
        in_group = 0;
      }
      ++in_group;
      last_unit = unit;
      node = here;
    }
    groups.push_back(group);
  }
  return groups;
}

std::string group_name(const std::vector<int>& groups, int group) {
  const auto first = std::find(groups.begin(), groups.end(), group) - groups.begin();
  const auto last = groups.rend() - std::find(groups.rbegin(), groups.rend(), group) - 1;
  if (first == last) return "core " + std::to_string(first);
  return "cores " + std::to_string(first) + "-" + std::to_string(last);
}

Json track_name(int track, const std::string& name) {
  return {
      {"ph", "M"}, {"pid", 1}, {"tid", track}, {"name", "thread_name"}, {"args", {{"name", name}}}};
}

// An op is one event on every track that it has cores of.
void add_span(const sched::StepOutline& outline, const sched::StepSpan& span,
              const std::vector<int>& groups, int group_count, Json* events) {
  const auto& graph = *outline.graph;
  const auto& instance = graph.instances[at(graph.nodes[at(span.node)].instance)];
  const bool siblings = span.placement == sched::Placement::kSiblings;
  std::set<int> tracks;
  span.cores.each(
      [&](int slot) { tracks.insert(groups[at(slot)] + (siblings ? group_count : 0)); });
  const Json args = {{"node", span.node},
                     {"shape", instance.shape},
                     {"width", span.which.width},
                     {"binding", binding_name(span.which.binding)},
                     {"lane", span.lane},
                     {"alone_us", span.alone_seconds * kMicroseconds},
                     {"switching_us", span.switching_seconds * kMicroseconds}};
  for (const int track : tracks) {
    events->push_back({{"ph", "X"},
                       {"pid", 1},
                       {"tid", track},
                       {"name", instance.op},
                       {"cat", siblings ? "siblings" : "cores"},
                       {"ts", span.start * kMicroseconds},
                       {"dur", (span.end - span.start) * kMicroseconds},
                       {"args", args}});
  }
}

}  // namespace

std::string simulation_trace(const sched::StepOutline& outline, const sched::StepOutcome& step,
                             const std::string& title) {
  const std::vector<int> groups = groups_of(*outline.map);
  const int group_count = groups.back() + 1;
  Json events = Json::array();
  events.push_back(
      {{"ph", "M"}, {"pid", 1}, {"name", "process_name"}, {"args", {{"name", title}}}});
  const bool fills = std::any_of(step.spans.begin(), step.spans.end(), [](const auto& span) {
    return span.placement == sched::Placement::kSiblings;
  });
  for (int group = 0; group < group_count; ++group) {
    events.push_back(track_name(group, group_name(groups, group)));
    if (fills) {
      events.push_back(
          track_name(group_count + group, group_name(groups, group) + ", hardware threads"));
    }
  }
  for (const sched::StepSpan& span : step.spans) {
    add_span(outline, span, groups, group_count, &events);
  }
  return Json{{"displayTimeUnit", "ms"}, {"traceEvents", std::move(events)}}.dump(
      -1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace optile::cli
