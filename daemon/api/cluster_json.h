// The cluster as the API shows it, and the request to join one. Pure but for what it asks the
// cluster; the daemon's one thread.
#pragma once

#include <nlohmann/json.hpp>

#include "base/result.h"
#include "bindings/abi/api_fields.h"
#include "daemon/cluster/cluster.h"
#include "daemon/support/peer.h"
#include "daemon/transport/request_reader.h"

namespace optile::daemon {

inline constexpr Member kJoinMembers[] = {{field::kEndpoints, Member::Kind::kTextOrList},
                                          {field::kName, Member::Kind::kText},
                                          {field::kAddress, Member::Kind::kText},
                                          {field::kCredentialsFile, Member::Kind::kText}};
inline constexpr const char* kOnlyAdminsJoin =
    "a cluster is the whole machine's: only root and the admins of this daemon may join or leave";
inline constexpr const char* kNoClusterHere = "this daemon joins no cluster";

// State "none", and nothing else, where this node is in no cluster.
nlohmann::json cluster_json(const Cluster* cluster);

// kInvalid says what would be right. kDenied: the password's file is read with the daemon's rights,
// so only root and the daemon's own account may name one.
base::Result<ClusterOptions> cluster_options_in(const nlohmann::json& body, const Peer& asked_by);

}  // namespace optile::daemon
