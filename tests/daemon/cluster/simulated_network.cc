#include "tests/daemon/cluster/simulated_network.h"

#include <utility>

namespace optile::daemon {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds kRequestTimeout{2000};  // as EtcdStore's

bool SimulatedWorld::happens(double probability) {
  constexpr uint64_t kOf = 1 << 20;
  return static_cast<double>(random() % kOf) < probability * kOf;
}

int64_t SimulatedWorld::draw(int64_t least, int64_t most) {
  return least + static_cast<int64_t>(random() % static_cast<uint64_t>(most - least + 1));
}

SimulatedTime SimulatedWorld::draw_time(SimulatedTime least, SimulatedTime most) {
  return SimulatedTime(draw(least.count(), most.count()));
}

void SimulatedProcess::receive(std::function<void()> happens) {
  if (ended_) return;
  if (stopped_) {
    waiting_.push_back(std::move(happens));
  } else {
    happens();
  }
}

void SimulatedProcess::go_on(bool in_order) {
  if (ended_ || !std::exchange(stopped_, false)) return;
  auto waiting = std::exchange(waiting_, {});
  if (!in_order) std::reverse(waiting.begin(), waiting.end());
  for (const auto& one : waiting) receive(one);
}

void SimulatedProcess::end() {
  ended_ = true;
  waiting_.clear();
}

MemoryServer& SimulatedService::server() {
  const SimulatedTime until = state_ == State::kHalted ? halted_since_ : world_.time.now();
  const SimulatedTime counted = MachineClock{SimulatedTime(0), drift_}.read(until - halted_);
  const auto passed = std::chrono::floor<milliseconds>(counted) - server_.now();
  if (passed.count() > 0) server_.advance(passed);
  return server_;
}

void SimulatedService::change_state(State state) {
  server();
  if (state_ == State::kHalted) halted_ += world_.time.now() - halted_since_;
  halted_since_ = world_.time.now();
  state_ = state;
}

void SimulatedService::mark_end(seconds ttl) {
  world_.time.after(MachineClock::as_true(ttl, drift_), [] {});
}

SimulatedTime SimulatedService::draw_wait(RequestKind kind) {
  const bool writes = kind != RequestKind::kGet && kind != RequestKind::kKeepAlive;
  if (state_ != State::kSlow || !writes) return SimulatedTime(0);
  return world_.draw_time(milliseconds(100), seconds(3));
}

SimulatedTime SimulatedStore::draw_delay() {
  if (world_.happens(machine_.link.late)) return world_.draw_time(seconds(0), seconds(6));
  if (world_.happens(0.1)) return world_.draw_time(milliseconds(1), milliseconds(200));
  return world_.draw_time(microseconds(50), milliseconds(1));
}

template <typename T>
void SimulatedStore::request(RequestKind kind, std::function<base::Result<T>(MemoryServer&)> ask,
                             Callback<T> done) {
  // Whichever comes first: the answer, or the end of patience.
  auto waits = std::make_shared<Callback<T>>(std::move(done));
  const auto settle = [process = process_, waits](base::Result<T> outcome) {
    process->receive([waits, outcome = std::move(outcome)] {
      if (*waits) std::exchange(*waits, nullptr)(outcome);
    });
  };
  const base::Error lost = {base::ErrorKind::kUnavailable, "nobody answers"};
  world_.time.after(kRequestTimeout, [settle, lost] { settle(lost); });
  const SimulatedLink& link = machine_.link;
  if (!link.carries_requests || world_.happens(link.lost_requests)) return;
  // It outlives this store: what was sent arrives.
  const auto arrive = [&world = world_, &service = service_, &link, back = draw_delay(), kind,
                       ask = std::move(ask), settle, lost, process = std::weak_ptr(process_)] {
    using Is = SimulatedService::State;
    if (service.state() == Is::kRefusing) return settle(lost);
    if (service.state() == Is::kSilent || service.state() == Is::kHalted) return;
    service.count(kind);
    base::Result<T> outcome = ask(service.server());
    if (kind == RequestKind::kCommit) service.note_commit(process);
    if constexpr (std::is_same_v<T, GrantedClusterLease>) {
      if (outcome.ok()) service.mark_end(outcome.value().ttl);
    }
    if (!link.carries_replies || world.happens(link.lost_replies)) return;
    world.time.after(back, [settle, outcome = std::move(outcome)] { settle(outcome); });
  };
  world_.time.after(draw_delay(), [&world = world_, &service = service_, kind, arrive] {
    const SimulatedTime wait = service.draw_wait(kind);
    if (wait == SimulatedTime(0)) return arrive();
    world.time.after(wait, arrive);
  });
}

void SimulatedStore::get(const std::string& prefix, Callback<KeyRange> done) {
  request<KeyRange>(
      RequestKind::kGet, [prefix](MemoryServer& server) { return server.get(prefix); },
      std::move(done));
}

void SimulatedStore::commit(const Transaction& transaction, Callback<Committed> done) {
  request<Committed>(
      RequestKind::kCommit,
      [transaction](MemoryServer& server) { return server.commit(transaction); }, std::move(done));
}

void SimulatedStore::grant_lease(seconds ttl, Callback<GrantedClusterLease> done) {
  request<GrantedClusterLease>(
      RequestKind::kGrant, [ttl](MemoryServer& server) { return server.grant_lease(ttl); },
      std::move(done));
}

void SimulatedStore::keep_alive(ClusterLease lease, Callback<GrantedClusterLease> done) {
  request<GrantedClusterLease>(
      RequestKind::kKeepAlive, [lease](MemoryServer& server) { return server.keep_alive(lease); },
      std::move(done));
}

void SimulatedStore::revoke_lease(ClusterLease lease, Callback<ClusterLease> done) {
  request<ClusterLease>(
      RequestKind::kRevoke, [lease](MemoryServer& server) { return server.revoke_lease(lease); },
      std::move(done));
}

void SimulatedTimer::expire_at(SimulatedTime moment, std::function<void()> happens) {
  const uint64_t turn = ++*turn_;
  const SimulatedTime left = moment - machine_.clock.read(world_.time.now());
  const SimulatedTime late = world_.happens(0.02)
                                 ? world_.draw_time(milliseconds(1), milliseconds(300))
                                 : world_.draw_time(microseconds(1), milliseconds(1));
  const SimulatedTime delay = std::max(SimulatedTime(0), left);
  world_.time.after(MachineClock::as_true(delay, machine_.clock.drift) + late,
                    [process = process_, turns = turn_, turn, happens = std::move(happens)] {
                      process->receive([turns, turn, happens] {
                        if (*turns == turn) happens();
                      });
                    });
}

}  // namespace optile::daemon
