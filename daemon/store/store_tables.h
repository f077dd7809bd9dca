// The tables of the store that are made where they are missing, each with the functions that write
// it; reading is Store's. Only the store's sources include this.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "daemon/store/database.h"
#include "daemon/store/store.h"

namespace optile::daemon {

// Statements that make them in stores of any version.
extern const char* const kCurveSchema;       // what programs' steps took by cores
extern const char* const kHangSchema;        // regions that did not return
extern const char* const kLendingSchema;     // whether lent cores gain programs something
extern const char* const kRunDetailsSchema;  // of runs, beside their times
extern const char* const kUndoneSchema;      // programs that somebody wants left alone
// Takes over what stores before version 3 kept elsewhere.
extern const char* const kUndoneUpgrade;

// Instead of what was kept of that program under its launch plan. `program`: its id.
base::Status write_curve(Database& database, int64_t program, const CurveRecord& record);
base::Status write_hang(Database& database, const HangRecord& record);
// Those of that program, or of all where its name is empty.
base::Status forget_hangs(Database& database, const std::string& machine,
                          const std::string& program);
base::Status write_lending(Database& database, const LendingRecord& record);
base::Status write_run_details(Database& database, int64_t run, const RunRecord& record);
base::Status write_undone(Database& database, const UndoRecord& record);

// Whether that word is about this program.
inline bool same_program(const UndoRecord& record, const Conditions& conditions) {
  const std::string& program = record.conditions.program.program;
  return record.conditions.machine == conditions.machine &&
         (program.empty() || program == conditions.program.program);
}

}  // namespace optile::daemon
