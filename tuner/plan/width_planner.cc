#include "tuner/plan/width_planner.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/at.h"

namespace optile::tuner {
namespace {

using base::at;

constexpr double kSettledGain = 1.64;  // standard errors a gain must exceed to be kept
constexpr double kDoubt = 1.0;         // standard errors added to a width other than the base
constexpr double kUniformMargin = 0.005;
constexpr double kSmallShare = 0.01;    // of a step
constexpr std::size_t kMostTeams = 16;  // widths the path may choose from
constexpr double kUnknown = 1e15;       // ns, for a width nothing is known of

const WidthEstimate* find(const PlannedOp& op, int width) {
  for (const WidthEstimate& estimate : op.widths) {
    if (estimate.width == width) return &estimate;
  }
  return nullptr;
}

double time_of(const PlannedOp& op, int width) {
  if (op.widths.empty()) return 0;  // never seen: the same for every plan
  const WidthEstimate* estimate = find(op, width);
  return estimate == nullptr ? kUnknown : estimate->ns;
}

std::vector<int> every_width(const PlannerProblem& problem) {
  std::set<int> widths = {problem.default_width};
  for (const PlannedOp& op : problem.ops) {
    for (const WidthEstimate& estimate : op.widths) {
      if (estimate.width <= problem.default_width) widths.insert(estimate.width);
    }
  }
  return {widths.begin(), widths.end()};
}

// Where an op has no estimate for the uniform width it stays at its own.
int uniform_width_of(const PlannerProblem& problem, const PlannedOp& op, int width) {
  return op.leave || find(op, width) == nullptr ? problem.default_width : width;
}

// Ops that nothing is known of at that width, and that hardly matter, are taken for no faster and
// no slower there: with one width for really all ops nobody has to tell one op from another.
PlannerProblem with_small_ones_at(PlannerProblem problem, int width) {
  std::vector<double> step(problem.ops.size(), 0);
  double all = 0;
  for (int op : problem.order) {
    const double ns = time_of(problem.ops[at(op)], problem.default_width);
    if (ns >= kUnknown) continue;
    step[at(op)] += ns;
    all += ns;
  }
  double unknown = 0;
  for (std::size_t i = 0; i < problem.ops.size(); ++i) {
    if (find(problem.ops[i], width) == nullptr) unknown += step[i];
  }
  if (unknown > kSmallShare * all) return problem;
  for (std::size_t i = 0; i < problem.ops.size(); ++i) {
    PlannedOp& op = problem.ops[i];
    const WidthEstimate* own = find(op, problem.default_width);
    if (own == nullptr || find(op, width) != nullptr) continue;
    op.widths.push_back({width, own->ns, own->ns});
  }
  return problem;
}

WidthPlan uniform_at(const PlannerProblem& known, int width) {
  const PlannerProblem problem = with_small_ones_at(known, width);
  std::vector<int> widths;
  widths.reserve(problem.ops.size());
  for (const PlannedOp& op : problem.ops) widths.push_back(uniform_width_of(problem, op, width));
  return evaluate(problem, std::move(widths), Rule::kUniform);
}

// One search for the shortest path: base widths, the teams to choose from, doubt added.
class Path {
 public:
  Path(const PlannerProblem& problem, std::vector<int> base, std::vector<int> teams)
      : problem_(problem), base_(std::move(base)), teams_(std::move(teams)) {}

  std::vector<int> widths() const {
    const std::size_t states = teams_.size();
    const std::size_t n = problem_.order.size();
    // Run over the step three times and read the middle one: its start follows an end, its end
    // leads to a start.
    std::vector<std::vector<std::size_t>> from(3 * n, std::vector<std::size_t>(states));
    std::vector<double> cost(states, 0);
    for (std::size_t i = 0; i < 3 * n; ++i) {
      std::vector<double> next(states);
      for (std::size_t s = 0; s < states; ++s) {
        std::size_t best = s;
        for (std::size_t p = 0; p < states; ++p) {
          if (cost[p] + change(p, s) < cost[best] + change(best, s)) best = p;
        }
        from[i][s] = best;
        next[s] = cost[best] + change(best, s) + cheaper(problem_.order[i % n], teams_[s]).second;
      }
      cost = std::move(next);
    }
    return read_back(from, cost);
  }

 private:
  double change(std::size_t from, std::size_t to) const {
    return static_cast<double>(problem_.cost.between(teams_[from], teams_[to]).count());
  }

  // Width 1 needs no team, so it is open to an op whatever the team around it.
  std::pair<int, double> cheaper(int op, int team) const {
    if (problem_.ops[at(op)].leave) {
      const double here = team == problem_.default_width ? 0 : 2 * change_to_own(team);
      return {problem_.default_width, doubted(op, problem_.default_width) + here};
    }
    const double with_team = doubted(op, team);
    const double alone = doubted(op, 1);
    return alone < with_team ? std::pair{1, alone} : std::pair{team, with_team};
  }

  double change_to_own(int team) const {
    return static_cast<double>(problem_.cost.between(team, problem_.default_width).count());
  }

  double doubted(int op, int width) const {
    const PlannedOp& planned = problem_.ops[at(op)];
    const double ns = time_of(planned, width);
    const int base = base_[at(op)];
    const WidthEstimate* here = find(planned, width);
    const WidthEstimate* there = find(planned, base);
    if (width == base || here == nullptr || there == nullptr) return ns;
    return ns + kDoubt * std::hypot(here->error_ns, there->error_ns);
  }

  // An op that stands in several places of the step gets the width most of them chose.
  std::vector<int> read_back(const std::vector<std::vector<std::size_t>>& from,
                             const std::vector<double>& cost) const {
    const std::size_t n = problem_.order.size();
    auto state =
        static_cast<std::size_t>(std::min_element(cost.begin(), cost.end()) - cost.begin());
    std::vector<std::map<int, int>> votes(problem_.ops.size());
    for (std::size_t i = 3 * n; i-- > n;) {
      const int op = problem_.order[i % n];
      if (i < 2 * n) ++votes[at(op)][cheaper(op, teams_[state]).first];
      state = from[i][state];
    }
    std::vector<int> widths = base_;
    for (std::size_t op = 0; op < votes.size(); ++op) {
      int most = 0;
      for (const auto& [width, count] : votes[op]) {
        if (count > most) {
          most = count;
          widths[op] = width;
        }
      }
    }
    return widths;
  }

  const PlannerProblem& problem_;
  std::vector<int> base_;
  std::vector<int> teams_;
};

// Team widths worth a state of the path: the base's, and those at which the most time is best
// spent.
std::vector<int> team_widths(const PlannerProblem& problem, int base) {
  std::map<int, double> worth;
  std::vector<int> count(problem.ops.size(), 0);
  for (int op : problem.order) ++count[at(op)];
  for (std::size_t i = 0; i < problem.ops.size(); ++i) {
    const PlannedOp& op = problem.ops[i];
    if (op.leave || op.widths.empty()) continue;
    const auto best = std::min_element(op.widths.begin(), op.widths.end(),
                                       [](auto& a, auto& b) { return a.ns < b.ns; });
    if (best->width > 1) worth[best->width] += best->ns * count[i];
  }
  worth[base] = std::numeric_limits<double>::max();
  worth[problem.default_width] = std::numeric_limits<double>::max();
  std::vector<std::pair<double, int>> ranked;
  for (const auto& [width, ns] : worth) {
    if (width <= problem.default_width) ranked.push_back({ns, width});
  }
  std::sort(ranked.rbegin(), ranked.rend());
  if (ranked.size() > kMostTeams) ranked.resize(kMostTeams);
  std::vector<int> teams;
  teams.reserve(ranked.size());
  for (const auto& [ns, width] : ranked) teams.push_back(width);
  std::sort(teams.begin(), teams.end());
  return teams;
}

// Gain over the base of running op at `width`, per execution, with its variance.
struct Gain {
  double ns = 0;
  double variance = 0;
};
Gain gain_of(const PlannedOp& op, int base, int width) {
  const WidthEstimate* from = find(op, base);
  const WidthEstimate* to = find(op, width);
  if (from == nullptr || to == nullptr) return {-kUnknown, 0};
  return {from->ns - to->ns, from->error_ns * from->error_ns + to->error_ns * to->error_ns};
}

bool settled(const Gain& gain, double price_ns) {
  return gain.ns - price_ns > kSettledGain * std::sqrt(gain.variance);
}

// The team that works just before (direction -1) or after (+1) a position of the endless step.
int team_beside(const PlannerProblem& problem, const std::vector<int>& widths, std::size_t from,
                int direction) {
  const std::size_t n = problem.order.size();
  std::size_t i = from;
  for (std::size_t seen = 0; seen < n; ++seen) {
    i = direction > 0 ? (i + 1) % n : (i + n - 1) % n;
    const int width = widths[at(problem.order[i])];
    if (width > 1) return width;
  }
  return widths[at(problem.order[from])];
}

// What the changes around a stretch cost more than they would with its ops back at the base.
double price_of(const PlannerProblem& problem, const std::vector<int>& base,
                const std::vector<int>& widths, std::size_t begin, std::size_t last) {
  const int before = team_beside(problem, widths, begin, -1);
  const int after = team_beside(problem, widths, last, 1);
  const int first_op = problem.order[begin];
  const int last_op = problem.order[last];
  const auto cost = [&](int from, int to) {
    return static_cast<double>(problem.cost.between(from, to).count());
  };
  return cost(before, widths[at(first_op)]) + cost(widths[at(last_op)], after) -
         cost(before, base[at(first_op)]) - cost(base[at(last_op)], after);
}

// Single ops at width 1: free to go there, so only the gain over the team around them has to be
// settled.
bool drop_unsettled_alone(const PlannerProblem& problem, const std::vector<int>& base,
                          std::vector<int>& widths) {
  bool dropped = false;
  std::vector<bool> seen(widths.size(), false);
  for (std::size_t i = 0; i < problem.order.size(); ++i) {
    const auto op = at(problem.order[i]);
    if (seen[op] || widths[op] == base[op] || widths[op] != 1) continue;
    seen[op] = true;
    const int beside = team_beside(problem, widths, i, -1);
    const int team = beside > 1 && find(problem.ops[op], beside) != nullptr ? beside : base[op];
    if (settled(gain_of(problem.ops[op], team, 1), 0)) continue;
    widths[op] = team;
    dropped = true;
  }
  return dropped;
}

// Stretches of the step with another team than the base: their gain has to pay for the changes too.
bool drop_unsettled_stretches(const PlannerProblem& problem, const std::vector<int>& base,
                              std::vector<int>& widths) {
  bool dropped = false;
  const std::size_t n = problem.order.size();
  const auto team_at = [&](std::size_t i) {
    const auto op = at(problem.order[i]);
    return widths[op] != base[op] && widths[op] > 1 ? widths[op] : 0;
  };
  for (std::size_t begin = 0, end = 0; begin < n; begin = std::max(end, begin + 1)) {
    Gain gain;
    for (end = begin; end < n && team_at(end) != 0 && team_at(end) == team_at(begin); ++end) {
      const auto op = at(problem.order[end]);
      const Gain one = gain_of(problem.ops[op], base[op], widths[op]);
      gain.ns += one.ns;
      gain.variance += one.variance;
    }
    if (end == begin) continue;
    const double price = end - begin == n ? 0 : price_of(problem, base, widths, begin, end - 1);
    if (settled(gain, price)) continue;
    for (std::size_t k = begin; k < end; ++k)
      widths[at(problem.order[k])] = base[at(problem.order[k])];
    dropped = true;
  }
  return dropped;
}

WidthPlan settled_path(const PlannerProblem& problem, const std::vector<int>& base,
                       const std::vector<int>& teams) {
  std::vector<int> widths = Path(problem, base, teams).widths();
  constexpr int kMostRounds = 8;
  for (int round = 0; round < kMostRounds; ++round) {
    const bool alone = drop_unsettled_alone(problem, base, widths);
    const bool stretches = drop_unsettled_stretches(problem, base, widths);
    if (!alone && !stretches) break;
  }
  return evaluate(problem, std::move(widths), Rule::kPlanned);
}

}  // namespace

WidthPlan evaluate(const PlannerProblem& problem, std::vector<int> widths, Rule rule) {
  WidthPlan plan;
  for (int op : problem.order) plan.run_ns += time_of(problem.ops[at(op)], widths[at(op)]);
  int team = 0;  // the last width above 1
  for (std::size_t pass = 0; pass < 2; ++pass) {
    for (int op : problem.order) {
      const int width = widths[at(op)];
      if (width <= 1 || problem.ops[at(op)].widths.empty()) continue;
      // The first pass only finds the team that the step's end leaves behind.
      if (pass == 1 && team != width) {
        plan.switching_ns += static_cast<double>(problem.cost.between(team, width).count());
        ++plan.changes;
      }
      team = width;
    }
  }
  plan.rules.reserve(widths.size());
  for (std::size_t i = 0; i < widths.size(); ++i) {
    const bool own = widths[i] == problem.default_width;
    plan.rules.push_back(problem.ops[i].leave ? Rule::kLeftAlone
                         : own                ? Rule::kDefaultWidth
                                              : rule);
  }
  plan.widths = std::move(widths);
  return plan;
}

WidthPlan plan_own(const PlannerProblem& problem) {
  return evaluate(problem, std::vector<int>(problem.ops.size(), problem.default_width),
                  Rule::kDefaultWidth);
}

WidthPlan plan_uniform(const PlannerProblem& problem) {
  const WidthPlan own = plan_own(problem);
  std::optional<WidthPlan> best;
  for (int width : every_width(problem)) {
    if (width == problem.default_width) continue;
    WidthPlan plan = uniform_at(problem, width);
    if (!best || plan.total_ns() < best->total_ns()) best = std::move(plan);
  }
  const bool better = best && best->total_ns() < own.total_ns() * (1 - kUniformMargin);
  return better ? *best : own;
}

WidthPlan plan_each_best(const PlannerProblem& problem) {
  std::vector<int> widths;
  for (const PlannedOp& op : problem.ops) {
    const bool own = op.leave || op.best_width <= 0 || op.best_width > problem.default_width;
    widths.push_back(own ? problem.default_width : op.best_width);
  }
  WidthPlan plan = evaluate(problem, std::move(widths), Rule::kFastest);
  for (std::size_t i = 0; i < problem.ops.size(); ++i) {
    if (plan.rules[i] == Rule::kFastest) plan.rules[i] = problem.ops[i].best_rule;
  }
  return plan;
}

WidthPlan plan_one_per_name(const PlannerProblem& problem) {
  std::map<std::string, std::size_t> slowest;
  for (std::size_t i = 0; i < problem.ops.size(); ++i) {
    const PlannedOp& op = problem.ops[i];
    if (op.leave) continue;
    const auto [found, fresh] = slowest.emplace(op.name, i);
    const double known = time_of(problem.ops[found->second], problem.default_width);
    if (!fresh && time_of(op, problem.default_width) > known) found->second = i;
  }
  PlannerProblem of_name = problem;
  for (PlannedOp& op : of_name.ops) {
    if (op.leave) continue;
    const PlannedOp& model = problem.ops[slowest.at(op.name)];
    op.best_width = model.best_width;
    op.best_rule = model.best_rule;
  }
  return plan_each_best(of_name);
}

WidthPlan plan_shortest_path(const PlannerProblem& problem) {
  const WidthPlan base = plan_uniform(problem);
  int base_team = problem.default_width;
  for (int width : base.widths) {
    if (width > 1 && width != problem.default_width) base_team = width;
  }
  const std::vector<int> teams = team_widths(problem, base_team);
  WidthPlan best = base;
  const auto consider = [&](WidthPlan plan) {
    if (plan.total_ns() < best.total_ns()) best = std::move(plan);
  };
  if (problem.one_team) {
    for (int team : teams) {
      std::vector<int> from;
      for (const PlannedOp& op : problem.ops) from.push_back(uniform_width_of(problem, op, team));
      consider(settled_path(problem, from, {team}));
    }
  } else {
    consider(settled_path(problem, base.widths, teams));
  }
  for (std::size_t i = 0; i < best.rules.size(); ++i) {
    const PlannedOp& op = problem.ops[i];
    if (best.widths[i] == problem.default_width || op.leave) continue;
    const bool fastest = best.widths[i] == op.best_width && op.best_rule != Rule::kDefaultWidth;
    best.rules[i] = fastest ? op.best_rule : Rule::kPlanned;
  }
  return best;
}

WidthPlan plan_widths(const PlannerProblem& problem, Strategy strategy) {
  switch (strategy) {
    case Strategy::kOne:
      return plan_each_best(problem);
    case Strategy::kTwo:
    case Strategy::kThree:
    case Strategy::kFour:
    case Strategy::kLookAhead:
      return plan_one_per_name(problem);
    case Strategy::kUniform:
      return plan_uniform(problem);
    case Strategy::kAuto:
      return plan_shortest_path(problem);
  }
  return plan_own(problem);
}

}  // namespace optile::tuner
