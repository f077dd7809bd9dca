// The store's part in programs that somebody wants left alone. Only the store's sources include
// this.
#pragma once

#include "base/result.h"
#include "daemon/store/database.h"
#include "daemon/store/store.h"

namespace optile::daemon {

// Made in stores of any version that lack it.
extern const char* const kUndoneSchema;
// Takes over what stores before version 3 kept elsewhere.
extern const char* const kUndoneUpgrade;

// Whether that word is about this program.
inline bool same_program(const UndoRecord& record, const Conditions& conditions) {
  const std::string& program = record.conditions.program.program;
  return record.conditions.machine == conditions.machine &&
         (program.empty() || program == conditions.program.program);
}

base::Status write_undone(Database& database, const UndoRecord& record);

}  // namespace optile::daemon
