// The store's part in what lent cores gain programs. Only the store's sources include this.
#pragma once

#include "base/result.h"
#include "daemon/store/database.h"
#include "daemon/store/store.h"

namespace optile::daemon {

// Made in stores of any version that lack it.
extern const char* const kLendingSchema;

base::Status write_lending(Database& database, const LendingRecord& record);

}  // namespace optile::daemon
