#include "sched/leases/core_knapsack.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <queue>

namespace optile::sched {
namespace {

constexpr double kNothing = 1e-12;  // relative: worths closer than this are equal
constexpr int kPolishRounds = 4;

// From here on a choice is the number of cores beyond `least`. A segment of a row's hull.
struct Segment {
  double slope = 0;
  std::size_t row = 0;
  std::size_t end = 0;  // its place in the hull

  // Comes after it: by slope, then by row.
  bool operator<(const Segment& other) const {
    return slope != other.slope ? slope < other.slope : row > other.row;
  }
};

class Knapsack {
 public:
  Knapsack(const std::vector<KnapsackRow>& rows, int cores) : rows_(rows) {
    room_ = cores;
    for (const KnapsackRow& row : rows_) room_ -= row.least;
    room_ = std::max(room_, 0);
    chosen_.assign(rows_.size(), 0);
    last_.reserve(rows_.size());
    for (const KnapsackRow& row : rows_) last_.push_back(last_useful(row));
  }

  KnapsackChoice solve(uint64_t most_operations) {
    take_hull_segments();
    fill_what_is_left();
    const double gap = bound_ - worth();
    bool exact = gap <= kNothing * std::max(1.0, bound_);
    if (!exact) {
      find_candidates(gap);
      exact = operations_ + programming_cost() <= most_operations;
      if (exact) {
        program();
      } else {
        exchange_in_pairs(most_operations);
      }
    }
    KnapsackChoice choice;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      choice.cores.push_back(rows_[i].least + chosen_[i]);
    }
    choice.worth = worth();
    choice.bound = exact ? choice.worth : bound_;
    choice.exact = exact;
    choice.operations = operations_;
    return choice;
  }

 private:
  // What is beyond costs more cores and is worth no more.
  int last_useful(const KnapsackRow& row) {
    const auto count = std::min(row.worth.size(), static_cast<std::size_t>(room_) + 1);
    const auto end = row.worth.begin() + static_cast<std::ptrdiff_t>(count);
    operations_ += count;
    return static_cast<int>(std::max_element(row.worth.begin(), end) - row.worth.begin());
  }
  int last(std::size_t row) const { return last_[row]; }
  double value(std::size_t row, int extra) const {
    return rows_[row].worth[static_cast<std::size_t>(extra)];
  }
  double worth() const {
    double sum = 0;
    for (std::size_t i = 0; i < rows_.size(); ++i) sum += value(i, chosen_[i]);
    return sum;
  }

  double slope(std::size_t row, int from, int to) const {
    return (value(row, to) - value(row, from)) / (to - from);
  }

  // Whether `middle` is below the line from `from` to `to`. Without a division: it is asked often.
  bool below(std::size_t row, int from, int middle, int to) const {
    const double first = middle - from;
    const double both = to - from;
    const double start = value(row, from);
    return (value(row, middle) - start) * both < (value(row, to) - start - kNothing * both) * first;
  }

  // The upper hull as far as it rises. Points on a straight stretch stay: small segments fit
  // better.
  std::vector<int> hull_of(std::size_t row) {
    std::vector<int> hull;
    hull.reserve(static_cast<std::size_t>(last(row)) + 1);
    for (int point = 0; point <= last(row); ++point) {
      ++operations_;
      while (hull.size() > 1 && below(row, hull[hull.size() - 2], hull.back(), point)) {
        hull.pop_back();
        ++operations_;
      }
      hull.push_back(point);
    }
    return hull;
  }

  // The steepest of all rows first. Only as many are looked at as there is room for.
  void take_hull_segments() {
    std::vector<std::vector<int>> hulls;
    std::priority_queue<Segment> steepest;
    const auto add = [&](std::size_t row, std::size_t end) {
      if (end >= hulls[row].size()) return;
      const double rise = slope(row, hulls[row][end - 1], hulls[row][end]);
      if (rise > 0) steepest.push({rise, row, end});
    };
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      hulls.push_back(hull_of(i));
      add(i, 1);
    }
    left_ = room_;
    bool full = false;
    while (!steepest.empty() && !(full && left_ == 0)) {
      const Segment segment = steepest.top();
      steepest.pop();
      ++operations_;
      const int to = hulls[segment.row][segment.end];
      const int more = to - chosen_[segment.row];
      if (more > left_) {  // nor what comes after it in this row: that needs it
        if (!full) multiplier_ = segment.slope;
        full = true;
        continue;
      }
      chosen_[segment.row] = to;
      left_ -= more;
      add(segment.row, segment.end + 1);
    }
    bound_ = multiplier_ * room_;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      best_reduced_.push_back(best_reduced(i));
      bound_ += best_reduced_.back();
    }
  }

  double reduced(std::size_t row, int extra) const {
    return value(row, extra) - multiplier_ * extra;
  }
  double best_reduced(std::size_t row) {
    double best = reduced(row, 0);
    for (int extra = 1; extra <= last(row); ++extra) best = std::max(best, reduced(row, extra));
    operations_ += static_cast<uint64_t>(last(row)) + 1;
    return best;
  }

  // Choices below the hull may still fit where its next segment did not.
  void fill_what_is_left() {
    while (left_ > 0) {
      double best_gain = 0;
      std::size_t best_row = rows_.size();
      int best_extra = 0;
      for (std::size_t i = 0; i < rows_.size(); ++i) {
        const int most = std::min(last(i), chosen_[i] + left_);
        for (int extra = chosen_[i] + 1; extra <= most; ++extra) {
          ++operations_;
          const double gain = value(i, extra) - value(i, chosen_[i]);
          if (gain <= best_gain + kNothing) continue;
          best_gain = gain;
          best_row = i;
          best_extra = extra;
        }
      }
      if (best_row == rows_.size()) return;
      left_ -= best_extra - chosen_[best_row];
      chosen_[best_row] = best_extra;
    }
  }

  // A choice that falls short of its row's best at this multiplier by more than the whole gap is in
  // no best solution.
  void find_candidates(double gap) {
    const double slack = gap + kNothing * std::max(1.0, bound_);
    candidates_.assign(rows_.size(), {});
    room_left_ = room_;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const double best = best_reduced_[i];
      for (int extra = 0; extra <= last(i); ++extra) {
        ++operations_;
        if (best - reduced(i, extra) <= slack || extra == chosen_[i]) {
          candidates_[i].push_back(extra);
        }
      }
      room_left_ -= candidates_[i].front();
    }
  }

  uint64_t programming_cost() const {
    uint64_t cost = 0;
    for (const auto& row : candidates_) {
      if (row.size() > 1) cost += row.size() * (static_cast<uint64_t>(room_left_) + 1);
    }
    return cost;
  }

  // best[c]: the rows so far with at most c cores beyond the smallest candidates. Ties go to fewer
  // cores.
  void program() {
    const auto width = static_cast<std::size_t>(room_left_) + 1;
    std::vector<double> best(width, 0.0);
    std::vector<std::vector<int>> picks(rows_.size());
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const std::vector<int>& row = candidates_[i];
      if (row.size() == 1) continue;
      std::vector<double> next(width, -std::numeric_limits<double>::infinity());
      picks[i].assign(width, row.front());
      for (int extra : row) {
        const auto shift = static_cast<std::size_t>(extra - row.front());
        const double here = value(i, extra);
        for (std::size_t c = shift; c < width; ++c) {
          ++operations_;
          if (best[c - shift] + here <= next[c]) continue;
          next[c] = best[c - shift] + here;
          picks[i][c] = extra;
        }
      }
      best.swap(next);
    }
    std::size_t c = width - 1;
    for (std::size_t i = rows_.size(); i-- > 0;) {
      chosen_[i] = candidates_[i].size() == 1 ? candidates_[i].front() : picks[i][c];
      c -= static_cast<std::size_t>(chosen_[i] - candidates_[i].front());
    }
  }

  // For each pair of rows the best division of what they have and of what is left.
  void exchange_in_pairs(uint64_t most_operations) {
    bool better = true;
    for (int round = 0; better && round < kPolishRounds; ++round) {
      better = false;
      for (std::size_t a = 0; a < rows_.size(); ++a) {
        for (std::size_t b = a + 1; b < rows_.size(); ++b) {
          if (operations_ >= most_operations) return;
          better = divide(a, b) || better;
        }
      }
    }
  }

  bool divide(std::size_t a, std::size_t b) {
    const int both = chosen_[a] + chosen_[b] + left_;
    double best = value(a, chosen_[a]) + value(b, chosen_[b]);
    bool found = false;
    for (int first = 0; first <= std::min(both, last(a)); ++first) {
      ++operations_;
      const int second = std::min(both - first, last(b));
      if (value(a, first) + value(b, second) <= best + kNothing) continue;
      best = value(a, first) + value(b, second);
      chosen_[a] = first;
      chosen_[b] = second;
      found = true;
    }
    left_ = both - chosen_[a] - chosen_[b];
    return found;
  }

  const std::vector<KnapsackRow>& rows_;
  int room_ = 0;  // cores beyond the sum of `least`
  int left_ = 0;
  int room_left_ = 0;  // beyond the smallest candidates
  double multiplier_ = 0;
  double bound_ = 0;
  std::vector<int> last_;
  std::vector<int> chosen_;
  std::vector<double> best_reduced_;
  std::vector<std::vector<int>> candidates_;
  uint64_t operations_ = 0;
};

}  // namespace

KnapsackChoice choose_cores(const std::vector<KnapsackRow>& rows, int cores,
                            uint64_t most_operations) {
  return Knapsack(rows, cores).solve(most_operations);
}

}  // namespace optile::sched
