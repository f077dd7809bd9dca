// Time and executions of ops over all attached programs, as counters that never fall: a client that
// leaves takes nothing back, and an op that gains or loses a series of its own moves no past time.
// The daemon's one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "daemon/client/client.h"

namespace optile::daemon {

// Ops with series of their own: those with the most time. The rest is one row, "other".
inline constexpr std::size_t kMaxOpRows = 50;
// Ops that are told apart at all; further ones are in "other" from the beginning.
inline constexpr std::size_t kMaxOpsKnown = 8192;

class OpLedger {
 public:
  struct Row {
    std::string program;
    std::string op;
    std::string shape;
    std::string direction;
    double seconds = 0;
    double executions = 0;
    int width = 0;  // 0 = not known
  };

  // Takes in what every client did since the last time. `departed` tells the last state of one that
  // has left, where it is still known.
  void update(const std::vector<ClientView>& attached,
              const std::function<std::optional<ClientView>(uint64_t client)>& departed);

  // The longest ops first, then "other" where there is any.
  std::vector<Row> rows() const;
  // The same as one row, "other", of everything since the daemon began; none where no op has run.
  std::vector<Row> all() const;

 private:
  using Name = std::tuple<std::string, std::string, std::string, std::string>;
  struct Amount {
    double seconds = 0;
    double executions = 0;
    void add(const Amount& more);
  };
  struct Op {
    Amount all;    // decides the rank
    Amount shown;  // what its own series says
    Amount fresh;  // of this round
    int width = 0;
    uint64_t round = 0;  // last met
    bool own_row = false;
  };
  struct Known {
    Amount before;
    Op* op = nullptr;  // null beyond kMaxOpsKnown
  };
  struct Seen {
    std::map<uint64_t, Known> ops;  // by key
    uint64_t round = 0;
  };

  void take(const ClientView& client);
  Op* find(const ClientView& client, uint64_t key);
  void rank();

  uint64_t round_ = 0;
  std::map<uint64_t, Seen> seen_;  // by client
  std::map<Name, Op> ops_;
  Amount unnamed_;  // of this round, beyond kMaxOpsKnown
  Amount other_;
  Amount all_;
  bool any_other_ = false;
};

}  // namespace optile::daemon
