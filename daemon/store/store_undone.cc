#include "daemon/store/store_tables.h"
#include "daemon/store/store_values.h"

namespace optile::daemon {
namespace {

// Commands of the user do not age with what was learned; the oldest go where they are very many.
constexpr int64_t kMaxUndone = 4096;

base::Status write_revoked(Database& database, const UndoRecord& record) {
  const std::string& program = record.conditions.program.program;
  base::Status forgotten = forget_hangs(database, record.conditions.machine, program);
  if (!forgotten.ok()) return forgotten;
  return database.run("DELETE FROM undone WHERE machine = ?1 AND (?2 = '' OR program = ?2)",
                      {record.conditions.machine, program});
}

}  // namespace

const char* const kUndoneSchema = R"sql(
CREATE TABLE IF NOT EXISTS undone (
  machine TEXT NOT NULL, program TEXT NOT NULL, made_at INTEGER NOT NULL,
  PRIMARY KEY (machine, program)) STRICT, WITHOUT ROWID;
)sql";

// The oldest stores kept it in the place of a launch plan's text.
const char* const kUndoneUpgrade = R"sql(
INSERT OR IGNORE INTO undone (machine, program, made_at)
  SELECT machine, program, max(last_used) FROM launch_plans
  JOIN programs ON programs.id = program_id WHERE text = 'undone' GROUP BY machine, program;
)sql";

base::Status write_undone(Database& database, const UndoRecord& record) {
  if (record.revoke) return write_revoked(database, record);
  const std::string& machine = record.conditions.machine;
  const std::string& program = record.conditions.program.program;
  base::Status status = database.run(
      "DELETE FROM plans WHERE machine = ?1 AND program_id IN "
      "(SELECT id FROM programs WHERE ?2 = '' OR program = ?2)",
      {machine, program});
  if (!status.ok()) return status;
  status = database.run(
      "INSERT OR REPLACE INTO undone (machine, program, made_at) "
      "SELECT ?1, program, ?3 FROM programs WHERE ?2 = '' "
      "UNION SELECT ?1, ?2, ?3 WHERE ?2 <> ''",
      {machine, program, record.when});
  if (!status.ok()) return status;
  return keep_newest(database, "undone", "machine, program", kMaxUndone);
}

// The newest command counts; the one in memory is of before the file was there.
bool Store::is_undone(const Conditions& conditions) {
  for (auto batch = unsaved_.rbegin(); batch != unsaved_.rend(); ++batch) {
    for (auto record = batch->undone.rbegin(); record != batch->undone.rend(); ++record) {
      if (same_program(*record, conditions)) return !record->revoke;
    }
  }
  const bool undone = !rows_in(file_ != nullptr ? file_.get() : memory_.get(),
                               "SELECT 1 FROM undone WHERE machine = ?1 AND program = ?2",
                               {conditions.machine, conditions.program.program})
                           .empty();
  leave_damaged();
  return undone;
}

std::set<std::string> Store::programs(const std::string& machine) {
  std::set<std::string> names;
  for (const Row& row : waiting_and_kept_rows("SELECT DISTINCT program FROM programs "
                                              "UNION SELECT program FROM undone WHERE machine = ?1",
                                              {machine})) {
    names.insert(as_text(row[0]));
  }
  return names;
}

}  // namespace optile::daemon
