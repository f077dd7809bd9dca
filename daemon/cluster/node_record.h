// What a node tells the others about itself, and the names of the cluster's keys. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace optile::daemon {

// Of what stands in the keys. Raised with every change that others could not read.
inline constexpr int kClusterProtocol = 1;

inline constexpr std::size_t kMaxNodeLinks = 8;

// A node's link to another one, as the node found it.
struct NodeLink {
  std::string node;
  double latency_seconds = 0;  // of one way: half of the shortest round trip
  double bytes_per_second = 0;

  bool operator==(const NodeLink&) const = default;
};

// What a node found out about itself; nothing of it before it has.
struct NodeMeasurements {
  // One thread multiplies matrices in single precision by code of ours that is the same on every
  // node: for comparing nodes.
  std::optional<double> gflop_per_second{};
  std::string interface;      // that has the node's address; "" = the loopback's, or none
  std::string probe_address;  // where its links are probed, a number; "" = nowhere
  int probe_port = 0;
  std::vector<NodeLink> links{};  // by node; at most kMaxNodeLinks

  bool operator==(const NodeMeasurements&) const = default;
};

struct NodeRecord {
  int protocol = kClusterProtocol;
  std::string name;
  std::string address;  // by which other nodes reach it
  int cores = 0;
  int tiles = 0;
  uint64_t memory_bytes = 0;
  std::string instance;  // of the process, so that it knows its own record again
  NodeMeasurements measured{};
};

std::string to_text(const NodeRecord& record);
// kInvalid for what is no record, or one with measurements that cannot be. One of another protocol
// has its protocol and name alone.
base::Result<NodeRecord> read_node_record(const std::string& text);

// Names are put into keys: letters, digits, '.', '_' and '-', at most 63 of them.
bool is_cluster_name(const std::string& name);

// What others wrote, fit for a terminal and a log: other bytes than printable ASCII are '?'.
std::string printable(std::string text);

// A user's keys: users of one etcd do not meet.
struct ClusterKeys {
  std::string user;

  std::string nodes() const { return root() + "nodes/"; }
  std::string node(const std::string& name) const { return nodes() + name; }
  std::string leader() const { return root() + "leader"; }
  // Begins as leader() does, so that one read has both.
  std::string epoch() const { return leader() + "-epoch"; }
  std::string job(const std::string& name) const { return root() + "jobs/" + name + "/"; }
  std::string plans() const { return root() + "plans/"; }
  // Of a job that this account of the machines runs; each start of it has one of its own.
  std::string plan(unsigned uid, const std::string& job, const std::string& run) const {
    return plans() + std::to_string(uid) + "/" + job + "/" + run;
  }
  // Of the job whose claims stand among these keys: the plan that its owner has published.
  std::string published(const std::string& job) const { return root() + "published/" + job; }

 private:
  std::string root() const { return "optile/" + user + "/"; }
};

// The name of the account that this process runs as, or of another one; its number where it has
// none. Looks into the system's list of accounts.
std::string account_name();
std::string account_name(unsigned uid);
// As the kernel has it; what a name must not hold is '-' then.
std::string host_name_as_node();
// Different in every process and at every call.
std::string make_cluster_instance();

}  // namespace optile::daemon
