// Leases that move, for the log: the first move after a quiet second as it is, those that follow
// summed up once a second. Programs that pause lend and take back their cores many times a second.
// Pure: the clock comes in. The daemon's one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

namespace optile::daemon {

class LeaseMoves {
 public:
  static constexpr uint64_t kWindowNs = UINT64_C(1'000'000'000);

  // The line to be written now, where one is; the others wait for due().
  std::optional<std::string> note(uint64_t now_ns, uint64_t client, const std::string& text);
  // The line about those that wait, once a second has passed since the last line.
  std::optional<std::string> due(uint64_t now_ns);

 private:
  std::optional<uint64_t> window_ns_;  // when it began; nullopt: a quiet second has passed
  std::size_t moves_ = 0;              // that were not written
  std::set<uint64_t> clients_;
  std::string latest_;
};

}  // namespace optile::daemon
