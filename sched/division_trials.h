// Whether cores divided otherwise do better than the plan's division: curves come from each client
// alone, or from another time, and side by side they can be wrong by more than divisions differ.
// Tries a neighbouring division in turns with the plan's, keeps what pays, undoes what does not. A
// state machine without clock or process: steps done come in, the division that is to be held comes
// out. Owned by whoever owns the leases; one thread. Ticks are milliseconds here.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sched/believed_verdicts.h"
#include "sched/division_verdicts.h"
#include "sched/lease.h"
#include "sched/pair_rounds.h"

namespace optile::sched {

// Guesses, where no measurement says otherwise.
struct DivisionPolicy {
  double margin = 0.02;  // of the weighted progress of the two: what a division has to gain
  // Of the same: what a division may lose by the curves and is tried all the same, since they may
  // be wrong by that.
  double reach = 0.15;
  // What a client does alone at its best is not measured while others are there, so what its
  // progress is worth may be wrong by this: counted in favour of who gives cores up.
  double doubt = 0.10;
  double most_harm = 0.35;    // of the steps a second that curves promise: more ends it in the arm
  double trial_share = 0.05;  // of the time, divided otherwise for the sake of a trial
  int least_rounds = 3;
  int most_rounds = 10;
  int arm_steps = 5;  // of the slower one, and:
  uint64_t shortest_arm = 1000;
  uint64_t longest_arm = 20000;  // longer ones end the trial: too slow to be judged
  uint64_t dividing = 2000;   // as long may it take until the two have the cores that they should
  uint64_t settling = 30000;  // as long may a client search after its cores have changed
  uint64_t calm = 15000;      // nothing has changed for so long before a trial
  uint64_t believed = UINT64_C(604800000);  // a settled verdict
  uint64_t doubted = 3'600'000;             // one that is not
  uint64_t longest_trial = 180000;
  int most_interrupted = 3;  // trials of one kind; then it counts as judged
  double moved = 0.15;       // a point of a curve, since the division was held: it is held no more
};

struct DivisionClient {
  ClientId id = 0;
  std::string program;  // the same text: the same program; "" = never part of a trial
  // Settled, at work, with the whole lease of the plan in its hands and without a word of the user.
  bool fit = false;
  bool searches = false;  // for what its cores are worth to it: will be fit by itself
  int cores = 0;          // of its own by the plan
  double weight = 1.0;
  std::vector<double> progress;  // LeaseDemand::progress
  uint64_t steps = 0;            // done so far
};

using CoreCounts = std::map<ClientId, int>;

struct DivisionNote {
  ClientId client = 0;
  std::string text;  // one line, for people
};

struct DivisionFinding {
  ClientId taker = 0;
  DivisionVerdict verdict;
};

struct DivisionCounters {
  uint64_t trials = 0;
  uint64_t kept = 0;
  uint64_t lost = 0;
  uint64_t interrupted = 0;
  uint64_t trial_ticks = 0;  // divided otherwise for the sake of a trial
};

// Of what is being tried.
struct DivisionView {
  ClientId giver = 0;
  ClientId taker = 0;
  int cores = 0;         // that pass from one to the other
  bool changed = false;  // they have passed, for now
  PairEstimate estimate;
};

class DivisionTrials {
 public:
  explicit DivisionTrials(DivisionPolicy policy = {}) : policy_(policy) {}

  // Every few milliseconds. Returns how many cores each of two must have at least now; nullopt: as
  // the plan divides. `tick` never goes back.
  const std::optional<CoreCounts>& look(uint64_t tick, const std::vector<DivisionClient>& clients);
  // Somebody came or left, the user said something, or cores came or went: all that is held and
  // tried ends.
  void end(uint64_t tick, const std::string& why);

  // What an earlier run found; it counts for so many more ticks.
  void remember(DivisionVerdict verdict, uint64_t tick, uint64_t ticks_left);

  std::vector<DivisionNote> take_notes();        // since the last call
  std::vector<DivisionFinding> take_findings();  // settled since the last call, to be remembered
  // Why the next change of leases happens, half a sentence.
  const std::string& cause() const { return cause_; }
  std::optional<DivisionView> view() const;
  bool tries() const { return run_.has_value(); }
  const DivisionCounters& counters() const { return counters_; }

 private:
  struct Pass {  // of cores from one to the other
    ClientId giver = 0;
    ClientId taker = 0;
    int cores = 0;
    double gain = 0;                // that the curves predict, of the progress of the two
    std::array<double, 2> kept{};   // part of its steps a second that each keeps, by the curves
    std::array<double, 2> worth{};  // weighted progress before
  };
  struct Run {
    Pass pass;
    DivisionKey key;
    CoreCounts before;
    CoreCounts after;
    std::optional<CoreCounts> held;  // when it began
    PairRounds rounds;
    bool changed = false;  // of the arm
    std::optional<PairArm> arm;
    uint64_t begun = 0;
    uint64_t divided = 0;  // when this arm's division was asked for
    std::optional<PairRates> as_before;
    std::optional<PairRates> as_after;
    PairRates reference{};  // as before, latest
    uint64_t changed_ticks = 0;
    int losses = 0;  // rounds in a row
  };
  using Company = std::vector<std::pair<ClientId, double>>;  // and weights
  static Company company_of(const std::vector<DivisionClient>& clients);
  static const DivisionClient* find(const std::vector<DivisionClient>& clients, ClientId id);
  static bool may_pass(const DivisionClient& client);
  static DivisionKey key_of(const DivisionClient& giver, const DivisionClient& taker);
  void take_up(uint64_t tick, const std::vector<DivisionClient>& clients);
  std::optional<Pass> pass_between(const DivisionClient& giver, const DivisionClient& taker) const;
  bool may_gain(const Pass& pass) const;
  std::optional<Pass> best_pass(uint64_t tick, const std::vector<DivisionClient>& clients) const;
  void propose(uint64_t tick, const std::vector<DivisionClient>& clients);
  void begin_arm(bool changed, uint64_t tick);
  void follow(uint64_t tick, const std::vector<DivisionClient>& clients);
  void follow_arm(uint64_t tick, const std::array<const DivisionClient*, 2>& two);
  void arm_ended(uint64_t tick);
  void judge(uint64_t tick);
  void keep(uint64_t tick);
  void lose(uint64_t tick, const std::string& why);
  void note_verdict(bool pays, uint64_t tick);
  void stop(uint64_t tick, const std::string& why);
  void count_changed(uint64_t tick);
  void close(uint64_t tick);
  bool curves_moved(const std::vector<DivisionClient>& clients);
  std::string figures() const;
  void note(const std::string& text);

  DivisionPolicy policy_;
  std::optional<CoreCounts> held_;
  std::map<ClientId, std::vector<double>> curves_;  // of those that it is about, when it was held
  std::optional<Run> run_;
  BelievedVerdicts<DivisionVerdict> verdicts_;
  std::vector<DivisionFinding> fresh_;
  std::map<DivisionKey, int> interrupted_;  // times, since a verdict
  std::set<DivisionKey> taken_;             // verdicts that what is held follows from
  Company company_;
  CoreCounts counts_;  // at the last look, while nothing is tried
  uint64_t calm_since_ = 0;
  uint64_t not_before_ = 0;
  std::string cause_;
  std::vector<DivisionNote> notes_;
  DivisionCounters counters_;
};

}  // namespace optile::sched
