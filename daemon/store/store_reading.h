// What is found in one database: plans, runs, profiles. Of what a null or damaged one holds,
// nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/store/database.h"
#include "daemon/store/store_records.h"

namespace optile::daemon {

// As the functions of Store have it.
std::optional<FoundPlan> find_plan_in(Database* database, const Conditions& conditions,
                                      int default_width);
std::vector<RunRecord> find_runs_in(Database* database, const Conditions& conditions);
std::vector<FoundProfile> find_profiles_in(Database* database, const std::string& machine,
                                           uint64_t key, const std::string& name_prefix, int limit);

}  // namespace optile::daemon
