// The store's part in what programs' steps took by cores. Only the store's sources include this.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "daemon/store/database.h"
#include "daemon/store/store.h"

namespace optile::daemon {

// Made in stores of any version that lack it.
extern const char* const kCurveSchema;

// Instead of what was kept of that program under its launch plan. `program`: its id.
base::Status write_curve(Database& database, int64_t program, const CurveRecord& record);

}  // namespace optile::daemon
