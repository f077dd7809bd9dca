// The store's part in verdicts about cores that passed between programs. Only the store's sources
// include this.
#pragma once

#include "base/result.h"
#include "daemon/database.h"
#include "daemon/store.h"

namespace optile::daemon {

// Made in stores of any version that lack it.
extern const char* const kDivisionSchema;

base::Status write_division(Database& database, const DivisionRecord& record);

}  // namespace optile::daemon
