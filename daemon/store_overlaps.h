// The store's part in verdicts about programs that share cores. Only the store's sources include
// this.
#pragma once

#include "base/result.h"
#include "daemon/database.h"
#include "daemon/store.h"

namespace optile::daemon {

// Made in stores of any version that lack it.
extern const char* const kOverlapSchema;

base::Status write_overlap(Database& database, const OverlapRecord& record);

}  // namespace optile::daemon
