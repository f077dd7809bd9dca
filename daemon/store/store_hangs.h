// The store's part in regions that did not return. Only the store's sources include this.
#pragma once

#include "base/result.h"
#include "daemon/store/database.h"
#include "daemon/store/store.h"

namespace optile::daemon {

// Made in stores of any version that lack it.
extern const char* const kHangSchema;

base::Status write_hang(Database& database, const HangRecord& record);
// Those of that program, or of all where its name is empty.
base::Status forget_hangs(Database& database, const std::string& machine,
                          const std::string& program);

}  // namespace optile::daemon
