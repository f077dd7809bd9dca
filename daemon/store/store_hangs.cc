#include "daemon/store/store_tables.h"
#include "daemon/store/store_values.h"

namespace optile::daemon {
namespace {

constexpr int64_t kMaxHangs = 1024;
constexpr int kWidestRegion = 65535;

}  // namespace

const char* const kHangSchema = R"sql(
CREATE TABLE IF NOT EXISTS hangs (
  machine TEXT NOT NULL, program TEXT NOT NULL, key INTEGER NOT NULL,
  name TEXT NOT NULL, width INTEGER NOT NULL, made_at INTEGER NOT NULL,
  PRIMARY KEY (machine, program, key)) STRICT, WITHOUT ROWID;
)sql";

base::Status write_hang(Database& database, const HangRecord& record) {
  base::Status status = put_row(database, "hangs",
                                {record.machine, record.program, word(record.key), record.name,
                                 int64_t{record.width}, record.when});
  if (!status.ok()) return status;
  return keep_newest(database, "hangs", "machine, program, key", kMaxHangs);
}

base::Status forget_hangs(Database& database, const std::string& machine,
                          const std::string& program) {
  return database.run("DELETE FROM hangs WHERE machine = ?1 AND (?2 = '' OR program = ?2)",
                      {machine, program});
}

std::vector<HangRecord> Store::find_hangs(const std::string& machine, const std::string& program) {
  std::vector<HangRecord> found;
  for (const Row& row : waiting_and_kept_rows("SELECT key, name, width, made_at FROM hangs "
                                              "WHERE machine = ?1 AND program = ?2 LIMIT ?3",
                                              {machine, program, kMaxHangs})) {
    const HangRecord record = {machine,
                               program,
                               unsigned_word(row[0]),
                               as_text(row[1]),
                               small(row[2], kWidestRegion),
                               as_integer(row[3])};
    add_unless_known(found, record, &HangRecord::key);
  }
  return found;
}

}  // namespace optile::daemon
