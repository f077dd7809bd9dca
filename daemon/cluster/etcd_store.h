// A ClusterStore over the JSON gateway of etcd 3.4 or later. Several endpoints of one etcd: where
// one does not answer, the next is asked, but for a transaction that may have been carried out
// already. Over TLS the files of certificates are looked at, and read where they have changed, when
// a certificate is refused: so renewed ones are taken up. Values it stores are small: an answer of
// more than kMaxEtcdAnswerBytes is an error.
#pragma once

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "daemon/cluster/cluster_store.h"
#include "daemon/cluster/etcd_endpoint.h"
#include "daemon/cluster/etcd_user.h"

namespace optile::daemon {

class EtcdTls;

class EtcdStore : public ClusterStore {
 public:
  struct Settings {
    std::vector<EtcdEndpoint> endpoints;  // one or more
    std::optional<EtcdUser> user{};
    std::chrono::milliseconds timeout{2000};  // of a request to one endpoint
    std::shared_ptr<EtcdTls> tls{};           // of endpoints that want it; of this store's thread
  };
  // `io` outlives it, and its thread alone uses it.
  EtcdStore(boost::asio::io_context& io, Settings settings);
  ~EtcdStore() override;
  EtcdStore(const EtcdStore&) = delete;
  EtcdStore& operator=(const EtcdStore&) = delete;

  void get(const std::string& prefix, Callback<KeyRange> done) override;
  void commit(const Transaction& transaction, Callback<Committed> done) override;
  void grant_lease(std::chrono::seconds ttl, Callback<GrantedClusterLease> done) override;
  void keep_alive(ClusterLease lease, Callback<GrantedClusterLease> done) override;
  void revoke_lease(ClusterLease lease, Callback<ClusterLease> done) override;
  std::string description() const override;

 private:
  class Requests;
  std::shared_ptr<Requests> requests_;
};

}  // namespace optile::daemon
