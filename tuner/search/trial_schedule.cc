#include "tuner/search/trial_schedule.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace optile::tuner {
namespace {

using perfmodel::Binding;
using perfmodel::Configuration;

constexpr int kCasesPerControl = 2;  // cases between two controls
constexpr double kLongOp = 20;       // changes of width that a long op outweighs
constexpr double kRideChanges = 2;   // an op rides along when it loses less than these

class PageBuilder {
 public:
  PageBuilder(const std::vector<TrialOp>& ops, const TrialOptions& options)
      : ops_(ops), options_(options), open_(ops.size()) {
    page_.widths.resize(ops.size());
    for (std::size_t i = 0; i < ops.size(); ++i) {
      if (ops[i].search == nullptr) continue;
      for (const Wish& wish : ops[i].search->wishes()) open_[i][wish.at] = wish.runs;
    }
    drop_what_does_not_matter();
  }

  TrialPage build() {
    int since_control = 0;
    while (static_cast<int>(page_.bindings.size()) < kPageSteps) {
      const std::optional<Configuration> next = most_wanted();
      if (!next) break;
      if (!add_trial(*next)) break;
      // At once again where it is wanted again: behind a step of another width the first op pays
      // for the change, behind one of the same width none does.
      const bool again =
          static_cast<int>(page_.bindings.size()) < kPageSteps && wanted_runs(*next) > 0;
      if (again && !add_trial(*next)) break;
      const bool room = static_cast<int>(page_.bindings.size()) < kPageSteps;
      if (options_.controls && ++since_control == kCasesPerControl && room) {
        add_control();
        since_control = 0;
      }
    }
    if (options_.controls && since_control > 0 &&
        static_cast<int>(page_.bindings.size()) < kPageSteps) {
      add_control();
    }
    return std::move(page_);
  }

 private:
  double weight(std::size_t op) const { return ops_[op].own_ns * ops_[op].per_step; }

  // Cases that only a sliver of the step wishes are not worth a step of it.
  void drop_what_does_not_matter() {
    double total = 0;
    std::map<Configuration, double> share;
    bool unknown = false;
    for (std::size_t i = 0; i < ops_.size(); ++i) {
      total += weight(i);
      unknown = unknown || (!open_[i].empty() && ops_[i].own_ns <= 0);
      for (const auto& [at, runs] : open_[i]) share[at] += weight(i);
    }
    if (unknown || total <= 0) return;
    for (auto& wishes : open_) {
      std::erase_if(wishes, [&](const auto& wish) {
        return share[wish.first] < options_.least_share * total;
      });
    }
  }

  // The case with the most runs outstanding, so that repetitions of one case are spread out.
  std::optional<Configuration> most_wanted() const {
    std::map<Configuration, int> runs;
    for (const auto& wishes : open_) {
      for (const auto& [at, count] : wishes) runs[at] = std::max(runs[at], count);
    }
    std::optional<Configuration> best;
    int most = 0;
    for (const auto& [at, count] : runs) {
      if (count <= 0) continue;
      bool better = !best || count > most;
      if (best && count == most) better = comes_before(at, *best);
      if (options_.narrow_first && best) better = comes_before(at, *best);
      if (!better) continue;
      best = at;
      most = count;
    }
    return best;
  }

  int wanted_runs(Configuration at) const {
    int most = 0;
    for (const auto& wishes : open_) {
      const auto wish = wishes.find(at);
      if (wish != wishes.end()) most = std::max(most, wish->second);
    }
    return most;
  }

  bool comes_before(Configuration a, Configuration b) const {
    return options_.narrow_first ? a.width < b.width : a.width > b.width;
  }

  // False where the credit is not enough for it; the page ends there.
  bool add_trial(Configuration at) {
    std::vector<int> widths;
    for (std::size_t i = 0; i < ops_.size(); ++i) widths.push_back(width_for(i, at));
    const double loss = loss_of(widths, at.binding);
    if (lost_ns_ + loss > options_.credit_ns) {
      page_.unaffordable_ns = loss;
      return false;
    }
    lost_ns_ += loss;
    page_.bindings.push_back(at.binding);
    page_.control.push_back(false);
    for (std::size_t i = 0; i < ops_.size(); ++i) page_.widths[i].push_back(widths[i]);
    return true;
  }

  // At worst: an op that scales, as far as it is not known better, and a change of width before
  // and behind each op that stands alone.
  double loss_of(const std::vector<int>& widths, Binding binding) const {
    double loss = 0;
    int at_own = 0;
    int elsewhere = 0;
    for (std::size_t i = 0; i < ops_.size(); ++i) {
      const TrialOp& op = ops_[i];
      (widths[i] == 0 ? at_own : elsewhere) += op.per_step;
      if (widths[i] == 0 || op.samples == nullptr) continue;
      const double ns = longest_ns(*op.samples, {widths[i], binding}, options_.own);
      loss += std::max(0.0, ns - op.own_ns) * op.per_step;
    }
    return loss + 2 * options_.switching_ns * std::min(at_own, elsewhere);
  }

  int width_for(std::size_t op, Configuration at) {
    const Search* search = ops_[op].search;
    if (search == nullptr) return 0;
    auto& wishes = open_[op];
    const auto wish = wishes.find(at);
    if (wish != wishes.end() && wish->second > 0) {
      --wish->second;
      return at.width;
    }
    // A long op that this page has run at a case nobody knows yet waits for what comes of it.
    const bool is_long = ops_[op].own_ns >= kLongOp * options_.switching_ns;
    const bool served = wish != wishes.end() && is_long;
    if (!served && search->tolerates(at, kRideChanges * options_.switching_ns)) return at.width;
    if (is_long && !options_.narrow_first) {
      for (auto& [other, runs] : wishes) {
        if (other.binding != at.binding || runs <= 0) continue;
        --runs;
        return other.width;
      }
    }
    const Configuration rest = search->best();
    const bool same_binding = rest.binding == at.binding;
    return rest == options_.own || !same_binding ? 0 : rest.width;
  }

  void add_control() {
    page_.bindings.push_back(Binding::kNone);
    page_.control.push_back(true);
    for (auto& widths : page_.widths) widths.push_back(0);
  }

  const std::vector<TrialOp>& ops_;
  const TrialOptions& options_;
  std::vector<std::map<Configuration, int>> open_;  // per op: runs outstanding
  TrialPage page_;
  double lost_ns_ = 0;  // at worst, by the trials so far
};

}  // namespace

TrialPage make_control_page(std::size_t ops, int steps) {
  TrialPage page;
  page.bindings.assign(static_cast<std::size_t>(steps), Binding::kNone);
  page.control.assign(static_cast<std::size_t>(steps), true);
  page.widths.assign(ops, std::vector<int>(static_cast<std::size_t>(steps), 0));
  return page;
}

TrialPage make_trial_page(const std::vector<TrialOp>& ops, const TrialOptions& options) {
  return PageBuilder(ops, options).build();
}

}  // namespace optile::tuner
