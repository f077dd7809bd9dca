// What people say about attached programs by hand, as the controller takes it. Plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace optile::daemon {

// By hand: the programs' default widths, for the attached clients that are meant until they end,
// and for later runs of their programs until it is revoked.
struct UndoRequest {
  uint64_t client = 0;  // 0 = every one
  std::string program;  // "" = every one
  std::string op;       // "" = every one; else only those ops, of attached clients
  bool revoke = false;
  std::optional<unsigned> user{};  // only his; nullopt = everybody's
  unsigned asked_by = 0;           // whose later runs it means, besides those of whom it meets
};

// By hand. In force when it returns. kNotFound: no such client; kUnavailable: it has no lease (or,
// of kAttach, it has not been detached), or another word of the user stands against it.
struct LeaseCommand {
  enum class Kind { kShare, kPin, kUnpin, kPause, kResume, kDetach, kAttach };
  uint64_t client = 0;
  Kind kind = Kind::kShare;
  double share = 1.0;
  std::vector<int> cores;  // of a pin; of a pause that is said again: those that it kept
  bool bounded = false;    // said by a user among several: not beyond his part (UserBounds)
  double fraction{1.0};    // of these cores, in turns
  bool again{false};       // it was heard before this client came or was attached again
};

// One that was heard before and cannot be kept, for now: it is said again until it can.
struct PendingCommand {
  LeaseCommand word;
  std::string why;
};

}  // namespace optile::daemon
