// What the launcher asks about a program before it starts it. Pure; any thread.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "bindings/abi/api_fields.h"
#include "daemon/api/body_fields.h"
#include "daemon/controller/controller.h"
#include "daemon/transport/request_reader.h"

namespace optile::daemon {

inline constexpr Member kLaunchMembers[] = {{field::kExecutable, Member::Kind::kText},
                                            {field::kProgram, Member::Kind::kText},
                                            {field::kArguments, Member::Kind::kTextOrList},
                                            {field::kUserEnvironment, Member::Kind::kTextMap},
                                            {field::kBlasProvider, Member::Kind::kText},
                                            {field::kUsesOpenmp, Member::Kind::kFlag},
                                            {field::kResizesTeams, Member::Kind::kFlag},
                                            {field::kMarksOps, Member::Kind::kFlag},
                                            {field::kBudgetCores, Member::Kind::kInteger, 0, 65536},
                                            {field::kLibompPath, Member::Kind::kText},
                                            {field::kLibompSuitable, Member::Kind::kFlag},
                                            {field::kLibompObstacle, Member::Kind::kText},
                                            {field::kOpenmp, Member::Kind::kText},
                                            {field::kWait, Member::Kind::kText},
                                            {field::kBlas, Member::Kind::kText},
                                            {field::kHeap, Member::Kind::kText},
                                            {field::kRenewsBlocks, Member::Kind::kFlag},
                                            {field::kSetsUpMalloc, Member::Kind::kFlag},
                                            kShare,
                                            {field::kBatch, Member::Kind::kFlag},
                                            {field::kStarts, Member::Kind::kFlag},
                                            {field::kAnnounced, Member::Kind::kFlag}};

// Arguments as the shim tells them: blank-separated. A list is joined.
std::string arguments_at(const nlohmann::json& body);
// nullopt: a choice has a value that is unknown.
std::optional<perfmodel::LaunchFacts> launch_facts(const nlohmann::json& body);

}  // namespace optile::daemon
