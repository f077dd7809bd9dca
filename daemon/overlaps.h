// Attached clients on shared cores: what the overlap trials are told about them, and what becomes
// of their verdicts. Owned by the controller; the daemon's one thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "daemon/company_member.h"
#include "daemon/hello.h"
#include "daemon/leases.h"
#include "daemon/store.h"
#include "sched/overlap_trials.h"

namespace optile::daemon {

// A program as verdicts know it.
std::string overlap_program(const Hello& hello);

class Overlaps {
 public:
  explicit Overlaps(bool enabled) : enabled_(enabled) {}

  // Whether it is time to look: always while something is tried or kept.
  bool due(std::chrono::milliseconds now) const;
  // While two have leases and it is due: what they should share now.
  std::optional<sched::Overlap> look(std::chrono::milliseconds now,
                                     const std::vector<CompanyMember>& members,
                                     const Leases& leases);
  // Because of what, for the reasons of leases.
  const std::string& cause() const { return trials_.cause(); }
  // By hand: never with this client.
  void never_again(uint64_t client) { trials_.never_again(client); }
  void forget(uint64_t client, std::chrono::milliseconds now);
  void remember(const std::vector<OverlapRecord>& records, std::chrono::milliseconds now,
                int64_t unix_seconds);
  // To be stored, and to be told, since the last call.
  std::vector<OverlapRecord> take_records(const std::string& machine, int64_t unix_seconds);
  unsigned uid() const { return uid_; }  // whose pair the latest was
  std::vector<sched::OverlapNote> take_notes() { return trials_.take_notes(); }

  bool enabled() const { return enabled_; }
  // A trial is under way: looks should be frequent.
  bool tries() const;
  std::optional<sched::OverlapView> view() const { return trials_.view(); }
  const sched::OverlapCounters& counters() const { return trials_.counters(); }
  // Half a sentence about this client; "" = it shares nothing and nothing is tried.
  std::string text(uint64_t client) const;

 private:
  struct Counted {
    uint32_t last = 0;
    uint64_t steps = 0;
  };
  bool enabled_;
  unsigned uid_ = 0;
  std::chrono::milliseconds next_look_{0};
  sched::OverlapTrials trials_;
  std::map<uint64_t, Counted> counted_;
};

}  // namespace optile::daemon
