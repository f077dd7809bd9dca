// Attached clients whose cores may be divided otherwise: what the division trials are told about
// them. Owned by the controller; the daemon's one thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/company_member.h"
#include "daemon/leases.h"
#include "daemon/store_records.h"
#include "sched/division_trials.h"

namespace optile::daemon {

class Divisions {
 public:
  explicit Divisions(bool enabled) : enabled_(enabled) {}

  // Whether it is time to look: always while something is tried.
  bool due(std::chrono::milliseconds now) const;
  // What is to be held now, by Leases::hold().
  const std::optional<sched::CoreCounts>& look(std::chrono::milliseconds now,
                                               const std::vector<CompanyMember>& members,
                                               const Leases& leases);
  const std::string& cause() const { return trials_.cause(); }  // of what is held, half a sentence
  // It has left, or is leaving.
  void forget(uint64_t client, std::chrono::milliseconds now);
  void remember(const std::vector<DivisionRecord>& records, std::chrono::milliseconds now,
                int64_t unix_seconds);
  // To be stored, with who took the cores, and to be told, since the last call.
  std::vector<std::pair<uint64_t, DivisionRecord>> take_records(const std::string& machine,
                                                                int64_t unix_seconds);
  std::vector<sched::DivisionNote> take_notes() { return trials_.take_notes(); }

  bool enabled() const { return enabled_; }
  bool tries() const { return trials_.tries(); }
  std::optional<sched::DivisionView> view() const { return trials_.view(); }
  const sched::DivisionCounters& counters() const { return trials_.counters(); }

 private:
  struct Counted {
    uint32_t last = 0;
    uint64_t steps = 0;
  };
  bool enabled_;
  uint64_t words_ = 0;  // Leases::words() at the last look
  std::chrono::milliseconds next_look_{0};
  sched::DivisionTrials trials_;
  std::map<uint64_t, Counted> counted_;
};

}  // namespace optile::daemon
