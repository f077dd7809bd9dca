// What is kept between runs: plans, profiles and how long steps took. Owned by the
// daemon, used from its one thread. Opening never fails: what cannot be kept on disk is kept in
// memory, and state() says why.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "daemon/store/database.h"
#include "daemon/store/store_records.h"

namespace optile::daemon {

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

  // Plan made under these conditions: same arguments first, then same program; `default_width` (0 =
  // not known) decides between several.
  std::optional<FoundPlan> find_plan(const Conditions& conditions, int default_width);
  // Somebody asked for this program to be left alone.
  bool is_undone(const Conditions& conditions);
  // That have run on this machine, or about which there is a command of the user.
  std::set<std::string> programs(const std::string& machine);
  // Runs of the program on this machine under any launch plan, newest first. Arguments: these, or
  // where they have no run those of its latest run. The executable is not compared: a launcher
  // knows it by another path than the program does.
  std::vector<RunRecord> find_runs(const Conditions& conditions);
  // Of that program, found since then; newest first.
  std::vector<LendingRecord> find_lending(const std::string& machine, const std::string& program,
                                          int64_t since);
  // With the points that were found since then. What was measured under other launch plans under
  // which steps scale alike completes it, or stands for it. Else, where there is none under that
  // launch plan, the latest under another one, of which nothing counts as measured.
  std::optional<EarlierCurve> find_curve(const Conditions& conditions, int64_t since);
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
  void keep_in_memory(const StoreBatch& batch, const std::string& why);
  // Of two rows about the same the first counts: it waits to be written.
  std::vector<Row> waiting_and_kept_rows(const std::string& sql, const Row& values);

  State state_;
  std::unique_ptr<Database> file_;
  // Instead of the file, or while it cannot be written what was to go into it.
  std::unique_ptr<Database> memory_;
  std::deque<StoreBatch> unsaved_;  // oldest first
  bool may_come_back_ = false;      // what is wrong with the file may pass
};

}  // namespace optile::daemon
