// The store's part in what is known of a run beside its times: whether it was untouched, what
// disturbed it and what its steps consist of. Only the store's sources include this.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "daemon/store/database.h"
#include "daemon/store/store.h"

namespace optile::daemon {

// Made in stores of any version that lack it.
extern const char* const kRunDetailsSchema;

base::Status write_run_details(Database& database, int64_t run, const RunRecord& record);

}  // namespace optile::daemon
