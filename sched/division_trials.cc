#include "sched/division_trials.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "sched/overlap_text.h"

namespace optile::sched {
namespace {

constexpr uint64_t kLookAgain = 2000;
constexpr int kHopelessAfter = 2;          // rounds that all lost more than the margin
constexpr int kPart = 8;                   // of the giver's cores that pass; one at least
constexpr std::size_t kMostJudged = 1024;  // of those beyond, what ends first is forgotten

double progress_with(const DivisionClient& client, int cores) {
  double best = 0;
  const auto end = std::min(client.progress.size(), static_cast<std::size_t>(std::max(0, cores)));
  for (std::size_t n = 0; n < end; ++n) best = std::max(best, client.progress[n]);
  return best;
}

CoreCounts counts_of(const std::vector<DivisionClient>& clients) {
  CoreCounts counts;
  for (const DivisionClient& one : clients) counts[one.id] = one.cores;
  return counts;
}

std::string count_text(int cores) {
  return std::to_string(cores) + (cores == 1 ? " core" : " cores");
}

}  // namespace

DivisionTrials::Company DivisionTrials::company_of(const std::vector<DivisionClient>& clients) {
  Company company;
  for (const DivisionClient& one : clients) company.emplace_back(one.id, one.weight);
  return company;
}

const DivisionClient* DivisionTrials::find(const std::vector<DivisionClient>& clients,
                                           ClientId id) {
  const auto found = std::find_if(clients.begin(), clients.end(),
                                  [id](const DivisionClient& one) { return one.id == id; });
  return found == clients.end() ? nullptr : &*found;
}

DivisionTrials::Key DivisionTrials::key_of(const DivisionClient& giver, const DivisionClient& taker,
                                           int cores) {
  return {giver.program, taker.program, giver.cores, taker.cores, cores};
}

bool DivisionTrials::judged(const Key& key, uint64_t tick) const {
  const auto known = judged_.find(key);
  return known != judged_.end() && tick < known->second.until;
}

std::vector<DivisionNote> DivisionTrials::take_notes() {
  return std::exchange(notes_, {});
}

std::optional<DivisionView> DivisionTrials::view() const {
  if (!run_) return std::nullopt;
  const Pass& pass = run_->pass;
  return DivisionView{pass.giver, pass.taker, pass.cores, run_->changed, run_->rounds.estimate()};
}

const std::optional<CoreCounts>& DivisionTrials::look(uint64_t tick,
                                                      const std::vector<DivisionClient>& clients) {
  if (Company company = company_of(clients); company != company_) {
    end(tick, "somebody came or left, or has another share");
    company_ = std::move(company);
  }
  if (run_) {
    follow(tick, clients);
    return held_;
  }
  if (held_ && curves_object(clients)) end(tick, "by the curves another division is far better");
  if (CoreCounts counts = counts_of(clients); counts != counts_) {
    counts_ = std::move(counts);
    calm_since_ = tick;
  }
  if (tick - calm_since_ >= policy_.calm && tick >= not_before_) propose(tick, clients);
  return held_;
}

void DivisionTrials::end(uint64_t tick, const std::string& why) {
  if (run_) stop(tick, why);
  if (held_) cause_ = why;
  held_.reset();
  calm_since_ = tick;
}

std::optional<DivisionTrials::Pass> DivisionTrials::pass_between(
    const DivisionClient& giver, const DivisionClient& taker) const {
  Pass pass{giver.id, taker.id, std::max(1, giver.cores / kPart)};
  if (giver.cores <= pass.cores) return std::nullopt;
  const std::array<double, 2> now = {progress_with(giver, giver.cores),
                                     progress_with(taker, taker.cores)};
  const std::array<double, 2> then = {progress_with(giver, giver.cores - pass.cores),
                                      progress_with(taker, taker.cores + pass.cores)};
  if (now[0] <= 0 || now[1] <= 0) return std::nullopt;
  pass.worth = {giver.weight * now[0], taker.weight * now[1]};
  pass.kept = {then[0] / now[0], then[1] / now[1]};
  pass.gain = (pass.worth[0] * (pass.kept[0] - 1) + pass.worth[1] * (pass.kept[1] - 1)) /
              (pass.worth[0] + pass.worth[1]);
  return pass;
}

std::optional<DivisionTrials::Pass> DivisionTrials::best_pass(
    uint64_t tick, const std::vector<DivisionClient>& clients) const {
  const auto may = [](const DivisionClient& one) {
    return one.fit && !one.program.empty() && !one.progress.empty();
  };
  std::optional<Pass> best;
  for (const DivisionClient& giver : clients) {
    for (const DivisionClient& taker : clients) {
      if (&giver == &taker || !may(giver) || !may(taker)) continue;
      const std::optional<Pass> pass = pass_between(giver, taker);
      if (!pass || pass->gain < -policy_.reach) continue;
      // What the taker gains by its curve is all that the trial is for; one that is known to have
      // no use for more stays so.
      if (pass->kept[1] <= 1 || judged(key_of(giver, taker, pass->cores), tick)) continue;
      if (!best || pass->gain > best->gain) best = pass;
    }
  }
  return best;
}

void DivisionTrials::propose(uint64_t tick, const std::vector<DivisionClient>& clients) {
  not_before_ = tick + kLookAgain;  // where nothing is worth a trial
  const std::optional<Pass> pass = best_pass(tick, clients);
  if (!pass) return;
  Run run;
  run.pass = *pass;
  run.key = key_of(*find(clients, pass->giver), *find(clients, pass->taker), pass->cores);
  run.before = counts_of(clients);
  run.after = run.before;
  run.after[pass->giver] -= pass->cores;
  run.after[pass->taker] += pass->cores;
  run.held = held_;
  run.rounds = PairRounds({pass->worth[0] * (1 + policy_.doubt), pass->worth[1]},
                          static_cast<std::size_t>(policy_.most_rounds));
  run_ = std::move(run);
  ++counters_.trials;
  note("is tried with " + count_text(run_->after[pass->taker]) + ", client " +
       std::to_string(pass->giver) + " with " + std::to_string(run_->after[pass->giver]) +
       ": the curves are too near each other to tell");
  begin_arm(false, tick);
}

void DivisionTrials::begin_arm(bool changed, uint64_t tick) {
  run_->changed = changed;
  run_->arm.reset();
  run_->divided = tick;
  held_ = changed ? run_->after : run_->before;
  cause_ = changed ? "it is tried whether that division is better"
                   : "to compare with the division before";
}

void DivisionTrials::follow(uint64_t tick, const std::vector<DivisionClient>& clients) {
  const std::array<const DivisionClient*, 2> two = {find(clients, run_->pass.giver),
                                                    find(clients, run_->pass.taker)};
  if (run_->arm) return follow_arm(tick, two);
  const bool divided = counts_of(clients) == *held_;
  if (divided && two[0]->fit && two[1]->fit) {
    run_->arm = PairArm(run_->changed, tick, {two[0]->steps, two[1]->steps});
    return;
  }
  for (const DivisionClient* one : two) {
    if (!one->fit && !one->searches) {
      return stop(tick, "client " + std::to_string(one->id) + " waits or was told to");
    }
  }
  if (tick - run_->divided > policy_.settling) stop(tick, "no plan is found for these cores");
}

void DivisionTrials::follow_arm(uint64_t tick, const std::array<const DivisionClient*, 2>& two) {
  Run& run = *run_;
  for (const DivisionClient* one : two) {
    if (!one->fit || one->cores != held_->at(one->id)) {
      return stop(tick, "client " + std::to_string(one->id) + " waits, searches or was told to");
    }
  }
  run.arm->look(tick, {two[0]->steps, two[1]->steps});
  if (run.changed) {
    const PairRates promised = {run.reference[0] * run.pass.kept[0], run.reference[1]};
    if (const auto hurt = run.arm->hurt(tick, promised, policy_.most_harm)) {
      const ClientId id = *hurt == 0 ? run.pass.giver : run.pass.taker;
      return lose(tick, "client " + std::to_string(id) + " made far fewer steps");
    }
  }
  if (run.arm->complete(tick, policy_.arm_steps, policy_.shortest_arm)) {
    arm_ended(tick);
  } else if (tick - run.arm->begun() > policy_.longest_arm) {
    lose(tick, "steps are too slow or too uneven to be judged");
  }
}

void DivisionTrials::count_changed(uint64_t tick) {
  if (!run_->changed) return;
  run_->changed_ticks += tick - run_->divided;
  counters_.trial_ticks += tick - run_->divided;
  run_->divided = tick;
}

void DivisionTrials::arm_ended(uint64_t tick) {
  Run& run = *run_;
  count_changed(tick);
  (run.changed ? run.as_after : run.as_before) = run.arm->rates();
  if (!run.changed) run.reference = *run.as_before;
  if (!run.as_before || !run.as_after) return begin_arm(!run.changed, tick);
  run.rounds.add(*run.as_before, *run.as_after);
  run.as_before.reset();
  run.as_after.reset();
  judge(tick);
  // A round begins with what the last one ended with, so that drift cancels out.
  if (!run_) return;
  run_->divided = tick;
  run_->arm.reset();
}

void DivisionTrials::judge(uint64_t tick) {
  const PairEstimate seen = run_->rounds.estimate();
  run_->losses = run_->rounds.latest_gain() < -policy_.margin ? run_->losses + 1 : 0;
  if (seen.rounds <= kHopelessAfter && run_->losses == kHopelessAfter) {
    return lose(tick, "it lost from the first");
  }
  if (seen.rounds < policy_.least_rounds) return;
  if (seen.low > 0 && seen.gain >= policy_.margin) return keep(tick);
  if (seen.high < policy_.margin) return lose(tick, "it gains less than it should");
  if (seen.rounds >= policy_.most_rounds) lose(tick, "no gain is settled");
}

void DivisionTrials::keep(uint64_t tick) {
  ++counters_.kept;
  note("keeps " + count_text(run_->after[run_->pass.taker]) + ", client " +
       std::to_string(run_->pass.giver) + " " + std::to_string(run_->after[run_->pass.giver]) +
       ": " + gain_text(run_->rounds.estimate()));
  cause_ = "that division is measured to be better";
  held_ = run_->after;
  finish(tick);
}

void DivisionTrials::lose(uint64_t tick, const std::string& why) {
  ++counters_.lost;
  note("is as before, and so is client " + std::to_string(run_->pass.giver) + ": " + why + "; " +
       gain_text(run_->rounds.estimate()));
  cause_ = why;
  held_ = run_->before;  // measured to be no worse, whatever curves say that heard of the trial
  finish(tick);
}

// What was judged is not tried again soon, in neither direction.
void DivisionTrials::finish(uint64_t tick) {
  count_changed(tick);
  const auto& [giver, taker, giver_cores, taker_cores, cores] = run_->key;
  const uint64_t until = tick + policy_.believed;
  judged_[{taker, giver, taker_cores + cores, giver_cores - cores, cores}] = {until, 0};
  judged_[run_->key] = {until, 0};
  while (judged_.size() > kMostJudged) {
    judged_.erase(std::min_element(
        judged_.begin(), judged_.end(),
        [](const auto& a, const auto& b) { return a.second.until < b.second.until; }));
  }
  close(tick);
}

// Something came between; nothing is known by that.
void DivisionTrials::stop(uint64_t tick, const std::string& why) {
  ++counters_.interrupted;
  count_changed(tick);
  note("is as before, and so is client " + std::to_string(run_->pass.giver) + ": " + why);
  cause_ = why;
  Judged& known = judged_[run_->key];
  known.until = ++known.interrupted >= policy_.most_interrupted ? tick + policy_.believed : 0;
  held_ = run_->held;
  close(tick);
}

void DivisionTrials::close(uint64_t tick) {
  const auto ticks = static_cast<double>(run_->changed_ticks);
  not_before_ = tick + static_cast<uint64_t>(ticks / policy_.trial_share);
  calm_since_ = tick;
  run_.reset();
}

// A division that is held was measured; curves that see a gain far beyond their usual errors know
// of something that has changed since.
bool DivisionTrials::curves_object(const std::vector<DivisionClient>& clients) const {
  return std::any_of(clients.begin(), clients.end(), [&](const DivisionClient& giver) {
    return std::any_of(clients.begin(), clients.end(), [&](const DivisionClient& taker) {
      if (&giver == &taker || !giver.fit || !taker.fit) return false;
      const std::optional<Pass> pass = pass_between(giver, taker);
      return pass && pass->gain > 2 * policy_.reach;
    });
  });
}

void DivisionTrials::note(const std::string& text) {
  notes_.push_back({run_->pass.taker, "client " + std::to_string(run_->pass.taker) + " " + text});
}

}  // namespace optile::sched
