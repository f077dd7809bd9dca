#include "placement/tofu/table_sum.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

namespace optile::placement::tofu {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Walks over all values of some variables while it keeps the places in tables up to date.
class Walk {
 public:
  Walk(const std::vector<int>& over, const std::vector<int>& sizes) : over_(over), at_(over) {
    for (const int variable : over) sizes_.push_back(sizes[static_cast<std::size_t>(variable)]);
    std::fill(at_.begin(), at_.end(), 0);
  }

  void follow(const Table& table, const std::vector<int>& sizes) {
    std::vector<std::size_t> steps(over_.size());
    std::size_t step = 1;
    for (std::size_t i = table.scope.size(); i-- > 0;) {
      const auto place = std::find(over_.begin(), over_.end(), table.scope[i]) - over_.begin();
      steps[static_cast<std::size_t>(place)] = step;
      step *= static_cast<std::size_t>(sizes[static_cast<std::size_t>(table.scope[i])]);
    }
    steps_.push_back(std::move(steps));
    values_.push_back(table.values.data());
  }

  double sum() const {
    double all = 0;
    for (const double* value : values_) all += *value;
    return all;
  }

  // The last variable moves fastest; false after the last values.
  bool next() {
    for (std::size_t i = over_.size(); i-- > 0;) {
      const bool wraps = ++at_[i] == sizes_[i];
      const auto back = static_cast<std::size_t>(sizes_[i] - 1);
      for (std::size_t t = 0; t < values_.size(); ++t) {
        if (wraps) {
          values_[t] -= steps_[t][i] * back;
        } else {
          values_[t] += steps_[t][i];
        }
      }
      if (!wraps) return true;
      at_[i] = 0;
    }
    return false;
  }

  int value(std::size_t place) const { return at_[place]; }

 private:
  std::vector<int> over_;
  std::vector<int> at_;
  std::vector<int> sizes_;
  std::vector<std::vector<std::size_t>> steps_;
  std::vector<const double*> values_;
};

class Eliminator {
 public:
  Eliminator(const TableSum& problem, std::size_t limit)
      : sizes_(problem.sizes), limit_(limit), tables_(problem.tables), of_(sizes_.size()) {
    for (std::size_t t = 0; t < tables_.size(); ++t) attach(t);
  }

  SmallestSum run() {
    SmallestSum found;
    found.values.assign(sizes_.size(), 0);
    // (entries of the table that its removal makes, variable)
    std::set<std::pair<double, int>> queue;
    std::vector<double> keys(sizes_.size());
    for (int v = 0; v < static_cast<int>(sizes_.size()); ++v) {
      keys[static_cast<std::size_t>(v)] = entries(v);
      queue.emplace(keys[static_cast<std::size_t>(v)], v);
    }
    while (!queue.empty()) {
      int variable = queue.begin()->second;
      const bool fits = queue.begin()->first <= static_cast<double>(limit_);
      if (!fits) variable = busiest(queue);
      const std::vector<int> around = neighbours(variable);
      queue.erase({keys[static_cast<std::size_t>(variable)], variable});
      if (fits) {
        eliminate(variable, around);
      } else {
        hold(variable);
        found.exact = false;
      }
      for (const int other : around) {
        double& key = keys[static_cast<std::size_t>(other)];
        queue.erase({key, other});
        key = entries(other);
        queue.emplace(key, other);
      }
    }
    for (std::size_t i = steps_.size(); i-- > 0;) choose(steps_[i], found.values);
    return found;
  }

 private:
  struct Step {
    int variable;
    std::vector<int> scope;
    std::vector<int> best;  // row-major over the scope
  };

  std::size_t size(int variable) const {
    return static_cast<std::size_t>(sizes_[static_cast<std::size_t>(variable)]);
  }

  void attach(std::size_t table) {
    for (const int variable : tables_[table].scope) {
      of_[static_cast<std::size_t>(variable)].push_back(table);
    }
  }

  std::vector<int> neighbours(int variable) const {
    std::vector<int> found;
    for (const std::size_t t : of_[static_cast<std::size_t>(variable)]) {
      found.insert(found.end(), tables_[t].scope.begin(), tables_[t].scope.end());
    }
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    std::erase(found, variable);
    return found;
  }

  double entries(int variable) const {
    double count = static_cast<double>(size(variable));
    for (const int other : neighbours(variable)) count *= static_cast<double>(size(other));
    return count;
  }

  int busiest(const std::set<std::pair<double, int>>& queue) const {
    int most = queue.begin()->second;
    std::size_t count = 0;
    for (const auto& [key, variable] : queue) {
      const std::size_t around = neighbours(variable).size();
      if (around <= count || size(variable) == 1) continue;
      most = variable;
      count = around;
    }
    return most;
  }

  // Leaves the variable the one value whose tables could sum to least.
  void hold(int variable) {
    std::vector<double> least(size(variable), 0.0);
    for (const std::size_t t : of_[static_cast<std::size_t>(variable)]) {
      std::vector<double> own(least.size(), kInfinity);
      each(tables_[t], variable,
           [&](std::size_t value, double cost) { own[value] = std::min(own[value], cost); });
      for (std::size_t i = 0; i < own.size(); ++i) least[i] += own[i];
    }
    const auto kept =
        static_cast<std::size_t>(std::min_element(least.begin(), least.end()) - least.begin());
    for (const std::size_t t : of_[static_cast<std::size_t>(variable)]) {
      std::vector<double> values;
      each(tables_[t], variable, [&](std::size_t value, double cost) {
        if (value == kept) values.push_back(cost);
      });
      std::erase(tables_[t].scope, variable);
      tables_[t].values = std::move(values);
    }
    of_[static_cast<std::size_t>(variable)].clear();
    steps_.push_back({variable, {}, {static_cast<int>(kept)}});
  }

  template <typename Visit>
  void each(const Table& table, int variable, const Visit& visit) const {
    std::size_t step = 1;
    for (std::size_t i = table.scope.size(); table.scope[--i] != variable;) {
      step *= size(table.scope[i]);
    }
    for (std::size_t i = 0; i < table.values.size(); ++i) {
      visit(i / step % size(variable), table.values[i]);
    }
  }

  void eliminate(int variable, const std::vector<int>& around) {
    std::vector<int> over = around;
    over.push_back(variable);
    Walk walk(over, sizes_);
    const std::vector<std::size_t> used = of_[static_cast<std::size_t>(variable)];
    for (const std::size_t t : used) walk.follow(tables_[t], sizes_);
    Step step{variable, around, {}};
    Table made{around, {}};
    bool more = true;
    while (more) {
      double least = kInfinity;
      int best = 0;
      for (std::size_t value = 0; value < size(variable); ++value) {
        const double cost = walk.sum();
        if (cost < least) {
          least = cost;
          best = static_cast<int>(value);
        }
        more = walk.next();
      }
      made.values.push_back(least);
      step.best.push_back(best);
    }
    for (const std::size_t t : used) detach(t);
    steps_.push_back(std::move(step));
    if (around.empty()) return;
    tables_.push_back(std::move(made));
    attach(tables_.size() - 1);
  }

  void detach(std::size_t table) {
    for (const int variable : tables_[table].scope) {
      std::erase(of_[static_cast<std::size_t>(variable)], table);
    }
    tables_[table].values = {};
  }

  void choose(const Step& step, std::vector<int>& values) const {
    std::size_t place = 0;
    for (const int other : step.scope) {
      place =
          place * size(other) + static_cast<std::size_t>(values[static_cast<std::size_t>(other)]);
    }
    values[static_cast<std::size_t>(step.variable)] = step.best[place];
  }

  std::vector<int> sizes_;
  std::size_t limit_;
  std::vector<Table> tables_;
  std::vector<std::vector<std::size_t>> of_;  // tables of each variable
  std::vector<Step> steps_;
};

}  // namespace

SmallestSum smallest_sum(const TableSum& problem, std::size_t table_entries) {
  SmallestSum found = Eliminator(problem, table_entries).run();
  found.sum = sum_at(problem, found.values);
  return found;
}

double sum_at(const TableSum& problem, const std::vector<int>& values) {
  double sum = 0;
  for (const Table& table : problem.tables) {
    std::size_t place = 0;
    for (const int variable : table.scope) {
      const auto v = static_cast<std::size_t>(variable);
      place =
          place * static_cast<std::size_t>(problem.sizes[v]) + static_cast<std::size_t>(values[v]);
    }
    sum += table.values[place];
  }
  return sum;
}

}  // namespace optile::placement::tofu
