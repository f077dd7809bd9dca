#include "daemon/store/store.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <utility>

#include "base/runtime_path.h"
#include "daemon/store/plan_checksum.h"
#include "daemon/store/store_file.h"
#include "daemon/store/store_pruning.h"
#include "daemon/store/store_reading.h"
#include "daemon/store/store_tables.h"
#include "daemon/store/store_values.h"

namespace optile::daemon {
namespace {

using base::Error;
using base::ErrorKind;
using base::Result;
using base::Status;

constexpr int32_t kApplicationId = 0x6f70746c;  // "optl"
constexpr int kSchemaVersion = 5;
constexpr int kOldestVersion = 1;

// Limits of what is written in each case; the oldest go first.
constexpr int64_t kMaxProfilesPerProgram = 32768;  // widths of ops
constexpr std::size_t kMaxUnsaved = 256;           // batches, while nothing can be written

constexpr std::monostate kNewId{};  // the database chooses it

constexpr const char* kSchema = R"sql(
CREATE TABLE programs (
  id INTEGER PRIMARY KEY,
  executable TEXT NOT NULL, program TEXT NOT NULL, arguments TEXT NOT NULL,
  last_seen INTEGER NOT NULL,
  UNIQUE (program, arguments, executable)) STRICT;
CREATE TABLE plans (
  id INTEGER PRIMARY KEY,
  program_id INTEGER NOT NULL REFERENCES programs (id) ON DELETE CASCADE,
  machine TEXT NOT NULL, launch_plan TEXT NOT NULL, runtime INTEGER NOT NULL,
  step_fingerprint INTEGER NOT NULL, default_width INTEGER NOT NULL, binding INTEGER NOT NULL,
  marker_key INTEGER NOT NULL, marker_context INTEGER NOT NULL, marker_ops INTEGER NOT NULL,
  own_step_seconds REAL NOT NULL, tuned_step_seconds REAL NOT NULL, made_at INTEGER NOT NULL,
  flow INTEGER NOT NULL DEFAULT 0,
  UNIQUE (program_id, machine, launch_plan, runtime, step_fingerprint, default_width)) STRICT;
CREATE TABLE plan_entries (
  plan_id INTEGER NOT NULL REFERENCES plans (id) ON DELETE CASCADE,
  key INTEGER NOT NULL, context INTEGER NOT NULL, width INTEGER NOT NULL, rule INTEGER NOT NULL,
  PRIMARY KEY (plan_id, key, context)) STRICT, WITHOUT ROWID;
CREATE TABLE profiles (
  program_id INTEGER NOT NULL REFERENCES programs (id) ON DELETE CASCADE,
  machine TEXT NOT NULL, launch_plan TEXT NOT NULL, runtime INTEGER NOT NULL,
  key INTEGER NOT NULL, width INTEGER NOT NULL, binding INTEGER NOT NULL,
  name TEXT NOT NULL, shape TEXT NOT NULL, samples INTEGER NOT NULL,
  median_ns REAL NOT NULL, made_at INTEGER NOT NULL,
  PRIMARY KEY (program_id, machine, launch_plan, runtime, key, width, binding))
  STRICT, WITHOUT ROWID;
CREATE INDEX profiles_by_key ON profiles (machine, key);
CREATE TABLE runs (
  id INTEGER PRIMARY KEY,
  program_id INTEGER NOT NULL REFERENCES programs (id) ON DELETE CASCADE,
  machine TEXT NOT NULL, launch_plan TEXT NOT NULL, runtime INTEGER NOT NULL,
  kind INTEGER NOT NULL, steps INTEGER NOT NULL, step_seconds REAL NOT NULL,
  spread REAL NOT NULL, own_steps INTEGER NOT NULL, own_step_seconds REAL NOT NULL,
  finished_at INTEGER NOT NULL) STRICT;
CREATE INDEX runs_by_program ON runs (program_id, finished_at);
)sql";

// To version 3: what older ones kept and nobody read goes. Their plans have sums over columns that
// are gone, and what lent cores gain is believed for a week only: both are found anew.
constexpr const char* kUpgradeTo3 = R"sql(
DROP TABLE IF EXISTS overlaps;
DROP TABLE IF EXISTS divisions;
DROP TABLE IF EXISTS lending;
DROP TABLE launch_plans;
DELETE FROM plans;
ALTER TABLE plan_entries DROP COLUMN name;
ALTER TABLE plan_entries DROP COLUMN shape;
DROP INDEX IF EXISTS profiles_by_name;
ALTER TABLE profiles DROP COLUMN min_ns;
)sql";

// To version 4: a column has another name. Stores of versions 1 and 2 may have no curves.
constexpr const char* kUpgradeTo4 = R"sql(
ALTER TABLE plans RENAME COLUMN own_width TO default_width;
CREATE TABLE IF NOT EXISTS curves (
  program_id INTEGER NOT NULL REFERENCES programs (id) ON DELETE CASCADE,
  machine TEXT NOT NULL, launch_plan TEXT NOT NULL, cores INTEGER NOT NULL,
  step_fingerprint INTEGER NOT NULL, own_width INTEGER NOT NULL, steered REAL NOT NULL,
  seconds REAL NOT NULL, measured INTEGER NOT NULL, made_at INTEGER NOT NULL,
  PRIMARY KEY (program_id, machine, launch_plan, cores)) STRICT, WITHOUT ROWID;
ALTER TABLE curves RENAME COLUMN own_width TO default_width;
)sql";

// To version 5: how a plan's ops pass. Those of before are widths.
constexpr const char* kUpgradeTo5 = "ALTER TABLE plans ADD COLUMN flow INTEGER NOT NULL DEFAULT 0;";

Database::Identity identity() {
  static const std::string additions =
      std::string(kLendingSchema) + kHangSchema + kUndoneSchema + kCurveSchema + kRunDetailsSchema;
  return {kApplicationId,
          kSchemaVersion,
          kSchema,
          additions.c_str(),
          kOldestVersion,
          {{3, std::string(kUndoneSchema) + kUndoneUpgrade + kUpgradeTo3},
           {4, kUpgradeTo4},
           {5, kUpgradeTo5}}};
}

// Whether what was forgotten under `forgotten` is what is looked for under `wanted`.
bool same_plan(const Conditions& forgotten, const Conditions& wanted) {
  return forgotten.machine == wanted.machine && forgotten.launch_plan == wanted.launch_plan &&
         forgotten.program.executable == wanted.program.executable &&
         forgotten.program.program == wanted.program.program;
}

Result<int64_t> program_id(Database& database, const Conditions& conditions, int64_t when,
                           Programs& written) {
  const ProgramKey& program = conditions.program;
  const Result<std::vector<Row>> rows = database.query(
      "INSERT INTO programs (executable, program, arguments, last_seen) VALUES (?1, ?2, ?3, ?4) "
      "ON CONFLICT DO UPDATE SET last_seen = max(last_seen, excluded.last_seen) RETURNING id",
      {program.executable, program.program, program.arguments, when});
  if (!rows.ok()) return rows.error();
  const int64_t id = as_integer(rows.value().at(0).at(0));
  written.insert(id);
  return id;
}

Status forget(Database& database, const Conditions& conditions) {
  const ProgramKey& program = conditions.program;
  return database.run(
      "DELETE FROM plans WHERE machine = ?1 AND launch_plan = ?2 "
      "AND (?3 = 0 OR runtime = 0 OR runtime = ?3) AND program_id IN "
      "(SELECT id FROM programs WHERE executable = ?4 AND program = ?5)",
      {conditions.machine, conditions.launch_plan, int64_t{conditions.runtime}, program.executable,
       program.program});
}

Status write_settled(Database& database, const SettledRecord& record, Programs& written) {
  const Conditions& at = record.conditions;
  const tuner::StoredPlan& plan = record.settled.plan;
  const Result<int64_t> program = program_id(database, at, record.when, written);
  if (!program.ok()) return program.status();
  Status status = put_row(
      database, "plans",
      {kNewId, program.value(), at.machine, at.launch_plan, int64_t{at.runtime},
       word(plan.step_fingerprint), int64_t{plan.default_width},
       int64_t{static_cast<int>(plan.binding)}, word(plan.marker.place.key),
       word(plan.marker.place.context), int64_t{plan.marker.ops}, finite(plan.own_step_seconds),
       finite(plan.tuned_step_seconds), record.when, int64_t{static_cast<int>(plan.flow.kind)}});
  if (!status.ok()) return status;
  const int64_t plan_id = database.last_row_id();
  // No op has key 0.
  std::vector<tuner::StoredEntry> entries = plan.entries;
  entries.push_back({{0, plan_checksum(plan)}});
  for (const tuner::StoredEntry& entry : entries) {
    status = put_row(database, "plan_entries",
                     {plan_id, word(entry.place.key), word(entry.place.context),
                      int64_t{entry.width}, int64_t{static_cast<int>(entry.rule)}});
    if (!status.ok()) return status;
  }
  for (const tuner::StoredProfile& profile : record.settled.profiles) {
    status = put_row(
        database, "profiles",
        {program.value(), at.machine, at.launch_plan, int64_t{at.runtime}, word(profile.key),
         int64_t{profile.at.width}, int64_t{static_cast<int>(profile.at.binding)}, profile.name,
         profile.shape, word(profile.count), finite(profile.median_ns), record.when});
    if (!status.ok()) return status;
  }
  // Only of this program, since looking at all of them would cost more than writing.
  return database.run(
      "DELETE FROM profiles WHERE program_id = ?1 AND made_at < (SELECT made_at FROM profiles "
      "WHERE program_id = ?1 ORDER BY made_at DESC LIMIT 1 OFFSET ?2)",
      {program.value(), kMaxProfilesPerProgram - 1});
}

Status write_run(Database& database, const RunRecord& record, Programs& written) {
  const Conditions& at = record.conditions;
  const Result<int64_t> program = program_id(database, at, record.when, written);
  if (!program.ok()) return program.status();
  const Status status =
      put_row(database, "runs",
              {kNewId, program.value(), at.machine, at.launch_plan, int64_t{at.runtime},
               int64_t{static_cast<int>(record.kind)}, int64_t{record.steps},
               finite(record.step_seconds), finite(record.spread), int64_t{record.own_steps},
               finite(record.own_step_seconds), record.when});
  return status.ok() ? write_run_details(database, database.last_row_id(), record) : status;
}

Status write_batch(Database& database, const StoreBatch& batch) {
  if (Status begun = database.run("BEGIN IMMEDIATE"); !begun.ok()) return begun;
  const auto write_all = [&]() -> Status {
    Programs written;
    for (const Conditions& conditions : batch.forgotten) {
      if (Status status = forget(database, conditions); !status.ok()) return status;
    }
    for (const UndoRecord& record : batch.undone) {
      if (Status status = write_undone(database, record); !status.ok()) return status;
    }
    for (const SettledRecord& record : batch.settled) {
      if (Status status = write_settled(database, record, written); !status.ok()) return status;
    }
    for (const RunRecord& record : batch.runs) {
      if (Status status = write_run(database, record, written); !status.ok()) return status;
    }
    for (const LendingRecord& record : batch.lending) {
      if (Status status = write_lending(database, record); !status.ok()) return status;
    }
    for (const HangRecord& record : batch.hangs) {
      if (Status status = write_hang(database, record); !status.ok()) return status;
    }
    for (const CurveRecord& record : batch.curves) {
      const Result<int64_t> program = program_id(database, record.conditions, record.when, written);
      if (!program.ok()) return program.status();
      if (Status status = write_curve(database, program.value(), record); !status.ok()) {
        return status;
      }
    }
    if (Status status = prune(database, written); !status.ok()) return status;
    return database.run("COMMIT");
  };
  Status status = write_all();
  if (!status.ok()) {
    // The fault of the statement counts, not the one of taking it back.
    const DatabaseFault fault = database.last_fault();
    const Status undone = database.run("ROLLBACK");
    if (!undone.ok() || fault == DatabaseFault::kCorrupt) return status;
  }
  return status;
}

// A plan in the file that is to be forgotten as soon as the file can be written.
bool file_is_outdated(const std::deque<StoreBatch>& unsaved, const Conditions& conditions) {
  return std::any_of(unsaved.begin(), unsaved.end(), [&](const StoreBatch& batch) {
    return std::any_of(batch.forgotten.begin(), batch.forgotten.end(),
                       [&](const Conditions& one) { return same_plan(one, conditions); }) ||
           std::any_of(batch.undone.begin(), batch.undone.end(), [&](const UndoRecord& record) {
             return !record.revoke && same_program(record, conditions);
           });
  });
}

}  // namespace

std::unique_ptr<Store> Store::open(const std::string& path) {
  std::unique_ptr<Store> store(new Store);
  store->state_.path = path;
  if (path == kMemoryPath || path.empty()) {
    store->state_.message = path.empty() ? "there is no home directory; name a file with --store"
                                         : "asked for with --store :memory:";
    store->open_memory();
  } else {
    store->open_file();
  }
  return store;
}

void Store::open_file() {
  make_parents(state_.path);
  Database::Opened opened = Database::open(state_.path, identity());
  std::string repaired;
  if (opened.fault == DatabaseFault::kCorrupt) {
    const std::string aside = rename_aside(state_.path);
    if (!aside.empty()) {
      repaired = "the store was damaged and is now " + aside + "; a new one was begun";
      opened = Database::open(state_.path, identity());
    }
  }
  file_ = std::move(opened.database);
  may_come_back_ = opened.fault == DatabaseFault::kUnavailable;
  state_.keeping = file_ == nullptr ? Keeping::kInMemory : Keeping::kOnDisk;
  state_.message = repaired;
  if (file_ != nullptr) {
    // What fails here, such as another daemon at it, is done at the next opening.
    static_cast<void>(prune_all(*file_).ok());
    return;
  }
  state_.message = opened.message + (may_come_back_ ? "; kept in memory and tried again"
                                                    : "; nothing is kept beyond this daemon");
  open_memory();
}

void Store::open_memory() {
  // Null only without memory; then nothing is found.
  if (memory_ == nullptr) memory_ = Database::open(kMemoryPath, identity()).database;
}

std::size_t Store::unsaved_records() const {
  std::size_t records = 0;
  for (const StoreBatch& batch : unsaved_) records += batch.size();
  return records;
}

Status Store::write(const StoreBatch& batch) {
  if (batch.empty() && unsaved_.empty()) return {};
  if (file_ == nullptr && may_come_back_) open_file();
  if (file_ == nullptr) {
    keep_in_memory(batch, state_.message);
    // Without a file that might come back, this is all that was asked for.
    return may_come_back_ ? Status(Error{ErrorKind::kUnavailable, state_.message}) : Status();
  }
  Status status;
  while (status.ok() && !unsaved_.empty()) {
    status = write_file(unsaved_.front());
    if (status.ok()) unsaved_.pop_front();
  }
  if (status.ok() && !batch.empty()) status = write_file(batch);
  if (!status.ok()) {
    keep_in_memory(batch, status.message() + "; kept in memory and tried again");
    return status;
  }
  if (state_.keeping == Keeping::kFailing) state_.message = "";
  state_.keeping = Keeping::kOnDisk;
  memory_.reset();
  return status;
}

Status Store::write_file(const StoreBatch& batch) {
  Status status = write_batch(*file_, batch);
  if (status.ok() || file_->last_fault() != DatabaseFault::kCorrupt) return status;
  file_.reset();
  open_file();
  if (file_ == nullptr) return Error{ErrorKind::kUnavailable, state_.message};
  return write_batch(*file_, batch);
}

void Store::keep_in_memory(const StoreBatch& batch, const std::string& why) {
  if (file_ != nullptr || may_come_back_) {
    ++state_.failed_writes;
    if (!batch.empty()) unsaved_.push_back(batch);
    if (unsaved_.size() > kMaxUnsaved) unsaved_.pop_front();
  }
  if (file_ != nullptr) state_.keeping = Keeping::kFailing;
  state_.message = why;
  open_memory();
  // A failure here loses what would be lost anyway.
  if (memory_ != nullptr && !batch.empty()) static_cast<void>(write_batch(*memory_, batch).ok());
}

std::vector<Row> Store::waiting_and_kept_rows(const std::string& sql, const Row& values) {
  std::vector<Row> found = rows_in(memory_.get(), sql, values);
  for (Row& row : rows_in(file_.get(), sql, values)) found.push_back(std::move(row));
  leave_damaged();
  return found;
}

// A file that turned out to be damaged while it was read is put aside.
void Store::leave_damaged() {
  if (file_ == nullptr || !file_->is_damaged()) return;
  file_.reset();
  open_file();
}

// What could not be written yet is the newest, but the same arguments come first.
std::optional<FoundPlan> Store::find_plan(const Conditions& conditions, int default_width) {
  std::optional<FoundPlan> found = find_plan_in(memory_.get(), conditions, default_width);
  if ((!found || !found->same_arguments) && !file_is_outdated(unsaved_, conditions)) {
    std::optional<FoundPlan> older = find_plan_in(file_.get(), conditions, default_width);
    if (!found || (older && older->same_arguments)) found = std::move(older);
  }
  if (file_ != nullptr && file_->is_damaged()) found.reset();  // half of it may be missing
  leave_damaged();
  return found;
}

std::vector<RunRecord> Store::find_runs(const Conditions& conditions) {
  std::vector<RunRecord> found = find_runs_in(memory_.get(), conditions);
  for (RunRecord& run : find_runs_in(file_.get(), conditions)) found.push_back(std::move(run));
  leave_damaged();
  return found;
}

std::vector<FoundProfile> Store::find_profiles(const std::string& machine, uint64_t key,
                                               const std::string& name_prefix, int limit) {
  std::vector<FoundProfile> found =
      find_profiles_in(memory_.get(), machine, key, name_prefix, limit);
  const int left = limit - static_cast<int>(found.size());
  for (FoundProfile& one : find_profiles_in(file_.get(), machine, key, name_prefix, left)) {
    found.push_back(std::move(one));
  }
  leave_damaged();
  return found;
}

}  // namespace optile::daemon
