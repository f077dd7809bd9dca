#include "placement/strategy/iopddl_reader.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "placement/strategy/json_cursor.h"

namespace optile::placement {
namespace {

// The longest list of costs that is believed: a table of 65535 by 65535 would not fit in memory.
constexpr std::size_t kMostCosts = 100'000'000;

struct Pair {
  std::int64_t first = 0;
  std::int64_t second = 0;
};

// The parts of a file as they stand, before they are known to fit together.
struct Parts {
  std::vector<Pair> intervals;
  std::vector<std::vector<Cost>> costs;
  std::vector<std::vector<Usage>> usages;
  std::vector<Pair> ends;
  std::vector<std::vector<Cost>> edge_costs;
  StrategyProblem problem;
};

// Reads "key": for each key of an object and hands it to `value`; a key twice is an error.
template <typename Value>
void read_object(JsonCursor& in, Value value) {
  std::set<std::string> seen;
  if (!in.open('{', '}')) return;
  do {
    const std::string key = in.text();
    if (!seen.insert(key).second) in.fail("\"" + key + "\" stands here twice");
    in.take(':');
    if (in.ok()) value(key);
  } while (in.another('}'));
}

template <typename Value>
void read_array(JsonCursor& in, std::size_t most, Value value) {
  if (!in.open('[', ']')) return;
  std::size_t count = 0;
  do {
    if (++count > most) in.fail("more than " + std::to_string(most) + " elements");
    if (in.ok()) value();
  } while (in.another(']'));
}

std::int64_t not_negative(JsonCursor& in, const char* what) {
  const std::int64_t value = in.number();
  if (value < 0) in.fail(std::string(what) + " is negative");
  return value;
}

void read_pairs(JsonCursor& in, std::size_t most, const char* what, std::vector<Pair>& pairs) {
  read_array(in, most, [&] {
    Pair pair;
    in.take('[');
    pair.first = not_negative(in, what);
    in.take(',');
    pair.second = not_negative(in, what);
    in.take(']');
    pairs.push_back(pair);
  });
}

void read_lists(JsonCursor& in, std::size_t most, const char* what,
                std::vector<std::vector<std::int64_t>>& lists) {
  read_array(in, most, [&] {
    std::vector<std::int64_t> list;
    read_array(in, kMostCosts, [&] { list.push_back(not_negative(in, what)); });
    lists.push_back(std::move(list));
  });
}

void read_nodes(JsonCursor& in, Parts& parts) {
  read_object(in, [&](const std::string& key) {
    if (key == "intervals") {
      read_pairs(in, kMostStrategyNodes, "an interval's end", parts.intervals);
    } else if (key == "costs") {
      read_lists(in, kMostStrategyNodes, "a cost", parts.costs);
    } else if (key == "usages") {
      read_lists(in, kMostStrategyNodes, "a usage", parts.usages);
    } else {
      in.fail("\"" + key + "\" is nothing that nodes have");
    }
  });
}

void read_edges(JsonCursor& in, Parts& parts) {
  read_object(in, [&](const std::string& key) {
    if (key == "nodes") {
      read_pairs(in, kMostStrategyEdges, "the number of a node", parts.ends);
    } else if (key == "costs") {
      read_lists(in, kMostStrategyEdges, "a cost", parts.edge_costs);
    } else {
      in.fail("\"" + key + "\" is nothing that edges have");
    }
  });
}

void read_problem(JsonCursor& in, Parts& parts) {
  read_object(in, [&](const std::string& key) {
    if (key == "name") {
      parts.problem.name = in.text();
    } else if (key == "usage_limit") {
      parts.problem.usage_limit = not_negative(in, "the usage limit");
    } else if (key == "nodes") {
      read_nodes(in, parts);
    } else if (key == "edges") {
      read_edges(in, parts);
    } else {
      in.fail("\"" + key + "\" is nothing that a problem has");
    }
  });
}

base::Error misfit(const std::string& what) {
  return {base::ErrorKind::kInvalid, what};
}

base::Status join_nodes(Parts& parts) {
  const std::size_t count = parts.costs.size();
  if (count == 0) return misfit("the problem has no nodes");
  if (parts.usages.size() != count || parts.intervals.size() != count) {
    return misfit("nodes have " + std::to_string(count) + " lists of costs, " +
                  std::to_string(parts.usages.size()) + " of usages and " +
                  std::to_string(parts.intervals.size()) + " intervals");
  }
  parts.problem.nodes.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    StrategyNode& node = parts.problem.nodes[i];
    node.live = {parts.intervals[i].first, parts.intervals[i].second};
    node.costs = std::move(parts.costs[i]);
    node.usages = std::move(parts.usages[i]);
  }
  return {};
}

base::Status join_edges(Parts& parts) {
  const std::size_t count = parts.ends.size();
  if (parts.edge_costs.size() != count) {
    return misfit(std::to_string(count) + " edges have " + std::to_string(parts.edge_costs.size()) +
                  " lists of costs");
  }
  TableStore store;
  const auto nodes = static_cast<std::int64_t>(parts.problem.nodes.size());
  for (std::size_t i = 0; i < count; ++i) {
    const Pair ends = parts.ends[i];
    const std::string name = "edge " + std::to_string(i);
    if (ends.first >= nodes || ends.second >= nodes) {
      return misfit(name + " names a node that is not there");
    }
    CostTable table;
    table.rows = parts.problem.nodes[static_cast<std::size_t>(ends.first)].costs.size();
    table.columns = parts.problem.nodes[static_cast<std::size_t>(ends.second)].costs.size();
    table.costs = std::move(parts.edge_costs[i]);
    if (table.costs.size() != table.rows * table.columns) {
      return misfit(name + " has " + std::to_string(table.costs.size()) + " costs for " +
                    std::to_string(table.rows) + " by " + std::to_string(table.columns) +
                    " strategies");
    }
    const std::uint32_t number = store.number_of(std::move(table), parts.problem.tables);
    parts.problem.edges.push_back(
        {static_cast<std::uint32_t>(ends.first), static_cast<std::uint32_t>(ends.second), number});
  }
  return {};
}

}  // namespace

bool looks_like_iopddl(std::string_view text) {
  JsonCursor in(text);
  if (!in.open('{', '}')) return false;
  return in.text() == "problem";
}

base::Result<StrategyProblem> read_iopddl(std::string_view text) {
  JsonCursor in(text);
  Parts parts;
  bool found = false;
  read_object(in, [&](const std::string& key) {
    if (key != "problem") {
      in.fail("expected \"problem\", not \"" + key + "\"");
      return;
    }
    found = true;
    read_problem(in, parts);
  });
  if (!found) in.fail("the object has no \"problem\"");
  in.end();
  if (!in.ok()) return in.status().error();
  if (auto status = join_nodes(parts); !status.ok()) return status.error();
  if (auto status = join_edges(parts); !status.ok()) return status.error();
  if (auto status = check(parts.problem); !status.ok()) return status.error();
  return std::move(parts.problem);
}

}  // namespace optile::placement
