// Whether two clients do better when they share some of their cores: tries it, in turns with the
// plan's division, keeps what pays, undoes what does not, remembers both. A state machine without
// clock or process: steps done come in, what is to be shared comes out. Owned by whoever owns the
// lease table; one thread. Ticks are milliseconds here.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sched/believed_verdicts.h"
#include "sched/lease.h"
#include "sched/overlap_verdicts.h"
#include "sched/pair_rounds.h"

namespace optile::sched {

// Guesses, where no measurement says otherwise.
struct OverlapPolicy {
  double margin = 0.02;       // of the weighted progress of the two: what a sharing has to gain
  double most_harm = 0.25;    // of one's steps a second, in one arm: more ends it at once
  double most_loss = 0.10;    // of one's steps a second, on average, where it is kept
  double trial_share = 0.05;  // of the time, shared for the sake of a trial
  int least_rounds = 6;
  int most_rounds = 16;
  int arm_steps = 3;  // of the slower one, and and:
  uint64_t shortest_arm = 400;
  uint64_t longest_arm = 6000;     // longer ones end the trial: too slow to be judged
  uint64_t calm = 5000;            // nothing has changed for so long before a trial
  uint64_t calm_kept = 1000;       // and before a kept one goes on that something came between
  uint64_t first_control = 10000;  // under a kept sharing: apart for an arm; then twice as late, …
  uint64_t latest_control = 300000;
  uint64_t believed = UINT64_C(604800000);  // a settled verdict
  uint64_t doubted = UINT64_C(86400000);    // one of a single bad arm, or that never settled
};

struct OverlapClient {
  ClientId id = 0;
  std::string program;     // the same text: the same program; "" = never part of a trial
  std::string owner;       // only clients of one owner share
  bool fit = false;        // settled, at work, with a whole lease and without a word of the user
  bool widens = false;     // would use further cores if it had them
  std::vector<int> cores;  // its own by the plan, ascending
  double weight = 1.0;
  std::vector<double> progress;  // LeaseDemand::progress
  uint64_t steps = 0;            // done so far
};

// What happened, for people.
struct OverlapNote {
  ClientId client = 0;
  std::string text;  // one line
};

// Of what is being tried or kept.
struct OverlapView {
  Overlap overlap;
  bool kept = false;
  bool shared_now = false;  // not in an arm apart
  PairEstimate estimate;
};

struct OverlapCounters {
  uint64_t trials = 0;
  uint64_t kept = 0;
  uint64_t lost = 0;     // of them: by a settled loss, or by none that settled
  uint64_t aborted = 0;  // because one of the two was hurt
  uint64_t interrupted = 0;
  uint64_t undone = 0;       // kept ones that stopped paying
  uint64_t trial_ticks = 0;  // shared for the sake of a trial
};

class OverlapTrials {
 public:
  explicit OverlapTrials(OverlapPolicy policy = {}) : policy_(policy) {}

  // Of an earlier run, still believed for so long. What is known already stays.
  void remember(OverlapVerdict verdict, uint64_t tick, uint64_t ticks_left);

  // Every few milliseconds, and after everything that changes leases. `actual`: the overlap that
  // the lease table has, which may have ended it. Returns what it should have now. `tick` never
  // goes back.
  std::optional<Overlap> look(uint64_t tick, const std::vector<OverlapClient>& clients,
                              const std::optional<Overlap>& actual);
  // By hand: nothing with this client any more, and the end of what there is.
  void never_again(ClientId id) { left_alone_.push_back(id); }
  void forget(ClientId id, uint64_t tick);  // it has left

  // Since the last call.
  std::vector<OverlapVerdict> take_verdicts();
  std::vector<OverlapNote> take_notes();
  // Why the next change of leases happens, half a sentence.
  const std::string& cause() const { return cause_; }

  std::optional<OverlapView> view() const;
  const OverlapCounters& counters() const { return counters_; }
  uint64_t believed_for(const OverlapVerdict& verdict) const;

 private:
  struct Pair {
    OverlapKey key;
    Overlap overlap;
    std::array<std::vector<int>, 2> own;  // cores of the first and the second by the plan
    double promise = 0;
  };
  using Surroundings = std::vector<std::pair<ClientId, std::vector<int>>>;
  struct Run {
    Pair pair;
    bool kept = false;
    PairRounds rounds;
    PairArm arm;
    std::optional<PairRates> apart;  // of the round that is under way
    std::optional<PairRates> shared;
    PairRates reference{};  // apart, latest
    uint64_t next_control = 0;
    uint64_t control_pause = 0;
    uint64_t shared_ticks = 0;
    int losses = 0;   // rounds in a row
    int strikes = 0;  // arms in a row in which a kept one hurt
    Surroundings surroundings;
  };
  const OverlapClient* find(const std::vector<OverlapClient>& clients, ClientId id) const;
  bool may(const OverlapClient& client) const;
  bool calm(uint64_t tick, const std::vector<OverlapClient>& clients);
  std::string broken(const std::vector<OverlapClient>& clients,
                     const std::optional<Overlap>& actual) const;
  void resume(uint64_t tick, const std::vector<OverlapClient>& clients);
  void propose(uint64_t tick, const std::vector<OverlapClient>& clients);
  std::vector<Pair> candidates(uint64_t tick, const std::vector<OverlapClient>& clients) const;
  void begin(Pair pair, uint64_t tick, const std::vector<OverlapClient>& clients);
  void begin_arm(bool shared, uint64_t tick, const std::vector<OverlapClient>& clients);
  void follow(uint64_t tick, const std::vector<OverlapClient>& clients);
  void arm_ended(uint64_t tick, const std::vector<OverlapClient>& clients);
  bool judge_trial(uint64_t tick);
  bool judge_kept(uint64_t tick);
  void keep(uint64_t tick);
  void lose(uint64_t tick, const std::string& why, bool settled);
  void stop(uint64_t tick, const std::string& why);
  void count_shared(uint64_t tick);
  uint64_t spent(uint64_t shared_ticks) const;
  OverlapVerdict verdict(bool pays, const std::string& why) const;
  void note(const std::string& text);

  OverlapPolicy policy_;
  BelievedVerdicts<OverlapVerdict> verdicts_;
  std::optional<Run> run_;
  std::vector<Run> interrupted_;  // kept ones, to be taken up again when all is as it was
  std::vector<ClientId> left_alone_;
  Surroundings surroundings_;  // at the last look
  uint64_t calm_since_ = 0;
  uint64_t not_before_ = 0;
  std::string cause_;
  std::vector<OverlapVerdict> fresh_;
  std::vector<OverlapNote> notes_;
  OverlapCounters counters_;
};

}  // namespace optile::sched
