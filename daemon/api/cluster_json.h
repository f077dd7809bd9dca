// The cluster as the API shows it, and the request to join one. Pure but for what it asks the
// cluster; the daemon's one thread.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>

#include "base/result.h"
#include "bindings/abi/api_fields.h"
#include "daemon/cluster/cluster.h"
#include "daemon/support/peer.h"
#include "daemon/transport/request_reader.h"

namespace optile::daemon {

inline constexpr Member kJoinMembers[] = {
    {field::kEndpoints, Member::Kind::kTextOrList}, {field::kName, Member::Kind::kText},
    {field::kAddress, Member::Kind::kText},         {field::kCredentialsFile, Member::Kind::kText},
    {field::kCacertFile, Member::Kind::kText},      {field::kCertFile, Member::Kind::kText},
    {field::kKeyFile, Member::Kind::kText},         {field::kProbes, Member::Kind::kFlag}};
// Of a job's plan; read_job_plan() looks at what is in them.
inline constexpr Member kPlanMembers[] = {{field::kJob, Member::Kind::kText, 1},
                                          {field::kRun, Member::Kind::kText, 1},
                                          {field::kEpoch, Member::Kind::kInteger, 1},
                                          {field::kStep, Member::Kind::kInteger},
                                          {field::kSinceStep, Member::Kind::kInteger},
                                          {field::kKind, Member::Kind::kText},
                                          {field::kSchedule, Member::Kind::kText},
                                          {field::kMicroBatches, Member::Kind::kInteger},
                                          {field::kReplicas, Member::Kind::kInteger},
                                          {field::kChoice, Member::Kind::kText},
                                          {field::kGeneration, Member::Kind::kInteger},
                                          {field::kLostNodes, Member::Kind::kOther},
                                          {field::kPublication, Member::Kind::kText},
                                          {field::kPublicationReason, Member::Kind::kText},
                                          {field::kPredictedSeconds, Member::Kind::kOther},
                                          {field::kMeasuredSeconds, Member::Kind::kOther},
                                          {field::kRanks, Member::Kind::kOther},
                                          {field::kChanges, Member::Kind::kOther}};
// Of a plan that is to be published; publish_plan() looks at what is in them.
inline constexpr Member kPublicationMembers[] = {{field::kClaim, Member::Kind::kOther},
                                                 {field::kPlan, Member::Kind::kOther}};
inline constexpr const char* kOnlyAdminsJoin =
    "a cluster is the whole machine's: only root and the admins of this daemon may join or leave";
inline constexpr const char* kNoClusterHere = "this daemon joins no cluster";

// State "none", and nothing else, where this node is in no cluster.
nlohmann::json cluster_json(const Cluster* cluster);

// Plans of jobs whose user `may_see` lets through.
nlohmann::json plans_json(const Cluster* cluster, const std::function<bool(unsigned uid)>& may_see);

// kDenied: nobody knows which process tells it. Else as Cluster::take_plan().
base::Status take_plan(Cluster& cluster, const nlohmann::json& body, const Peer& told_by);

// What has come of it so far. kDenied, kInvalid: as take_plan(). kUnavailable: as
// Cluster::publish_plan().
base::Result<nlohmann::json> publish_plan(Cluster& cluster, const nlohmann::json& body,
                                          const Peer& asked_by);

// kInvalid says what would be right. kDenied: files with a password, certificates and a key are
// read with the daemon's rights, so only root and the daemon's own account may name them.
base::Result<ClusterOptions> cluster_options_in(const nlohmann::json& body, const Peer& asked_by);

}  // namespace optile::daemon
