#include "daemon/store_divisions.h"

#include <cmath>

#include "daemon/store_values.h"

namespace optile::daemon {
namespace {

constexpr int64_t kMostDivisions = 1024;
constexpr int kMostDivided = 65536;  // cores

double weights(const Value& value) {
  const double read = as_real(value);
  return std::isfinite(read) && read > 0 ? read : 1.0;
}

}  // namespace

const char* const kDivisionSchema = R"sql(
CREATE TABLE IF NOT EXISTS divisions (
  machine TEXT NOT NULL, giver TEXT NOT NULL, taker TEXT NOT NULL,
  giver_cores INTEGER NOT NULL, taker_cores INTEGER NOT NULL, cores INTEGER NOT NULL,
  weights REAL NOT NULL, pays INTEGER NOT NULL, gain REAL NOT NULL,
  made_at INTEGER NOT NULL, believed_until INTEGER NOT NULL,
  PRIMARY KEY (machine, giver, taker, giver_cores, taker_cores, cores, weights))
  STRICT, WITHOUT ROWID;
)sql";

base::Status write_division(Database& database, const DivisionRecord& record) {
  const sched::DivisionVerdict& verdict = record.verdict;
  const sched::DivisionKey& key = verdict.key;
  base::Status status = database.run(
      "INSERT OR REPLACE INTO divisions (machine, giver, taker, giver_cores, taker_cores, cores, "
      "weights, pays, gain, made_at, believed_until) "
      "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
      {record.machine, key.giver, key.taker, int64_t{key.giver_cores}, int64_t{key.taker_cores},
       int64_t{key.cores}, finite(key.weights), int64_t{verdict.pays ? 1 : 0}, finite(verdict.gain),
       record.when, record.believed_until});
  if (!status.ok()) return status;
  return keep_newest(database, "divisions",
                     "machine, giver, taker, giver_cores, taker_cores, cores, weights",
                     kMostDivisions);
}

std::vector<DivisionRecord> Store::find_divisions(const std::string& machine,
                                                  const std::string& program) {
  std::vector<DivisionRecord> found;
  for (const Row& row : waiting_and_kept_rows(
           "SELECT giver, taker, giver_cores, taker_cores, cores, weights, pays, gain, made_at, "
           "believed_until FROM divisions WHERE machine = ?1 AND (giver = ?2 OR taker = ?2) "
           "ORDER BY made_at DESC LIMIT ?3",
           {machine, program, kMostDivisions})) {
    DivisionRecord record;
    record.machine = machine;
    sched::DivisionVerdict& verdict = record.verdict;
    verdict.key = {as_text(row[0]),
                   as_text(row[1]),
                   small(row[2], kMostDivided),
                   small(row[3], kMostDivided),
                   small(row[4], kMostDivided),
                   weights(row[5])};
    verdict.pays = as_integer(row[6]) != 0;
    verdict.gain = signed_share(row[7]);
    record.when = as_integer(row[8]);
    record.believed_until = as_integer(row[9]);
    add_unless_known(found, record, [](const DivisionRecord& one) { return one.verdict.key; });
  }
  return found;
}

}  // namespace optile::daemon
