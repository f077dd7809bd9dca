#include "placement/strategy/elimination.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <queue>
#include <tuple>
#include <utility>

namespace optile::placement {
namespace {

void insert_sorted(std::vector<std::uint32_t>& into, std::uint32_t value) {
  const auto at = std::lower_bound(into.begin(), into.end(), value);
  if (at == into.end() || *at != value) into.insert(at, value);
}

void erase_sorted(std::vector<std::uint32_t>& from, std::uint32_t value) {
  const auto at = std::lower_bound(from.begin(), from.end(), value);
  if (at != from.end() && *at == value) from.erase(at);
}

}  // namespace

Elimination::Elimination(const Core& core, EliminationLimits limits)
    : core_(core), limits_(limits), local_(core.nodes.size(), -1) {}

void Elimination::load(const std::vector<std::uint32_t>& window, const NodeCosts& costs,
                       const Allowed* allowed, const Values& values) {
  variables_.clear();
  variables_.resize(window.size());
  factors_.clear();
  steps_.clear();
  stored_ = 0;
  for (std::uint32_t i = 0; i < window.size(); ++i) {
    local_[window[i]] = static_cast<std::int32_t>(i);
    variables_[i].node = window[i];
    load_variable(i, costs, allowed, values);
  }
  for (std::uint32_t i = 0; i < window.size(); ++i) load_edges(i, values);
}

void Elimination::load_variable(std::uint32_t variable, const NodeCosts& costs,
                                const Allowed* allowed, const Values& values) {
  Variable& of = variables_[variable];
  const std::uint16_t present = values[of.node];
  if (allowed != nullptr) {
    of.domain = (*allowed)[of.node];
    if (std::find(of.domain.begin(), of.domain.end(), present) == of.domain.end()) {
      of.domain.push_back(present);
    }
  } else {
    for (std::size_t s = 0; s < costs[of.node].size(); ++s) {
      of.domain.push_back(static_cast<std::uint16_t>(s));
    }
  }
  for (std::size_t s = 0; s < of.domain.size(); ++s) {
    of.costs.push_back(costs[of.node][of.domain[s]]);
    if (of.domain[s] == present) of.chosen = static_cast<std::uint16_t>(s);
  }
}

void Elimination::load_edges(std::uint32_t variable, const Values& values) {
  Variable& of = variables_[variable];
  for (const CoreNeighbour& other : core_.neighbours[of.node]) {
    if (local_[other.node] >= 0) {
      if (local_[other.node] > static_cast<std::int32_t>(variable)) add_pair(variable, other);
      continue;
    }
    CoreNeighbour back = other;
    back.is_first = !other.is_first;
    const double* row = core_.row(back, values[other.node]);
    for (std::size_t s = 0; s < of.domain.size(); ++s) of.costs[s] += row[of.domain[s]];
  }
}

// A table of two variables: the core's own where both have all their strategies.
void Elimination::add_pair(std::uint32_t variable, const CoreNeighbour& other) {
  const auto far = static_cast<std::uint32_t>(local_[other.node]);
  const Variable& a = variables_[variable];
  const Variable& b = variables_[far];
  Factor factor;
  factor.variables = {variable, far};
  const bool whole = a.domain.size() == core_.nodes[a.node].costs.size() &&
                     b.domain.size() == core_.nodes[b.node].costs.size();
  if (whole) {
    factor.data = core_.row(other, 0);
  } else {
    for (std::uint16_t row : a.domain) {
      const double* costs = core_.row(other, row);
      for (std::uint16_t column : b.domain) factor.own.push_back(costs[column]);
    }
  }
  add_factor(std::move(factor));
}

void Elimination::add_factor(Factor factor) {
  const auto number = static_cast<std::uint32_t>(factors_.size());
  stored_ += factor.own.size();
  for (std::uint32_t variable : factor.variables) {
    variables_[variable].factors.push_back(number);
    for (std::uint32_t other : factor.variables) {
      if (other != variable) insert_sorted(variables_[variable].neighbours, other);
    }
  }
  factors_.push_back(std::move(factor));
  if (factors_.back().data == nullptr) factors_.back().data = factors_.back().own.data();
}

double Elimination::entries(std::uint32_t variable) const {
  const Variable& of = variables_[variable];
  double product = static_cast<double>(of.domain.size());
  for (std::uint32_t other : of.neighbours) {
    product *= static_cast<double>(variables_[other].domain.size());
    if (product > 1e15) break;
  }
  return product;
}

double Elimination::merit(std::uint32_t variable, std::mt19937_64& random) const {
  const double noise = static_cast<double>(random() >> 40) / static_cast<double>(1 << 24);
  return std::log2(entries(variable)) + 0.5 * noise;
}

// What holds up the cheapest elimination most: of it and its neighbours, the one with most
// neighbours of its own.
std::uint32_t Elimination::to_hold(std::uint32_t least, std::mt19937_64& random) const {
  std::uint32_t most = least;
  double weight = -1;
  const auto look = [&](std::uint32_t variable) {
    const double noise = static_cast<double>(random() >> 40) / static_cast<double>(1 << 24);
    const Variable& of = variables_[variable];
    const auto neighbours = static_cast<double>(of.neighbours.size());
    const double own = std::log2(static_cast<double>(of.domain.size()) + 1) *
                       std::pow(neighbours, degree_power_) * (0.5 + noise);
    if (own <= weight) return;
    weight = own;
    most = variable;
  };
  look(least);
  for (std::uint32_t other : variables_[least].neighbours) look(other);
  return most;
}

void Elimination::detach(std::uint32_t variable) {
  for (std::uint32_t other : variables_[variable].neighbours) {
    erase_sorted(variables_[other].neighbours, variable);
  }
}

std::vector<Elimination::View> Elimination::views_of(
    std::uint32_t variable, const std::vector<std::uint32_t>& scope) const {
  std::vector<View> views;
  for (std::uint32_t number : variables_[variable].factors) {
    const Factor& factor = factors_[number];
    View view;
    view.at = factor.data;
    view.steps.assign(scope.size(), 0);
    std::size_t step = 1;
    for (std::size_t k = factor.variables.size(); k-- > 0;) {
      const std::uint32_t other = factor.variables[k];
      if (other == variable) {
        view.own_step = step;
      } else {
        const auto at = std::lower_bound(scope.begin(), scope.end(), other) - scope.begin();
        view.steps[static_cast<std::size_t>(at)] = step;
      }
      step *= variables_[other].domain.size();
    }
    views.push_back(std::move(view));
  }
  return views;
}

// For every choice of the scope, the least over the variable's own strategies. The last of the
// scope runs innermost, along memory.
void Elimination::minimise(const Variable& of, const std::vector<std::uint32_t>& scope,
                           std::vector<View>& views, std::vector<double>& out) {
  const std::size_t inner = scope.empty() ? 1 : variables_[scope.back()].domain.size();
  const std::size_t outer = out.size() / inner;
  std::vector<std::size_t> digit(scope.size(), 0);
  sums_.resize(inner);
  for (std::size_t block = 0; block < outer; ++block) {
    double* least = &out[block * inner];
    std::fill(least, least + inner, std::numeric_limits<double>::infinity());
    for (std::size_t own = 0; own < of.domain.size(); ++own) {
      std::fill(sums_.begin(), sums_.end(), of.costs[own]);
      for (const View& view : views) {
        const double* from = view.at + own * view.own_step;
        const std::size_t step = scope.empty() ? 0 : view.steps.back();
        if (step == 1) {
          for (std::size_t k = 0; k < inner; ++k) sums_[k] += from[k];
        } else {
          for (std::size_t k = 0; k < inner; ++k) sums_[k] += from[k * step];
        }
      }
      for (std::size_t k = 0; k < inner; ++k) least[k] = std::min(least[k], sums_[k]);
    }
    for (std::size_t k = scope.size() - (scope.empty() ? 0 : 1); k-- > 0;) {
      const bool wraps = ++digit[k] == variables_[scope[k]].domain.size();
      for (View& view : views) {
        if (wraps) {
          view.at -= view.steps[k] * (digit[k] - 1);
        } else {
          view.at += view.steps[k];
        }
      }
      if (!wraps) break;
      digit[k] = 0;
    }
  }
}

void Elimination::eliminate(std::uint32_t variable) {
  Variable& of = variables_[variable];
  const std::vector<std::uint32_t> scope = of.neighbours;
  std::size_t size = 1;
  for (std::uint32_t other : scope) size *= variables_[other].domain.size();
  Factor made;
  made.variables = scope;
  made.own.resize(size);
  std::vector<View> views = views_of(variable, scope);
  minimise(of, scope, views, made.own);
  detach(variable);
  of.done = true;
  for (std::uint32_t number : of.factors) {
    for (std::uint32_t other : factors_[number].variables) {
      if (other != variable) std::erase(variables_[other].factors, number);
    }
  }
  steps_.push_back({variable, of.factors});
  if (scope.size() == 1) {
    std::vector<double>& costs = variables_[scope[0]].costs;
    for (std::size_t s = 0; s < costs.size(); ++s) costs[s] += made.own[s];
  } else if (scope.size() > 1) {
    add_factor(std::move(made));
  }
}

void Elimination::slice(std::uint32_t number, std::uint32_t variable) {
  const Factor& from = factors_[number];
  Factor to;
  std::size_t inner = 1;
  std::size_t outer = 1;
  bool passed = false;
  for (std::uint32_t other : from.variables) {
    if (other == variable) {
      passed = true;
      continue;
    }
    to.variables.push_back(other);
    (passed ? inner : outer) *= variables_[other].domain.size();
  }
  const Variable& of = variables_[variable];
  for (std::size_t block = 0; block < outer; ++block) {
    const double* row = from.data + (block * of.domain.size() + of.chosen) * inner;
    to.own.insert(to.own.end(), row, row + inner);
  }
  for (std::uint32_t other : to.variables) std::erase(variables_[other].factors, number);
  if (to.variables.size() == 1) {
    std::vector<double>& costs = variables_[to.variables[0]].costs;
    for (std::size_t s = 0; s < costs.size(); ++s) costs[s] += to.own[s];
  } else {
    add_factor(std::move(to));
  }
}

void Elimination::hold(std::uint32_t variable) {
  detach(variable);
  variables_[variable].done = true;
  const std::vector<std::uint32_t> numbers = variables_[variable].factors;
  for (std::uint32_t number : numbers) slice(number, variable);
}

// Once all later variables have chosen: the best reply to them.
void Elimination::choose(const Step& step) {
  Variable& of = variables_[step.variable];
  std::vector<double> costs = of.costs;
  for (std::uint32_t number : step.factors) {
    const Factor& factor = factors_[number];
    std::size_t at = 0;
    std::size_t stride = 1;
    std::size_t own = 0;
    for (std::size_t k = factor.variables.size(); k-- > 0;) {
      const Variable& other = variables_[factor.variables[k]];
      if (factor.variables[k] == step.variable) {
        own = stride;
      } else {
        at += stride * other.chosen;
      }
      stride *= other.domain.size();
    }
    for (std::size_t s = 0; s < costs.size(); ++s) costs[s] += factor.data[at + s * own];
  }
  const auto least = std::min_element(costs.begin(), costs.end());
  // A tie keeps the present strategy, so that nothing moves without a gain.
  if (*least < costs[of.chosen]) of.chosen = static_cast<std::uint16_t>(least - costs.begin());
}

std::size_t Elimination::improve(const std::vector<std::uint32_t>& window, const NodeCosts& costs,
                                 const Allowed* allowed, std::mt19937_64& random, Values& values) {
  load(window, costs, allowed, values);
  // Hubs are the best to hold, but must not be held every time.
  degree_power_ = 0.5 * static_cast<double>(random() % 3);
  using Entry = std::tuple<double, std::uint32_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  std::vector<double> merit_of(window.size());
  const auto enqueue = [&](std::uint32_t variable) {
    merit_of[variable] = merit(variable, random);
    queue.emplace(merit_of[variable], variable);
  };
  for (std::uint32_t i = 0; i < window.size(); ++i) enqueue(i);
  std::size_t held = 0;
  while (!queue.empty()) {
    const auto [merit_then, variable] = queue.top();
    if (variables_[variable].done || merit_then != merit_of[variable]) {
      queue.pop();
      continue;
    }
    const double size = entries(variable);
    const auto room =
        static_cast<double>(limits_.total_entries - std::min(stored_, limits_.total_entries));
    const bool fits = size <= static_cast<double>(limits_.table_entries) &&
                      (size <= room || variables_[variable].neighbours.size() < 2);
    const std::uint32_t which = fits ? variable : to_hold(variable, random);
    const std::vector<std::uint32_t> around = variables_[which].neighbours;
    if (fits) {
      queue.pop();
      eliminate(variable);
    } else {
      hold(which);
      ++held;
    }
    for (std::uint32_t other : around) enqueue(other);
  }
  for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) choose(*step);
  for (const Variable& of : variables_) {
    values[of.node] = of.domain[of.chosen];
    local_[of.node] = -1;
  }
  return held;
}

}  // namespace optile::placement
