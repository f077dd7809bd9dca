// What goes from the store so that nothing grows without end: the oldest. Only the store's sources
// include this.
#pragma once

#include <cstdint>
#include <set>

#include "base/result.h"
#include "daemon/store/database.h"

namespace optile::daemon {

// By their ids.
using Programs = std::set<int64_t>;

// Of programs that were written to, and programs beyond their number. What it costs follows from
// that, not from what is kept. Inside a transaction.
base::Status prune(Database& database, const Programs& written);
// Of all programs, in a transaction of its own: a file may have more than this version keeps.
base::Status prune_all(Database& database);

}  // namespace optile::daemon
