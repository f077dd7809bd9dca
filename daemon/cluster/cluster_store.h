// What the nodes of a cluster agree through: keys with revisions, transactions and leases, as etcd
// has them. Keys are bytes; every change of the keys has a revision of its own, higher than all
// before. A lease here is the store's: keys that were put under it are deleted when it ends.
//
// Asynchronous: a call returns at once, and its callback is called once, later, on the one thread
// that owns the store, never from within the call. Callbacks are not called after the store's end.
// Errors: kUnavailable: nobody answered in time; what a transaction then did is not known, and is
// found out by reading. kNotFound: the lease has ended. kDenied: the store's own rights, or a
// certificate of either side that is not accepted; nothing was done. kInvalid: the request is
// wrong.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace optile::daemon {

using ClusterLease = int64_t;  // 0 = none

struct KeyValue {
  std::string key;
  std::string value;
  int64_t create_revision = 0;
  int64_t mod_revision = 0;  // of its last change
  ClusterLease lease = 0;
};

// What has to be true of a key for a transaction to be carried out. A key that is not there has
// revisions of 0, and no value.
struct Compare {
  enum class Target { kCreateRevision, kModRevision, kValue };
  std::string key;
  Target target = Target::kModRevision;
  int64_t revision = 0;  // of both revisions: is equal to
  std::string value{};   // of kValue: is equal to
};

inline Compare key_is_absent(std::string key) {
  return {std::move(key), Compare::Target::kCreateRevision};
}
inline Compare key_is_unchanged(std::string key, int64_t mod_revision) {
  return {std::move(key), Compare::Target::kModRevision, mod_revision};
}
inline Compare key_has_value(std::string key, std::string value) {
  return {std::move(key), Compare::Target::kValue, 0, std::move(value)};
}

struct Operation {
  enum class Kind { kPut, kDelete };
  Kind kind = Kind::kPut;
  std::string key;
  std::string value{};     // of kPut
  ClusterLease lease = 0;  // of kPut
};

inline Operation put_key(std::string key, std::string value, ClusterLease lease = 0) {
  return {Operation::Kind::kPut, std::move(key), std::move(value), lease};
}
inline Operation delete_key(std::string key) {
  return {Operation::Kind::kDelete, std::move(key)};
}

// All operations, or where one compare does not hold none of them. No key twice among them.
struct Transaction {
  std::vector<Compare> compares;
  std::vector<Operation> operations;
};
struct Committed {
  bool succeeded = false;  // the compares held
  int64_t revision = 0;    // of the store, then
};

struct KeyRange {
  std::vector<KeyValue> entries;  // in the order of their keys
  int64_t revision = 0;           // of the store, then
};

struct GrantedClusterLease {
  ClusterLease id = 0;
  std::chrono::seconds ttl{0};  // from when the store granted or renewed it
};

class ClusterStore {
 public:
  template <typename T>
  using Callback = std::function<void(base::Result<T> outcome)>;

  virtual ~ClusterStore() = default;

  // All keys that begin with `prefix`, as the last committed transaction left them.
  virtual void get(const std::string& prefix, Callback<KeyRange> done) = 0;
  virtual void commit(const Transaction& transaction, Callback<Committed> done) = 0;
  virtual void grant_lease(std::chrono::seconds ttl, Callback<GrantedClusterLease> done) = 0;
  virtual void keep_alive(ClusterLease lease, Callback<GrantedClusterLease> done) = 0;
  // Deletes its keys now. Of one that has ended: kNotFound.
  virtual void revoke_lease(ClusterLease lease, Callback<ClusterLease> done) = 0;
  // Whom it asks now, for people.
  virtual std::string description() const = 0;
};

}  // namespace optile::daemon
