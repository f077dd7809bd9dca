// A lease: the cores that a client may use now. Plain values, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace optile::sched {

using ClientId = uint64_t;  // the caller's; never used twice while a client with it is known

// As reasons call it.
inline std::string client_name(ClientId id) {
  return "client " + std::to_string(id);
}

// Fractions of a core that differ by less are equal.
inline constexpr double kSameFraction = 1e-9;

// kBatch gets, beyond its floor, only what no normal client gains from.
enum class Priority : uint8_t { kNormal, kBatch };

// Indices into Machine::cores, ascending. A fraction below 1 is a part of the time on the only core
// of the lease, shared in turns with others. Without cores a client may use none: it has to run on
// one thread, wherever the kernel puts it.
struct Lease {
  std::vector<int> cores;
  double fraction = 1.0;

  bool empty() const { return cores.empty(); }
  bool is_whole() const { return fraction >= 1.0 - kSameFraction; }
  bool operator==(const Lease&) const = default;
};

}  // namespace optile::sched
