#include "daemon/store_overlaps.h"

#include "daemon/store_values.h"

namespace optile::daemon {
namespace {

constexpr int64_t kMaxOverlaps = 1024;
constexpr int kMaxRounds = 1000;

}  // namespace

const char* const kOverlapSchema = R"sql(
CREATE TABLE IF NOT EXISTS overlaps (
  machine TEXT NOT NULL, guest TEXT NOT NULL, host TEXT NOT NULL, shape INTEGER NOT NULL,
  pays INTEGER NOT NULL, gain REAL NOT NULL, low REAL NOT NULL, high REAL NOT NULL,
  rounds INTEGER NOT NULL, why TEXT NOT NULL,
  made_at INTEGER NOT NULL, believed_until INTEGER NOT NULL,
  PRIMARY KEY (machine, guest, host, shape)) STRICT, WITHOUT ROWID;
)sql";

base::Status write_overlap(Database& database, const OverlapRecord& record) {
  const sched::OverlapVerdict& verdict = record.verdict;
  base::Status status = database.run(
      "INSERT OR REPLACE INTO overlaps (machine, guest, host, shape, pays, gain, low, high, "
      "rounds, why, made_at, believed_until) "
      "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
      {record.machine, verdict.key.guest, verdict.key.host,
       int64_t{static_cast<int>(verdict.key.shape)}, int64_t{verdict.pays ? 1 : 0},
       finite(verdict.gain), finite(verdict.low), finite(verdict.high), int64_t{verdict.rounds},
       verdict.why, record.when, record.believed_until});
  if (!status.ok()) return status;
  return keep_newest(database, "overlaps", "machine, guest, host, shape", kMaxOverlaps);
}

std::vector<OverlapRecord> Store::find_overlaps(const std::string& machine,
                                                const std::string& program) {
  std::vector<OverlapRecord> found;
  for (const Row& row : waiting_and_kept_rows(
           "SELECT guest, host, shape, pays, gain, low, high, rounds, why, made_at, "
           "believed_until FROM overlaps WHERE machine = ?1 AND (guest = ?2 OR host = ?2) "
           "ORDER BY made_at DESC LIMIT ?3",
           {machine, program, kMaxOverlaps})) {
    OverlapRecord record;
    record.machine = machine;
    sched::OverlapVerdict& verdict = record.verdict;
    verdict.key = {as_text(row[0]), as_text(row[1]),
                   static_cast<sched::OverlapShape>(
                       small(row[2], static_cast<int>(sched::OverlapShape::kBoth)))};
    verdict.pays = as_integer(row[3]) != 0;
    verdict.gain = signed_share(row[4]);
    verdict.low = signed_share(row[5]);
    verdict.high = signed_share(row[6]);
    verdict.rounds = small(row[7], kMaxRounds);
    verdict.why = as_text(row[8]);
    record.when = as_integer(row[9]);
    record.believed_until = as_integer(row[10]);
    add_unless_known(found, record, [](const OverlapRecord& one) { return one.verdict.key; });
  }
  return found;
}

}  // namespace optile::daemon
