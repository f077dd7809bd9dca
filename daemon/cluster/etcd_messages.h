// Requests and answers of etcd's JSON gateway (/v3 of etcd 3.4 and later): keys and values in
// base64, 64-bit numbers as text, and what is 0 or empty left out. Pure; any thread.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/result.h"
#include "daemon/cluster/cluster_store.h"
#include "daemon/cluster/etcd_user.h"

namespace optile::daemon {

std::string to_base64(std::string_view bytes);
// kInvalid where it is none.
base::Result<std::string> from_base64(std::string_view text);

nlohmann::json range_request(const std::string& prefix);
nlohmann::json transaction_request(const Transaction& transaction);
nlohmann::json grant_request(std::chrono::seconds ttl);
nlohmann::json lease_request_of(ClusterLease lease);  // to keep alive and to revoke
nlohmann::json authenticate_request(const EtcdUser& user);

// kUnavailable where the answer is not one of etcd's.
base::Result<KeyRange> read_range(const nlohmann::json& answer);
base::Result<Committed> read_committed(const nlohmann::json& answer);
base::Result<GrantedClusterLease> read_granted(const nlohmann::json& answer);
// Of a lease that has ended etcd says no time to live: kNotFound.
base::Result<GrantedClusterLease> read_kept_alive(const nlohmann::json& answer);

}  // namespace optile::daemon
