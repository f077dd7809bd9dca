// The daemon's part in a cluster: joins one, keeps its membership, leaves. Without a cluster
// nothing here runs, and no timer is armed. The daemon's one thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "daemon/cluster/cluster_options.h"
#include "daemon/cluster/etcd_store.h"
#include "daemon/cluster/membership.h"

namespace optile::daemon {

// The machine that the others are told of.
struct ClusterMachine {
  int cores = 0;
  int tiles = 0;
  uint64_t memory_bytes = 0;
};

struct ClusterView {
  std::string user;  // whose keys are used
  NodeRecord node;   // this one
  std::vector<std::string> endpoints;
  std::string endpoint;  // that is asked now
  Membership::View membership;
};

class Cluster {
 public:
  struct Dependencies {
    ClusterMachine machine;
    std::function<uint64_t()> monotonic_ns;
    std::function<void(const std::string& line)> write_log;
    std::function<void()> changed;  // joined() may be another now
  };
  // `io` outlives it.
  Cluster(boost::asio::io_context& io, Dependencies dependencies);
  ~Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  // Begins to join, and goes on trying until it is told to leave. kUnavailable: it is in another
  // cluster, or under another name; kInvalid, kDenied: the options cannot be used.
  base::Status join(const ClusterOptions& options);
  // kNotFound: there is nothing to leave. The keys go at once where etcd answers, else as their
  // lease ends.
  base::Status leave();
  // Ends without a word to etcd: the lease ends by itself.
  void stop();

  bool joined() const { return member_ != nullptr; }
  std::optional<ClusterView> view() const;

 private:
  struct Member;
  void schedule();
  void log_changes();

  boost::asio::io_context& io_;
  Dependencies dependencies_;
  boost::asio::steady_timer timer_;
  std::unique_ptr<Member> member_;
  std::unique_ptr<EtcdStore> leaving_;  // until etcd has heard of it
};

}  // namespace optile::daemon
