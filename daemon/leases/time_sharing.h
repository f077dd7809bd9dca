// Which programs share the cores by time, as the kernel divides it, instead of having some for
// themselves by a lease: those that a lease would cost more than it gives them. Pure; the daemon's
// one thread.
//
// - kLittleDemand: its threads want a processor for a small part of the time only.
// - kFixedTeam: nothing narrows its team, and it leaves its processors free now and then; or the
//   team is wider than its part of the cores, and all the others do: on a part it could not use
//   that.
// - kSlowOnLease: measured on its lease it was far behind what that many cores should give.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "daemon/leases/work_history.h"

namespace optile::daemon {

class TimeSharing {
 public:
  using Time = std::chrono::milliseconds;
  enum class Reason { kLittleDemand, kFixedTeam, kSlowOnLease };

  static constexpr Time kEvery{250};    // how often to look while there are several
  static constexpr Time kRarely{3000};  // and of very many
  static constexpr Time kShortWindow{500};
  static constexpr Time kLongWindow{1500};
  static constexpr Time kFirstRetry{60000};  // doubled each time

  // One that may have a lease, as it is now.
  struct Party {
    uint64_t client = 0;
    // For how long its issuing threads have run or waited for a processor so far; none: not known,
    // as of one that has just come.
    std::optional<std::chrono::nanoseconds> runnable = {};
    std::array<uint64_t, 2> work{};  // steps, and ops, begun so far; counted in part while paused
    bool sampling_paused = false;
    int team = 0;          // threads that nothing makes fewer; 0 = its widths follow its lease
    double weight = 1;     // when cores are divided
    int leased = 0;        // cores of its lease, whole ones; 0 = none, or in turns
    double predicted = 0;  // its pace with these over that alone; 0 = not known
    bool held = false;     // by a command of the user
  };
  struct Change {
    uint64_t client = 0;
    std::optional<Reason> reason;  // none: it may have a lease again
    std::string text;              // half a sentence for people
  };

  // Whether to look: every kEvery, of more than 16 clients so much more rarely that a look costs no
  // larger part of the time; at once after ask_for_look(), as far as that allows.
  bool is_due(Time now, std::size_t clients) const;
  void ask_for_look() { asked_ = true; }
  // `cores`: to be divided. What has changed.
  std::vector<Change> look(Time now, int cores, const std::vector<Party>& parties);
  std::optional<Reason> reason(uint64_t client) const;
  // Wants a processor most of the time, or nothing is known of that yet.
  bool has_demand(uint64_t client) const;

 private:
  struct Client {
    WorkHistory work;
    bool little = false;
    bool busy = false;
    std::optional<Reason> reason;
    Time since{0};                    // the reason, or the lease
    std::optional<Time> alone_since;  // nobody else has demand
    WorkHistory::Pace alone_pace{};   // work a second; 0 = not known
    WorkHistory::Pace lease_pace{};   // when it was found slow
    WorkHistory::Pace shared_pace{};  // before the lease, beside the same; 0 = not known
    std::set<uint64_t> beside;        // who had demand when it was found slow, or kept its lease
    bool keeps_lease = false;         // sharing was no better
    Time retry = kFirstRetry;
  };
  using Pace = std::optional<WorkHistory::Pace>;

  void watch(Time now, const Party& party, Client& client);
  static bool waits(const Client& client);
  void measure_alone(Time now, const Party& party, Client& client);
  void count_demand();
  bool others_have_demand(uint64_t client) const;
  bool are_others_with_demand(uint64_t client, const std::set<uint64_t>& those) const;
  std::set<uint64_t> others_with_demand(uint64_t client) const;
  bool other_is_busy(const Client& client) const;
  std::optional<Reason> wanted(Time now, const Party& party, Client& client, double part);
  std::optional<Reason> by_pace(Time now, const Party& party, Client& client);
  bool is_slower_than_shared(const Client& client, Time on_lease) const;
  static double behind(const Party& party, const Client& client, Time since_change);
  std::string text_of(const Party& party, const Client& client, double part) const;

  std::map<uint64_t, Client> clients_;
  std::set<uint64_t> with_demand_;  // as of this look
  std::size_t busy_ = 0;            // of those
  std::optional<Time> looked_;
  bool asked_ = false;
};

}  // namespace optile::daemon
