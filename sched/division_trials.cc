#include "sched/division_trials.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <string_view>
#include <utility>

namespace optile::sched {
namespace {

constexpr uint64_t kLookAgain = 2000;
constexpr int kHopelessAfter = 2;               // rounds that all lost more than the margin
constexpr int kPart = 8;                        // of the giver's cores that pass; one at least
constexpr std::size_t kMostInterrupted = 1024;  // kinds of trials; then all counts begin again

double progress_with(const DivisionClient& client, int cores) {
  double best = 0;
  const auto end = std::min(client.progress.size(), static_cast<std::size_t>(std::max(0, cores)));
  for (std::size_t n = 0; n < end; ++n) best = std::max(best, client.progress[n]);
  return best;
}

int passing(int giver_cores) {
  return std::max(1, giver_cores / kPart);
}

// The same cores, back.
DivisionKey back(const DivisionKey& key) {
  const int taker_has = key.taker_cores + key.cores;
  return {key.taker,          key.giver,      taker_has, key.giver_cores - key.cores,
          passing(taker_has), 1 / key.weights};
}

CoreCounts after_pass(const DivisionClient& giver, const DivisionClient& taker, int cores) {
  return {{giver.id, giver.cores - cores}, {taker.id, taker.cores + cores}};
}

CoreCounts counts_of(const std::vector<DivisionClient>& clients) {
  CoreCounts counts;
  for (const DivisionClient& one : clients) counts[one.id] = one.cores;
  return counts;
}

bool in_force(const CoreCounts& held, const std::vector<DivisionClient>& clients) {
  return std::all_of(clients.begin(), clients.end(), [&held](const DivisionClient& one) {
    const auto found = held.find(one.id);
    return found == held.end() || found->second == one.cores;
  });
}

std::string percent_text(double part) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%+.1f %%", 100 * part);
  return text.data();
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

bool DivisionTrials::may_pass(const DivisionClient& client) {
  return client.fit && !client.program.empty() && !client.progress.empty();
}

DivisionKey DivisionTrials::key_of(const DivisionClient& giver, const DivisionClient& taker) {
  return {giver.program, taker.program,        giver.cores,
          taker.cores,   passing(giver.cores), giver.weight / taker.weight};
}

void DivisionTrials::remember(DivisionVerdict verdict, uint64_t tick, uint64_t ticks_left) {
  if (ticks_left == 0) return;
  if (verdict.pays) verdicts_.note({back(verdict.key)}, tick + ticks_left);
  verdicts_.note(std::move(verdict), tick + ticks_left);
}

std::vector<DivisionFinding> DivisionTrials::take_findings() {
  return std::exchange(fresh_, {});
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
  if (held_ && curves_moved(clients)) {
    for (const DivisionKey& one : taken_) verdicts_.forget(one);
    end(tick, "curves are no longer those of that time");
  }
  take_up(tick, clients);
  if (CoreCounts counts = counts_of(clients); counts != counts_) {
    counts_ = std::move(counts);
    calm_since_ = tick;
  }
  const bool calm = tick - calm_since_ >= policy_.calm &&
                    std::none_of(clients.begin(), clients.end(),
                                 [](const DivisionClient& one) { return one.searches; });
  if (calm && tick >= not_before_) propose(tick, clients);
  return held_;
}

void DivisionTrials::end(uint64_t tick, const std::string& why) {
  if (run_) stop(tick, why);
  if (held_) cause_ = why;
  held_.reset();
  taken_.clear();
  curves_.clear();
  calm_since_ = tick;
}

// What was better at an earlier time, where cores are divided as they were then. There are few
// verdicts, and may be many pairs of clients.
void DivisionTrials::take_up(uint64_t tick, const std::vector<DivisionClient>& clients) {
  if (held_ && !in_force(*held_, clients)) return;
  std::multimap<std::string_view, const DivisionClient*> known;
  for (const DivisionClient& one : clients) {
    if (may_pass(one)) known.emplace(one.program, &one);
  }
  const auto with = [&known](const std::string& program, int cores) {
    const auto [first, last] = known.equal_range(program);
    const auto found =
        std::find_if(first, last, [cores](const auto& one) { return one.second->cores == cores; });
    return found == last ? nullptr : found->second;
  };
  const DivisionVerdict* better = verdicts_.find_if(tick, [&](const DivisionVerdict& one) {
    if (!one.pays || taken_.contains(one.key)) return false;
    const DivisionClient* giver = with(one.key.giver, one.key.giver_cores);
    const DivisionClient* taker = with(one.key.taker, one.key.taker_cores);
    if (giver == nullptr || taker == nullptr || giver == taker) return false;
    const std::optional<Pass> pass = pass_between(*giver, *taker);
    // A program may be another one by now, of the same name.
    if (key_of(*giver, *taker) != one.key || !pass || !may_gain(*pass)) return false;
    held_ = after_pass(*giver, *taker, one.key.cores);
    return true;
  });
  if (better == nullptr) return;
  taken_.insert(better->key);
  curves_.clear();
  cause_ = "that division was measured to be better, earlier, by " + percent_text(better->gain) +
           " of their progress";
}

std::optional<DivisionTrials::Pass> DivisionTrials::pass_between(
    const DivisionClient& giver, const DivisionClient& taker) const {
  Pass pass{giver.id, taker.id, passing(giver.cores)};
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

// There has to be something to gain if curves are wrong by what they may be wrong by.
bool DivisionTrials::may_gain(const Pass& pass) const {
  const double hoped = pass.worth[1] * (pass.kept[1] * (1 + policy_.reach) - 1);
  return pass.gain >= -policy_.reach && pass.kept[1] > 1 &&
         hoped > pass.worth[0] * (1 - pass.kept[0]);
}

std::optional<DivisionTrials::Pass> DivisionTrials::best_pass(
    uint64_t tick, const std::vector<DivisionClient>& clients) const {
  std::optional<Pass> best;
  for (const DivisionClient& giver : clients) {
    for (const DivisionClient& taker : clients) {
      if (&giver == &taker || !may_pass(giver) || !may_pass(taker)) continue;
      const std::optional<Pass> pass = pass_between(giver, taker);
      if (!pass || !may_gain(*pass)) continue;
      if (verdicts_.find(key_of(giver, taker), tick) != nullptr) continue;
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
  const DivisionClient& giver = *find(clients, pass->giver);
  const DivisionClient& taker = *find(clients, pass->taker);
  run.key = key_of(giver, taker);
  run.before = {{giver.id, giver.cores}, {taker.id, taker.cores}};
  run.after = after_pass(giver, taker, pass->cores);
  run.begun = tick;
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
  curves_.clear();
  cause_ = changed ? "it is tried whether that division is better"
                   : "to compare with the division before";
}

void DivisionTrials::follow(uint64_t tick, const std::vector<DivisionClient>& clients) {
  const std::array<const DivisionClient*, 2> two = {find(clients, run_->pass.giver),
                                                    find(clients, run_->pass.taker)};
  if (run_->arm) return follow_arm(tick, two);
  const bool divided = std::all_of(two.begin(), two.end(), [this](const DivisionClient* one) {
    return one->cores == held_->at(one->id);
  });
  if (divided && two[0]->fit && two[1]->fit) {
    run_->arm = PairArm(run_->changed, tick, {two[0]->steps, two[1]->steps});
    return;
  }
  for (const DivisionClient* one : two) {
    if (!one->fit && !one->searches) {
      return stop(tick, "client " + std::to_string(one->id) + " waits or was told to");
    }
  }
  if (!divided && tick - run_->divided > policy_.dividing) {
    return stop(tick, "others take part in how cores are divided");
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

// Also while clients look for plans: what was divided before had them.
void DivisionTrials::count_changed(uint64_t tick) {
  const uint64_t longest = policy_.settling + policy_.longest_arm;  // if nobody looked for long
  const uint64_t ticks = std::min(tick - run_->divided, longest);
  run_->divided = tick;
  if (!run_->changed) return;
  run_->changed_ticks += ticks;
  counters_.trial_ticks += ticks;
}

void DivisionTrials::arm_ended(uint64_t tick) {
  Run& run = *run_;
  count_changed(tick);
  (run.changed ? run.as_after : run.as_before) = run.arm->rates();
  if (!run.changed) run.reference = *run.as_before;
  if (tick - run.begun > policy_.longest_trial) return lose(tick, "no gain is settled");
  if (!run.as_before || !run.as_after) return begin_arm(!run.changed, tick);
  run.rounds.add(*run.as_before, *run.as_after);
  run.as_before.reset();
  run.as_after.reset();
  judge(tick);
  // A round begins with what the last one ended with, so that drift cancels out.
  if (run_) run_->arm.reset();
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

// As the curves would have it, it is not tried again soon; if it has to end, it may be.
void DivisionTrials::keep(uint64_t tick) {
  ++counters_.kept;
  note("keeps " + count_text(run_->after[run_->pass.taker]) + ", client " +
       std::to_string(run_->pass.giver) + " " + std::to_string(run_->after[run_->pass.giver]) +
       ": " + figures());
  cause_ = "that division is measured to be better";
  held_ = run_->after;
  taken_.insert(run_->key);
  note_verdict(true, tick);
  close(tick);
}

// Where a trial was cut short, it may be another matter later.
void DivisionTrials::note_verdict(bool pays, uint64_t tick) {
  const PairEstimate seen = run_->rounds.estimate();
  DivisionVerdict verdict{run_->key, pays, seen.gain};
  const bool lost = seen.rounds > 1 && (seen.high < policy_.margin || run_->losses > 1);
  const bool settled = pays || lost;
  interrupted_.erase(run_->key);
  if (settled) fresh_.push_back({run_->pass.taker, verdict});
  remember(std::move(verdict), tick, settled ? policy_.believed : policy_.doubted);
}

void DivisionTrials::lose(uint64_t tick, const std::string& why) {
  ++counters_.lost;
  note("is as before, and so is client " + std::to_string(run_->pass.giver) + ": " + why + "; " +
       figures());
  cause_ = why;
  // What was measured to be no worse, whatever curves say that heard of the trial.
  held_ = run_->rounds.estimate().rounds > 1 ? run_->before : run_->held;
  note_verdict(false, tick);
  close(tick);
}

// Something came between; nothing is known by that.
void DivisionTrials::stop(uint64_t tick, const std::string& why) {
  ++counters_.interrupted;
  note("is as before, and so is client " + std::to_string(run_->pass.giver) + ": " + why);
  cause_ = why;
  if (interrupted_.size() >= kMostInterrupted) interrupted_.clear();
  if (++interrupted_[run_->key] >= policy_.most_interrupted) note_verdict(false, tick);
  held_ = run_->held;
  close(tick);
}

void DivisionTrials::close(uint64_t tick) {
  count_changed(tick);
  const auto ticks = static_cast<double>(run_->changed_ticks);
  not_before_ = tick + static_cast<uint64_t>(ticks / policy_.trial_share);
  calm_since_ = tick;
  curves_.clear();
  run_.reset();
}

// What was measured says nothing any more where a client is worth something else at some number of
// cores than it was.
bool DivisionTrials::curves_moved(const std::vector<DivisionClient>& clients) {
  for (const auto& [id, cores] : *held_) {
    const DivisionClient* client = find(clients, id);
    const auto [known, fresh] = curves_.try_emplace(id, client->progress);
    if (fresh) continue;
    if (known->second.size() != client->progress.size()) return true;
    for (std::size_t n = 0; n < known->second.size(); ++n) {
      if (std::abs(known->second[n] - client->progress[n]) > policy_.moved) return true;
    }
  }
  return false;
}

std::string DivisionTrials::figures() const {
  const PairEstimate seen = run_->rounds.estimate();
  if (seen.rounds < 2) return std::to_string(seen.rounds) + " rounds";
  return percent_text(seen.gain) + " of their progress over " + std::to_string(seen.rounds) +
         " rounds, its own steps a second " + percent_text(seen.change[1]) + ", client " +
         std::to_string(run_->pass.giver) + "'s " + percent_text(seen.change[0]);
}

void DivisionTrials::note(const std::string& text) {
  notes_.push_back({run_->pass.taker, "client " + std::to_string(run_->pass.taker) + " " + text});
}

}  // namespace optile::sched
