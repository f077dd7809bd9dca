// What is between the processes of a simulated cluster and their store: a service that has the keys
// and may not answer, links that are slow and lose what they carry, processes that may be stopped
// and killed. Everything that is left to chance is drawn from one generator. One thread.
#pragma once

#include <array>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "daemon/cluster/memory_store.h"
#include "tests/daemon/cluster/played_time.h"

namespace optile::daemon {

using SimulatedTime = PlayedTime::Time;

// What every part of one simulation shares.
struct SimulatedWorld {
  explicit SimulatedWorld(uint64_t seed) : random(seed) {}
  PlayedTime time;
  std::mt19937_64 random;

  bool happens(double probability);
  int64_t draw(int64_t least, int64_t most);  // both are possible
  SimulatedTime draw_time(SimulatedTime least, SimulatedTime most);
};

// The way of one machine to the store and back.
struct SimulatedLink {
  bool carries_requests = true;
  bool carries_replies = true;
  double lost_requests = 0;  // of each one
  double lost_replies = 0;
  double late = 0.01;  // of each message: it comes after seconds
};

// A process of a machine: what comes while it is stopped waits, after its end nothing comes.
class SimulatedProcess {
 public:
  void receive(std::function<void()> happens);
  void stop() { stopped_ = true; }
  // In the order of what waited, or against it: a program looks at its timers first, or at what was
  // sent to it.
  void go_on(bool in_order);
  void end();
  bool stopped() const { return stopped_; }
  bool ended() const { return ended_; }

 private:
  bool stopped_ = false;
  bool ended_ = false;
  std::vector<std::function<void()>> waiting_;
};

struct SimulatedMachine {
  std::string name;
  MachineClock clock;
  SimulatedLink link;
};

enum class RequestKind { kGet, kCommit, kGrant, kKeepAlive, kRevoke };
using RequestCounts = std::array<std::size_t, 5>;  // by kind

// The etcd.
class SimulatedService {
 public:
  enum class State {
    kAnswers,
    kSilent,    // no request arrives; leases end
    kRefusing,  // a request fails at once; leases end
    kHalted,    // no request arrives, and no lease ends
    kSlow,      // what it has to write down takes its disk seconds
  };
  SimulatedService(SimulatedWorld& world, double drift) : world_(world), drift_(drift) {}

  // As of now: the leases that are due have ended.
  MemoryServer& server();
  State state() const { return state_; }
  void change_state(State state);
  // There is something to see when this lease ends: a happening of that moment.
  void mark_end(std::chrono::seconds ttl);
  void count(RequestKind kind) { ++counts_[static_cast<std::size_t>(kind)]; }
  // Of requests that arrived.
  const RequestCounts& counts() const { return counts_; }
  // How long a request that has arrived waits for the disk.
  SimulatedTime draw_wait(RequestKind kind);
  void note_commit(std::weak_ptr<SimulatedProcess> by) { last_commit_by_ = std::move(by); }
  // Whose transaction was carried out since the last call, the last one; null: nobody's.
  std::shared_ptr<SimulatedProcess> take_last_commit() {
    return std::exchange(last_commit_by_, {}).lock();
  }

 private:
  SimulatedWorld& world_;
  double drift_;
  State state_ = State::kAnswers;
  SimulatedTime halted_{0};  // for so long until now
  SimulatedTime halted_since_{0};
  MemoryServer server_;
  std::weak_ptr<SimulatedProcess> last_commit_by_;
  RequestCounts counts_{};
};

// One process's way to the store, as EtcdStore with one endpoint: whoever gives up after a timeout
// does not know what becomes of a request, which may arrive later.
class SimulatedStore : public ClusterStore {
 public:
  // All of them outlive it.
  SimulatedStore(SimulatedWorld& world, SimulatedService& service, const SimulatedMachine& machine,
                 std::shared_ptr<SimulatedProcess> process)
      : world_(world), service_(service), machine_(machine), process_(std::move(process)) {}

  void get(const std::string& prefix, Callback<KeyRange> done) override;
  void commit(const Transaction& transaction, Callback<Committed> done) override;
  void grant_lease(std::chrono::seconds ttl, Callback<GrantedClusterLease> done) override;
  void keep_alive(ClusterLease lease, Callback<GrantedClusterLease> done) override;
  void revoke_lease(ClusterLease lease, Callback<ClusterLease> done) override;
  std::string description() const override { return "simulated"; }

 private:
  template <typename T>
  void request(RequestKind kind, std::function<base::Result<T>(MemoryServer&)> ask,
               Callback<T> done);
  SimulatedTime draw_delay();

  SimulatedWorld& world_;
  SimulatedService& service_;
  const SimulatedMachine& machine_;
  std::shared_ptr<SimulatedProcess> process_;
};

// Of a process, by its machine's clock; a little late, as timers are.
class SimulatedTimer {
 public:
  SimulatedTimer(SimulatedWorld& world, const SimulatedMachine& machine,
                 std::shared_ptr<SimulatedProcess> process)
      : world_(world), machine_(machine), process_(std::move(process)) {}
  // In the place of what it was to do before.
  void expire_at(SimulatedTime moment, std::function<void()> happens);
  void cancel() { ++*turn_; }

 private:
  SimulatedWorld& world_;
  const SimulatedMachine& machine_;
  std::shared_ptr<SimulatedProcess> process_;
  std::shared_ptr<uint64_t> turn_ = std::make_shared<uint64_t>(0);
};

}  // namespace optile::daemon
