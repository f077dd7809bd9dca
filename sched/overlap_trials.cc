#include "sched/overlap_trials.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <utility>

#include "sched/overlap_text.h"

namespace optile::sched {
namespace {

constexpr std::size_t kRoundsOfKept = 8;
constexpr std::size_t kMostInterrupted = 64;  // the oldest is forgotten
constexpr int kHopelessAfter = 2;             // rounds that all lost more than the margin
constexpr int kMostStrikes = 2;

double progress_with(const OverlapClient& client, std::size_t cores) {
  double best = 0;
  for (std::size_t n = 0; n < std::min(cores, client.progress.size()); ++n) {
    best = std::max(best, client.progress[n]);
  }
  return best;
}

double worth(const OverlapClient& client) {
  return client.weight * progress_with(client, client.cores.size());
}

double promised_gain(const OverlapClient& guest, std::size_t more) {
  if (!guest.widens) return 0;
  return guest.weight * progress_with(guest, guest.cores.size() + more) - worth(guest);
}

std::vector<int> all_cores(const OverlapClient& a, const OverlapClient& b) {
  std::vector<int> all;
  std::merge(a.cores.begin(), a.cores.end(), b.cores.begin(), b.cores.end(),
             std::back_inserter(all));
  return all;
}

}  // namespace

void OverlapTrials::remember(OverlapVerdict verdict, uint64_t tick, uint64_t ticks_left) {
  if (ticks_left == 0 || verdicts_.find(verdict.key, tick) != nullptr) return;
  verdicts_.note(std::move(verdict), tick + ticks_left);
}

void OverlapTrials::forget(ClientId id, uint64_t tick) {
  if (run_ && run_->pair.overlap.has(id)) {
    stop(tick, "client " + std::to_string(id) + " has gone");
  }
  std::erase(left_alone_, id);
  std::erase_if(interrupted_, [id](const Run& run) { return run.pair.overlap.has(id); });
}

std::vector<OverlapVerdict> OverlapTrials::take_verdicts() {
  return std::exchange(fresh_, {});
}

std::vector<OverlapNote> OverlapTrials::take_notes() {
  return std::exchange(notes_, {});
}

uint64_t OverlapTrials::believed_for(const OverlapVerdict& verdict) const {
  const bool settled = verdict.pays || verdict.high < policy_.margin;
  return settled ? policy_.believed : policy_.doubted;
}

std::optional<OverlapView> OverlapTrials::view() const {
  if (!run_) return std::nullopt;
  return OverlapView{run_->pair.overlap, run_->kept, run_->arm.changed(), run_->rounds.estimate()};
}

const OverlapClient* OverlapTrials::find(const std::vector<OverlapClient>& clients,
                                         ClientId id) const {
  const auto found = std::find_if(clients.begin(), clients.end(),
                                  [id](const OverlapClient& one) { return one.id == id; });
  return found == clients.end() ? nullptr : &*found;
}

bool OverlapTrials::may(const OverlapClient& client) const {
  return client.fit && !client.program.empty() && !client.cores.empty() &&
         !client.progress.empty() &&
         std::find(left_alone_.begin(), left_alone_.end(), client.id) == left_alone_.end();
}

std::optional<Overlap> OverlapTrials::look(uint64_t tick, const std::vector<OverlapClient>& clients,
                                           const std::optional<Overlap>& actual) {
  const bool is_calm = calm(tick, clients);
  if (run_) {
    const std::string why = broken(clients, actual);
    if (why.empty()) {
      follow(tick, clients);
    } else {
      stop(tick, why);
    }
  } else if (is_calm) {
    resume(tick, clients);
    if (!run_ && tick >= not_before_ && tick - calm_since_ >= policy_.calm) propose(tick, clients);
  }
  if (!run_ || !run_->arm.changed()) return std::nullopt;
  return run_->pair.overlap;
}

// Nobody has come or gone, and everybody has the cores that it had.
bool OverlapTrials::calm(uint64_t tick, const std::vector<OverlapClient>& clients) {
  const auto same = [](const auto& then, const OverlapClient& now) {
    return then.first == now.id && then.second == now.cores;
  };
  if (std::equal(surroundings_.begin(), surroundings_.end(), clients.begin(), clients.end(),
                 same)) {
    return tick - calm_since_ >= policy_.calm_kept;
  }
  surroundings_.clear();
  for (const OverlapClient& one : clients) surroundings_.emplace_back(one.id, one.cores);
  calm_since_ = tick;
  return false;
}

// Why the run cannot go on; "" = it can.
std::string OverlapTrials::broken(const std::vector<OverlapClient>& clients,
                                  const std::optional<Overlap>& actual) const {
  const Overlap& overlap = run_->pair.overlap;
  for (const ClientId id : {overlap.first, overlap.second}) {
    const OverlapClient* client = find(clients, id);
    if (client == nullptr) return "client " + std::to_string(id) + " has gone";
    if (!may(*client)) return "client " + std::to_string(id) + " waits, searches or was told to";
    if (client->cores != run_->pair.own[id == overlap.first ? 0 : 1]) return "leases changed";
  }
  if (surroundings_ != run_->surroundings) return "somebody came or left, or leases changed";
  if (run_->arm.changed() && actual != overlap) return "leases changed";
  return "";
}

// A kept sharing that something came between, now that all is as it was.
void OverlapTrials::resume(uint64_t tick, const std::vector<OverlapClient>& clients) {
  for (auto one = interrupted_.begin(); one != interrupted_.end(); ++one) {
    const Overlap& overlap = one->pair.overlap;
    const OverlapClient* first = find(clients, overlap.first);
    const OverlapClient* second = find(clients, overlap.second);
    if (first == nullptr || second == nullptr || !may(*first) || !may(*second)) continue;
    if (first->cores != one->pair.own[0] || second->cores != one->pair.own[1]) continue;
    run_ = std::move(*one);
    interrupted_.erase(one);
    run_->surroundings = surroundings_;
    run_->strikes = 0;
    // Apart first: what they do now is what they are held to.
    note("share " + cores_text(run_->pair.overlap.cores) + " again: all is as it was");
    run_->next_control = tick;
    begin_arm(false, tick, clients);
    return;
  }
}

std::vector<OverlapTrials::Pair> OverlapTrials::candidates(
    uint64_t tick, const std::vector<OverlapClient>& clients) const {
  std::vector<Pair> found;
  const auto add = [&](const OverlapClient& guest, const OverlapClient& host, OverlapShape shape,
                       std::vector<int> cores, double promise) {
    if (cores.empty() || promise <= policy_.margin * (worth(guest) + worth(host))) return;
    Pair pair{{guest.program, host.program, shape},
              {guest.id, host.id, std::move(cores)},
              {guest.cores, host.cores},
              promise};
    const OverlapVerdict* known = verdicts_.find(pair.key, tick);
    if (known != nullptr && !known->pays) return;
    if (known != nullptr) pair.promise += worth(guest) + worth(host);  // goes first
    found.push_back(std::move(pair));
  };
  for (const OverlapClient& guest : clients) {
    if (!may(guest)) continue;
    for (const OverlapClient& host : clients) {
      if (&host == &guest || !may(host) || host.owner != guest.owner) continue;
      const std::size_t all = host.cores.size();
      const double whole = promised_gain(guest, all);
      add(guest, host, OverlapShape::kWhole, host.cores, whole);
      const auto half = static_cast<std::ptrdiff_t>(all / 2);
      add(guest, host, OverlapShape::kHalf, {host.cores.end() - half, host.cores.end()},
          promised_gain(guest, all / 2));
      const double back = promised_gain(host, guest.cores.size());
      const bool ordered = std::pair(guest.program, guest.id) < std::pair(host.program, host.id);
      if (ordered && whole > 0 && back > 0) {
        add(guest, host, OverlapShape::kBoth, all_cores(guest, host), whole + back);
      }
    }
  }
  return found;
}

void OverlapTrials::propose(uint64_t tick, const std::vector<OverlapClient>& clients) {
  std::vector<Pair> found = candidates(tick, clients);
  not_before_ = tick + policy_.calm;  // to look again, where nothing is worth a trial
  if (found.empty()) return;
  begin(*std::max_element(found.begin(), found.end(),
                          [](const Pair& a, const Pair& b) { return a.promise < b.promise; }),
        tick, clients);
}

void OverlapTrials::begin(Pair pair, uint64_t tick, const std::vector<OverlapClient>& clients) {
  Run run;
  const OverlapClient* first = find(clients, pair.overlap.first);
  const OverlapClient* second = find(clients, pair.overlap.second);
  run.rounds =
      PairRounds({worth(*first), worth(*second)}, static_cast<std::size_t>(policy_.most_rounds));
  run.pair = std::move(pair);
  run.surroundings = surroundings_;
  run_ = std::move(run);
  ++counters_.trials;
  note("try whether sharing " + cores_text(run_->pair.overlap.cores) + " pays (" +
       shape_text(run_->pair.key.shape, run_->pair.overlap) + ")");
  begin_arm(false, tick, clients);
}

void OverlapTrials::begin_arm(bool shared, uint64_t tick,
                              const std::vector<OverlapClient>& clients) {
  const Overlap& overlap = run_->pair.overlap;
  run_->arm = PairArm(shared, tick,
                      {find(clients, overlap.first)->steps, find(clients, overlap.second)->steps});
  if (shared) {
    cause_ = run_->kept ? "it pays" : "it is tried whether that pays";
  } else {
    cause_ = "to compare with their own cores";
  }
}

void OverlapTrials::follow(uint64_t tick, const std::vector<OverlapClient>& clients) {
  Run& run = *run_;
  const Overlap& overlap = run.pair.overlap;
  run.arm.look(tick, {find(clients, overlap.first)->steps, find(clients, overlap.second)->steps});
  if (run.arm.changed()) {
    const auto hurt = run.arm.hurt(tick, run.reference, policy_.most_harm);
    if (hurt && (!run.kept || ++run.strikes >= kMostStrikes)) {
      count_shared(tick);
      ++counters_.aborted;
      const ClientId id = *hurt == 0 ? overlap.first : overlap.second;
      return lose(tick, "client " + std::to_string(id) + " made far fewer steps", false);
    }
    // It may be the program that has changed: apart it will show.
    if (hurt) {
      run.shared.reset();
      return begin_arm(false, tick, clients);
    }
  }
  if (run.arm.complete(tick, policy_.arm_steps, policy_.shortest_arm)) {
    arm_ended(tick, clients);
  } else if (tick - run.arm.begun() > policy_.longest_arm) {
    count_shared(tick);
    lose(tick, "steps are too slow or too uneven to be judged", false);
  }
}

// Time that is shared only to know.
void OverlapTrials::count_shared(uint64_t tick) {
  if (run_->kept || !run_->arm.changed()) return;
  run_->shared_ticks += tick - run_->arm.begun();
  counters_.trial_ticks += tick - run_->arm.begun();
}

void OverlapTrials::arm_ended(uint64_t tick, const std::vector<OverlapClient>& clients) {
  Run& run = *run_;
  count_shared(tick);
  if (run.arm.changed()) {
    run.shared = run.arm.rates();
    run.strikes = 0;
  } else {
    run.apart = run.arm.rates();
    run.reference = *run.apart;
  }
  if (run.kept && run.arm.changed()) {
    if (tick < run.next_control) run.apart.reset();
    return begin_arm(tick < run.next_control, tick, clients);
  }
  if (run.apart && run.shared) {
    run.rounds.add(*run.apart, *run.shared);
    run.apart.reset();
    run.shared.reset();
    if (run.kept) {
      run.control_pause = std::min(2 * run.control_pause, policy_.latest_control);
      run.next_control = tick + run.control_pause;
      if (judge_kept(tick)) begin_arm(true, tick, clients);
      return;
    }
    if (!judge_trial(tick)) return;
    if (run.kept) return begin_arm(true, tick, clients);
    // A round begins with what the last one ended with, so that drift cancels out.
    return begin_arm(run.arm.changed(), tick, clients);
  }
  begin_arm(run.kept || !run.arm.changed(), tick, clients);
}

// Whether the run goes on, as a trial or kept.
bool OverlapTrials::judge_trial(uint64_t tick) {
  const PairEstimate seen = run_->rounds.estimate();
  run_->losses = run_->rounds.latest_gain() < -policy_.margin ? run_->losses + 1 : 0;
  const double worst = std::min(seen.change[0], seen.change[1]);
  if (seen.rounds <= kHopelessAfter && run_->losses == kHopelessAfter) {
    lose(tick, "it lost from the first", true);
    return false;
  }
  if (seen.rounds < policy_.least_rounds) return true;
  if (seen.low > policy_.margin && worst > -policy_.most_loss) {
    keep(tick);
    return true;
  }
  if (seen.low > policy_.margin) {
    lose(tick, "one of the two would pay too much for it", true);
  } else if (seen.high < policy_.margin) {
    lose(tick, "it gains less than it should", true);
  } else if (seen.rounds >= policy_.most_rounds) {
    lose(tick, "no gain is settled", false);
  }
  return run_.has_value();
}

bool OverlapTrials::judge_kept(uint64_t tick) {
  run_->rounds.keep_latest(kRoundsOfKept);
  const PairEstimate seen = run_->rounds.estimate();
  const double worst = std::min(seen.change[0], seen.change[1]);
  if (seen.gain >= policy_.margin / 2 && worst > -policy_.most_loss) return true;
  lose(tick, "it no longer pays", true);
  return false;
}

void OverlapTrials::keep(uint64_t tick) {
  Run& run = *run_;
  run.kept = true;
  run.control_pause = policy_.first_control;
  run.next_control = tick + run.control_pause;
  ++counters_.kept;
  not_before_ = tick + spent(run.shared_ticks);
  const PairEstimate seen = run.rounds.estimate();
  note("go on sharing " + cores_text(run.pair.overlap.cores) + ": " + gain_text(seen));
  fresh_.push_back(verdict(true, "it pays"));
  verdicts_.note(fresh_.back(), tick + policy_.believed);
}

void OverlapTrials::lose(uint64_t tick, const std::string& why, bool settled) {
  const Run& run = *run_;
  ++(run.kept ? counters_.undone : counters_.lost);
  note("do not share " + cores_text(run.pair.overlap.cores) + " any more: " + why + "; " +
       gain_text(run.rounds.estimate()));
  fresh_.push_back(verdict(false, why));
  verdicts_.note(fresh_.back(), tick + (settled ? policy_.believed : policy_.doubted));
  cause_ = why;
  not_before_ = std::max(not_before_, tick + spent(run.shared_ticks));
  run_.reset();
}

// Something came between; nothing is known by that.
void OverlapTrials::stop(uint64_t tick, const std::string& why) {
  count_shared(tick);
  ++counters_.interrupted;
  note("do not share " + cores_text(run_->pair.overlap.cores) + " for now: " + why);
  cause_ = why;
  calm_since_ = tick;
  if (run_->kept) {
    run_->apart.reset();
    run_->shared.reset();
    interrupted_.push_back(std::move(*run_));
    if (interrupted_.size() > kMostInterrupted) interrupted_.erase(interrupted_.begin());
  } else {
    not_before_ = std::max(not_before_, tick + spent(run_->shared_ticks));
  }
  run_.reset();
}

uint64_t OverlapTrials::spent(uint64_t shared_ticks) const {
  return static_cast<uint64_t>(static_cast<double>(shared_ticks) / policy_.trial_share);
}

OverlapVerdict OverlapTrials::verdict(bool pays, const std::string& why) const {
  const PairEstimate seen = run_->rounds.estimate();
  return {run_->pair.key, pays, seen.gain, seen.low, seen.high, seen.rounds, why};
}

void OverlapTrials::note(const std::string& text) {
  const Overlap& overlap = run_->pair.overlap;
  notes_.push_back({overlap.first, "clients " + std::to_string(overlap.first) + " and " +
                                       std::to_string(overlap.second) + " " + text});
}

}  // namespace optile::sched
