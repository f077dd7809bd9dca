// What is kept between runs: plans, profiles, launch plans and how long steps took. Owned by the
// daemon, used from its one thread. Opening never fails: what cannot be kept on disk is kept in
// memory, and state() says why.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "bindings/abi/layout.h"
#include "daemon/database.h"
#include "perfmodel/launch_plan.h"
#include "sched/overlap_verdicts.h"
#include "tuner/session.h"

namespace optile::daemon {

// A program as the store knows it. Arguments tell runs of one program apart.
struct ProgramKey {
  std::string executable;
  std::string program;
  std::string arguments;

  bool operator==(const ProgramKey&) const = default;
};

// Under which conditions something was measured.
struct Conditions {
  std::string machine;  // Machine::fingerprint
  ProgramKey program;
  std::string launch_plan;
  int runtime = 0;  // optile_runtime; 0 = not known, matches any
};

struct SettledRecord {
  Conditions conditions;
  tuner::Session::Settled settled;
  int64_t when = 0;  // seconds since 1970
};

enum class RunKind { kBaseline = 0, kObserve = 1, kTune = 2 };
const char* run_kind_name(RunKind kind);

struct RunRecord {
  Conditions conditions;
  RunKind kind = RunKind::kTune;
  int steps = 0;
  double step_seconds = 0;  // median: tuned steps of a tuned run, all of any other
  double spread = 0;        // half-width of a 95 % interval, as a share of step_seconds
  int own_steps = 0;        // at the program's own widths, in the same run
  double own_step_seconds = 0;
  int64_t when = 0;
};

struct LaunchRecord {
  Conditions conditions;  // launch_plan is the text
  std::string reasons;
  int64_t when = 0;
};

// A program that somebody wants left alone, or no longer.
struct UndoRecord {
  Conditions conditions;  // machine, and the program's name; "" = every program that is known
  bool revoke = false;
  int64_t when = 0;
};

// What sharing cores gained or cost two programs.
struct OverlapRecord {
  std::string machine;
  sched::OverlapVerdict verdict;
  int64_t when = 0;
  int64_t believed_until = 0;
};

// What cores that others lend gain a program that has so many of its own.
struct LendingRecord {
  std::string machine;
  std::string program;  // overlap_program()
  int own_cores = 0;
  double gain = 1;
  bool borrows = true;
  int64_t when = 0;
};

// A region that did not return at a width of ours. It is left alone from then on.
struct HangRecord {
  std::string machine;
  std::string program;  // its name
  uint64_t key = 0;
  std::string name;
  int width = 0;
  int64_t when = 0;
};

// Written in one transaction: all of it or nothing. What is forgotten or undone goes first.
struct StoreBatch {
  std::vector<SettledRecord> settled;
  std::vector<RunRecord> runs;
  std::vector<LaunchRecord> launches;
  std::vector<Conditions> forgotten{};  // plans that lost
  std::vector<UndoRecord> undone{};
  std::vector<OverlapRecord> overlaps{};
  std::vector<LendingRecord> lending{};
  std::vector<HangRecord> hangs{};

  std::size_t size() const {
    return forgotten.size() + undone.size() + settled.size() + runs.size() + launches.size() +
           overlaps.size() + lending.size() + hangs.size();
  }
  bool empty() const { return size() == 0; }
};

struct FoundPlan {
  tuner::StoredPlan plan;
  int64_t when = 0;
  bool same_arguments = false;
};

struct FoundProfile {
  tuner::StoredProfile profile;
  std::string program;
  int64_t when = 0;
};

class Store {
 public:
  enum class Keeping { kOnDisk, kInMemory, kFailing };
  struct State {
    std::string path;
    Keeping keeping = Keeping::kInMemory;
    std::string message;         // why not on disk, or what was repaired
    uint64_t failed_writes = 0;  // since the start
  };

  // ":memory:" to keep nothing. Missing folders are made; a damaged file is renamed aside.
  static std::unique_ptr<Store> open(const std::string& path);

  const State& state() const { return state_; }

  // What cannot be written is kept in memory, is found there, and is tried again with every later
  // write, for which an empty batch will do; the status then says what is wrong.
  base::Status write(const StoreBatch& batch);
  // Something waits for a file that could not be opened or written.
  bool unsaved() const { return !unsaved_.empty(); }
  std::size_t unsaved_records() const;

  // Plan made under these conditions: same arguments first, then same program; `own_width` (0 = not
  // known) decides between several.
  std::optional<FoundPlan> find_plan(const Conditions& conditions, int own_width);
  // Somebody asked for this program to be left alone.
  bool is_undone(const Conditions& conditions);
  // Runs of the program on this machine under any launch plan, newest first. Arguments: these, or
  // where they have no run those of its latest run. The executable is not compared: a launcher
  // knows it by another path than the program does.
  std::vector<RunRecord> find_runs(const Conditions& conditions);
  // All pairs in which that program (sched::OverlapKey) takes part, newest first.
  std::vector<OverlapRecord> find_overlaps(const std::string& machine, const std::string& program);
  // Of that program, found since then; newest first.
  std::vector<LendingRecord> find_lending(const std::string& machine, const std::string& program,
                                          int64_t since);
  std::vector<HangRecord> find_hangs(const std::string& machine, const std::string& program);
  // By key, or where `key` is 0 by the begin of the op's name. At most `limit`, newest first.
  std::vector<FoundProfile> find_profiles(const std::string& machine, uint64_t key,
                                          const std::string& name_prefix, int limit);

 private:
  Store() = default;
  void open_file();
  void open_memory();
  void leave_damaged();
  base::Status write_file(const StoreBatch& batch);
  bool file_is_outdated(const Conditions& conditions) const;
  void keep_in_memory(const StoreBatch& batch, const std::string& why);
  std::vector<Row> rows(Database* database, const std::string& sql, const Row& values);
  // Of two rows about the same the first counts: it waits to be written.
  std::vector<Row> waiting_and_kept_rows(const std::string& sql, const Row& values);
  std::optional<FoundPlan> find_plan_in(Database* database, const Conditions& conditions,
                                        int own_width);
  std::vector<RunRecord> find_runs_in(Database* database, const Conditions& conditions);
  std::vector<FoundProfile> find_profiles_in(Database* database, const std::string& machine,
                                             uint64_t key, const std::string& name_prefix,
                                             int limit);

  State state_;
  std::unique_ptr<Database> file_;
  // Instead of the file, or while it cannot be written what was to go into it.
  std::unique_ptr<Database> memory_;
  std::deque<StoreBatch> unsaved_;  // oldest first
  bool may_come_back_ = false;      // what is wrong with the file may pass
  bool damaged_ = false;            // seen while reading
};

}  // namespace optile::daemon
