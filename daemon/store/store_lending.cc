#include "daemon/store/store_tables.h"
#include "daemon/store/store_values.h"

namespace optile::daemon {
namespace {

constexpr int64_t kMaxLending = 1024;
constexpr int kMostCores = 65536;

}  // namespace

const char* const kLendingSchema = R"sql(
CREATE TABLE IF NOT EXISTS lending (
  machine TEXT NOT NULL, program TEXT NOT NULL, own_cores INTEGER NOT NULL,
 borrows INTEGER NOT NULL, made_at INTEGER NOT NULL,
  PRIMARY KEY (machine, program, own_cores)) STRICT, WITHOUT ROWID;
)sql";

base::Status write_lending(Database& database, const LendingRecord& record) {
  base::Status status = put_row(database, "lending",
                                {record.machine, record.program, int64_t{record.own_cores},
                                 int64_t{record.borrows ? 1 : 0}, record.when});
  if (!status.ok()) return status;
  return keep_newest(database, "lending", "machine, program, own_cores", kMaxLending);
}

std::vector<LendingRecord> Store::find_lending(const std::string& machine,
                                               const std::string& program, int64_t since) {
  std::vector<LendingRecord> found;
  for (const Row& row : waiting_and_kept_rows(
           "SELECT own_cores, borrows, made_at FROM lending WHERE machine = ?1 AND "
           "program = ?2 AND made_at >= ?3 ORDER BY made_at DESC LIMIT ?4",
           {machine, program, since, kMaxLending})) {
    const LendingRecord record = {machine, program, small(row[0], kMostCores),
                                  as_integer(row[1]) != 0, as_integer(row[2])};
    add_unless_known(found, record, &LendingRecord::own_cores);
  }
  return found;
}

}  // namespace optile::daemon
