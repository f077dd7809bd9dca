#include "bindings/cli/simulate/simulation_trace.h"

#include <algorithm>
#include <set>

#include "base/at.h"
#include "bindings/cli/support/chrome_trace.h"

namespace optile::cli {
namespace {

using base::at;

using sched::CoreMap;

constexpr double kMicroseconds = 1e6;

// By slot, of so many tiles (or cores) of one NUMA node together.
std::vector<int> groups_with(const CoreMap& map, bool by_core, int together) {
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

// Which group of cores each slot belongs to: whole tiles of one NUMA node, at most so many groups
// that they can be looked at; of a machine that is one or two tiles, each core.
std::vector<int> groups_of(const CoreMap& map) {
  const int tiles = static_cast<int>(map.tiles.size());
  const bool by_core = tiles < 3 && map.cores <= kMostTraceGroups;
  const int units = by_core ? map.cores : tiles;
  // The last group of each node may be a smaller one, so that there are more than by division.
  int together = (units + kMostTraceGroups - 1) / kMostTraceGroups;
  std::vector<int> groups = groups_with(map, by_core, together);
  while (groups.back() >= std::max(kMostTraceGroups, map.nodes) && together < units) {
    groups = groups_with(map, by_core, ++together);
  }
  return groups;
}

std::string group_name(const std::vector<int>& groups, int group) {
  const auto first = std::find(groups.begin(), groups.end(), group) - groups.begin();
  const auto last = groups.rend() - std::find(groups.rbegin(), groups.rend(), group) - 1;
  if (first == last) return "core " + std::to_string(first);
  return "cores " + std::to_string(first) + "-" + std::to_string(last);
}

// Viewers draw what overlaps on one track as if one had called the other, or drop it: ops that
// share a group of cores at one time are on rows below each other. First the groups, then their
// second hardware threads.
class Tracks {
 public:
  Tracks(const CoreMap& map, const std::vector<sched::StepSpan>& spans)
      : groups_(groups_of(map)), rows_(2 * at(group_count())), places_(spans.size()) {
    for (std::size_t i = 0; i < spans.size(); ++i) place(spans[i], &places_[i]);
    for (int group = 0; group < group_count(); ++group) {
      if (rows_[at(group)].empty()) rows_[at(group)].push_back(0);  // idle cores are a track too
    }
    for (const std::vector<double>& rows : rows_) {
      first_.push_back(count_);
      count_ += static_cast<int>(rows.size());
    }
  }

  std::vector<int> of(std::size_t span) const {
    std::vector<int> tracks;
    for (const auto& [lot, row] : places_[span]) tracks.push_back(first_[at(lot)] + row);
    return tracks;
  }
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (int lot = 0; lot < 2 * group_count(); ++lot) {
      const std::string name = group_name(groups_, lot % group_count()) +
                               (lot < group_count() ? "" : ", hardware threads");
      for (std::size_t row = 0; row < rows_[at(lot)].size(); ++row) {
        names.push_back(row == 0 ? name : name + " (" + std::to_string(row + 1) + ")");
      }
    }
    return names;
  }

 private:
  struct Place {
    int lot = 0;  // a group, or behind all of them its hardware threads
    int row = 0;
  };

  int group_count() const { return groups_.back() + 1; }

  // Spans come in the order of their starts, so a row is free once its last op has ended.
  void place(const sched::StepSpan& span, std::vector<Place>* out) {
    const int behind = span.placement == sched::Placement::kSiblings ? group_count() : 0;
    std::set<int> lots;
    span.cores.each([&](int slot) { lots.insert(groups_[at(slot)] + behind); });
    for (const int lot : lots) {
      std::vector<double>& ends = rows_[at(lot)];
      const auto free =
          std::find_if(ends.begin(), ends.end(), [&](double end) { return end <= span.start; });
      out->push_back({lot, static_cast<int>(free - ends.begin())});
      if (free == ends.end()) {
        ends.push_back(span.end);
      } else {
        *free = span.end;
      }
    }
  }

  std::vector<int> groups_;                 // by slot
  std::vector<std::vector<double>> rows_;   // by lot and row: when its last op ends
  std::vector<std::vector<Place>> places_;  // by span
  std::vector<int> first_;                  // by lot: its first track
  int count_ = 0;
};

void add_span(const sched::StepOutline& outline, const sched::StepSpan& span,
              const std::vector<int>& tracks, ChromeTrace* trace) {
  const auto& graph = *outline.graph;
  const auto& instance = graph.instances[at(graph.nodes[at(span.node)].instance)];
  const bool siblings = span.placement == sched::Placement::kSiblings;
  const nlohmann::json args = {{"node", span.node},
                               {"shape", instance.shape},
                               {"width", span.which.width},
                               {"binding", binding_name(span.which.binding)},
                               {"lane", span.lane},
                               {"alone_us", span.alone_seconds * kMicroseconds},
                               {"switching_us", span.switching_seconds * kMicroseconds}};
  for (const int track : tracks) {
    trace->add_span({1, track}, instance.op, siblings ? "siblings" : "cores", span.start, span.end,
                    args);
  }
}

}  // namespace

std::string simulation_trace(const sched::StepOutline& outline, const sched::StepOutcome& step,
                             const std::string& title) {
  const Tracks tracks(*outline.map, step.spans);
  ChromeTrace trace;
  trace.name_process(1, title);
  int track = 0;
  for (const std::string& name : tracks.names()) trace.name_track({1, track++}, name);
  for (std::size_t i = 0; i < step.spans.size(); ++i) {
    add_span(outline, step.spans[i], tracks.of(i), &trace);
  }
  return trace.text();
}

}  // namespace optile::cli
