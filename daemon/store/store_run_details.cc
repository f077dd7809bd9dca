#include "daemon/store/store_run_details.h"

#include "daemon/store/store_values.h"

namespace optile::daemon {

const char* const kRunDetailsSchema = R"sql(
CREATE TABLE IF NOT EXISTS run_details (
  run_id INTEGER PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,
  untouched INTEGER NOT NULL, disturbed TEXT NOT NULL,
  step_ops INTEGER NOT NULL, step_keys TEXT NOT NULL) STRICT;
)sql";

base::Status write_run_details(Database& database, int64_t run, const RunRecord& record) {
  return database.run(
      "INSERT OR REPLACE INTO run_details (run_id, untouched, disturbed, step_ops, step_keys) "
      "VALUES (?1, ?2, ?3, ?4, ?5)",
      {run, int64_t{record.untouched ? 1 : 0}, record.disturbed, int64_t{record.step.ops},
       record.step.keys_text()});
}

}  // namespace optile::daemon
