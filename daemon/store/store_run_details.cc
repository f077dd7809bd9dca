#include "daemon/store/store_tables.h"
#include "daemon/store/store_values.h"

namespace optile::daemon {

const char* const kRunDetailsSchema = R"sql(
CREATE TABLE IF NOT EXISTS run_details (
  run_id INTEGER PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,
  untouched INTEGER NOT NULL, disturbed TEXT NOT NULL,
  step_ops INTEGER NOT NULL, step_keys TEXT NOT NULL) STRICT;
)sql";

base::Status write_run_details(Database& database, int64_t run, const RunRecord& record) {
  return put_row(database, "run_details",
                 {run, int64_t{record.untouched ? 1 : 0}, record.disturbed,
                  int64_t{record.step.ops}, record.step.keys_text()});
}

}  // namespace optile::daemon
